//! OpenCode: a server with an HTTP API and one stream of events.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use interlingua_agents::Agent;
use interlingua_record::mcp;
use interlingua_scripted_model::scenario::{Answer, Permissions};
use interlingua_scripted_model::{model, opencode_config, variables};
use interlingua_sse::{Decoder, Frame};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::{Ask, Attached, Seen, Stage};
use crate::process::{Output, Process, Stdout};
use crate::tape::Tape;

/// Always free: there is nobody else in this network.
const PORT: u16 = 4096;
/// The agent says things after a turn that belong to it. When nothing came for this long, that was all.
const QUIET: Duration = Duration::from_millis(600);

pub(crate) struct Host<'a> {
    stage: Stage<'a>,
    pub(super) process: Process,
    client: reqwest::Client,
    events: mpsc::UnboundedReceiver<String>,
    listener: JoinHandle<()>,
    /// Session → native session.
    sessions: BTreeMap<String, String>,
    /// How many requests the host made.
    calls: u64,
}

impl<'a> Host<'a> {
    pub(super) async fn start(stage: Stage<'a>) -> Result<Self> {
        let client = reqwest::Client::builder().pool_max_idle_per_host(0).build().context("no HTTP client")?;
        let mut process = launch(&stage)?;
        let (events, listener) = listen(&client, &mut process, stage.tape).await?;
        Ok(Self { stage, process, client, events, listener, sessions: BTreeMap::new(), calls: 0 })
    }

    pub(super) async fn say(&mut self, session: &str, text: &str, files: &[Attached]) -> Result<()> {
        let native = match self.sessions.get(session) {
            Some(native) => native.clone(),
            None => self.begin(session).await?,
        };
        let mut parts = vec![json!({"type": "text", "text": text})];
        parts.extend(files.iter().map(|file| {
            let url = format!("file://{}", file.path.display());
            json!({"type": "file", "mime": file.mime, "filename": file.name(), "url": url})
        }));
        let mut body = json!({"parts": parts});
        if self.stage.scenario.setup.plan_mode {
            body["agent"] = json!("plan");
        }
        let model = model(Agent::OpenCode, self.stage.scenario);
        if let Some((provider, model)) = model.and_then(|model| model.split_once('/')) {
            body["model"] = json!({"providerID": provider, "modelID": model});
        }
        self.call("POST", &format!("/session/{native}/prompt_async"), Some(&body)).await.map(drop)
    }

    async fn begin(&mut self, session: &str) -> Result<String> {
        // With a title it need not think of one.
        let title = format!("{} {session}", self.stage.scenario.name);
        let created = self.call("POST", "/session", Some(&json!({"title": title}))).await?;
        let native = created["id"].as_str().context("POST /session gave no id")?.to_owned();
        self.sessions.insert(session.to_owned(), native.clone());
        Ok(native)
    }

    pub(super) async fn answer(&mut self, ask: &Ask, answer: &Answer) -> Result<()> {
        let properties = &ask.request["properties"];
        let id = properties["id"].as_str().context("a request without an id")?;
        let question = ask.request["type"].as_str().is_some_and(|kind| kind.starts_with("question"));
        let (path, body) = match (question, answer) {
            (true, Answer::Choose(chosen)) => (format!("/question/{id}/reply"), Some(json!({"answers": chosen}))),
            (true, _) => (format!("/question/{id}/reject"), None),
            (false, Answer::Allow | Answer::Choose(_)) => {
                (format!("/permission/{id}/reply"), Some(json!({"reply": "once"})))
            }
            (false, Answer::Always) => (format!("/permission/{id}/reply"), Some(json!({"reply": "always"}))),
            (false, Answer::Deny(Some(why))) => {
                (format!("/permission/{id}/reply"), Some(json!({"reply": "reject", "message": why})))
            }
            (false, Answer::Deny(None) | Answer::Dismiss) => {
                (format!("/permission/{id}/reply"), Some(json!({"reply": "reject"})))
            }
        };
        self.call("POST", &path, body.as_ref()).await.map(drop)
    }

    pub(super) async fn interrupt(&mut self, session: &str) -> Result<()> {
        let native = self.sessions.get(session).context("there is no such session")?.clone();
        self.call("POST", &format!("/session/{native}/abort"), None).await.map(drop)
    }

    pub(super) async fn resume(&mut self, _session: &str) -> Result<()> {
        self.stop().await?;
        self.process = launch(&self.stage)?;
        (self.events, self.listener) = listen(&self.client, &mut self.process, self.stage.tape).await?;
        Ok(())
    }

    pub(super) async fn end(&mut self) -> Result<()> {
        self.settle().await?;
        self.stage.tape.end();
        self.stop().await
    }

    async fn stop(&mut self) -> Result<()> {
        if !self.process.is_gone() {
            self.listener.abort();
            self.process.signal(Signal::TERM)?;
            while !self.process.is_gone() {
                self.process.next().await;
            }
        }
        Ok(())
    }

    /// Waits until it has said all that belongs to the turn.
    pub(super) async fn settle(&mut self) -> Result<()> {
        while let Ok(Some(event)) = tokio::time::timeout(QUIET, self.events.recv()).await {
            // It would keep a quiet agent from being quiet.
            if event.contains("\"server.heartbeat\"") {
                break;
            }
        }
        Ok(())
    }

    pub(super) async fn next(&mut self) -> Result<Seen> {
        loop {
            let event = tokio::select! {
                biased;
                event = self.events.recv() => event,
                output = self.process.next() => match output {
                    Output::Line(_) => continue,
                    Output::Exited(_) => return Ok(Seen::Gone),
                },
            };
            let Some(event) = event else {
                // The stream ends with the process.
                while !self.process.is_gone() {
                    self.process.next().await;
                }
                return Ok(Seen::Gone);
            };
            let event: Value = serde_json::from_str(&event).unwrap_or_default();
            if let Some(seen) = self.see(event) {
                return Ok(seen);
            }
        }
    }

    fn see(&self, event: Value) -> Option<Seen> {
        let properties = &event["properties"];
        match event["type"].as_str()? {
            "message.part.delta" => Some(Seen::Text),
            "session.status" if properties["status"]["type"] == "retry" => Some(Seen::Retry),
            "message.part.updated" if properties["delta"].is_string() => Some(Seen::Text),
            kind @ ("permission.asked" | "question.asked") => {
                Some(Seen::Asked(Ask { about: format!("{kind} {}", properties["permission"]), request: event }))
            }
            "session.idle" => {
                let native = properties["sessionID"].as_str()?;
                // A sub-agent's session is not one of ours.
                let (session, _) = self.sessions.iter().find(|(_, of)| of.as_str() == native)?;
                Some(Seen::TurnOver { session: session.clone() })
            }
            _ => None,
        }
    }

    async fn call(&mut self, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        self.calls += 1;
        let text = body.map(Value::to_string);
        self.stage.tape.request(self.calls, method, path, text.as_deref());
        let method_name = reqwest::Method::from_bytes(method.as_bytes()).context("no such method")?;
        let mut request = self.client.request(method_name, format!("http://127.0.0.1:{PORT}{path}"));
        if let Some(text) = text {
            request = request.header("content-type", "application/json").body(text);
        }
        let response = request.send().await.with_context(|| format!("{method} {path} was not answered"))?;
        let status = response.status();
        let body = response.text().await.with_context(|| format!("{method} {path} was not answered"))?;
        self.stage.tape.reply(self.calls, status.as_u16(), &body);
        if !status.is_success() {
            bail!("{method} {path} was answered with {status}: {body}");
        }
        Ok(serde_json::from_str(&body).unwrap_or_default())
    }
}

fn launch(stage: &Stage<'_>) -> Result<Process> {
    let mut config = opencode_config(stage.model);
    if stage.scenario.setup.permissions == Permissions::Ask {
        config["permission"] = json!({"bash": "ask", "edit": "ask", "webfetch": "ask"});
    }
    if stage.scenario.setup.mcp {
        config["mcp"] = json!({"tiny": {"type": "local", "command": [stage.recorder, mcp::WORD], "enabled": true}});
    }
    let mut environment: Vec<(String, String)> =
        variables(Agent::OpenCode, stage.model).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    environment.retain(|(name, _)| name != "OPENCODE_CONFIG_CONTENT");
    environment.push(("OPENCODE_CONFIG_CONTENT".to_owned(), config.to_string()));
    stage.tape.started(&["opencode", "serve"].map(str::to_owned));
    let arguments = ["serve", "--port", &PORT.to_string(), "--hostname", "127.0.0.1"].map(str::to_owned);
    Process::start(stage.program, &arguments, &environment, stage.place, stage.tape, Stdout::Remarks)
}

/// Waits until the server is there, then takes down its events.
async fn listen(
    client: &reqwest::Client,
    process: &mut Process,
    tape: &Tape,
) -> Result<(mpsc::UnboundedReceiver<String>, JoinHandle<()>)> {
    // A connection that is made before it says so is never answered.
    loop {
        match process.next().await {
            Output::Line(line) if line.contains("listening on") => break,
            Output::Line(_) => {}
            Output::Exited(code) => bail!("the server ended with {code:?} before it listened"),
        }
    }
    let url = format!("http://127.0.0.1:{PORT}/event");
    let mut response = client.get(url).send().await.context("GET /event was not answered")?;
    let (sender, mut events) = mpsc::unbounded_channel();
    let tape = tape.clone();
    let listener = tokio::spawn(async move {
        let mut decoder = Decoder::default();
        while let Ok(Some(bytes)) = response.chunk().await {
            decoder.push(&bytes);
            while let Some(frame) = decoder.next_frame() {
                if let Ok(Frame::Event(event)) = frame {
                    let data = String::from_utf8_lossy(&event.data).into_owned();
                    tape.received(&data);
                    let _ = sender.send(data);
                }
            }
        }
    });
    events.recv().await.context("the event stream ended before it began")?;
    Ok((events, listener))
}
