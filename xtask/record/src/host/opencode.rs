//! OpenCode: a server with an HTTP API and one event stream.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use interlingua_agents::Agent;
use interlingua_native::opencode::Part;
use interlingua_native::{HttpRequest, Native as _};
use interlingua_protocol::opencode::{
    CONFIGURATION_VARIABLE, Config, Event, HttpCall, HttpReply, PendingRequest, PermissionActionConfig,
    PermissionConfigObject, PermissionDecision, PromptOptions, Request, Requests, SessionOptions, SessionStatus,
    add_to_configuration, file_part, find_listening_url, local_mcp_server, parse_model, serve_arguments, text_part,
};
use interlingua_record::mcp;
use interlingua_scripted_model::scenario::{HostAnswer, PermissionPolicy};
use interlingua_scripted_model::{agent_environment, opencode_config, required_model};
use interlingua_sse::{Decoder, Frame};
use reqwest::header::CONTENT_TYPE;
use rustix::process::Signal;
use semver::Version;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::{AgentRequest, AttachedFile, HostContext, HostEvent};
use crate::process::{Output, Process, StdoutRole};
use crate::recording_writer::RecordingWriter;

/// Always free: nothing else runs in this network namespace.
const PORT: u16 = 4096;
/// Some events of a turn come after its end. They are complete after a pause of this length.
const QUIET_PERIOD: Duration = Duration::from_millis(600);

pub(crate) struct Host<'a> {
    context: HostContext<'a>,
    pub(super) process: Process,
    client: reqwest::Client,
    requests: Requests,
    events: mpsc::UnboundedReceiver<String>,
    listener: JoinHandle<()>,
    /// Session name → native session id.
    sessions: BTreeMap<String, String>,
    /// Number of requests so far.
    calls: u64,
}

impl<'a> Host<'a> {
    pub(super) async fn start(context: HostContext<'a>) -> Result<Self> {
        let client =
            reqwest::Client::builder().pool_max_idle_per_host(0).build().context("cannot build an HTTP client")?;
        let mut process = launch(&context)?;
        let (events, listener) = listen(&client, &mut process, context.recording).await?;
        let (requests, sessions) = (Requests::new(), BTreeMap::new());
        Ok(Self { context, process, client, requests, events, listener, sessions, calls: 0 })
    }

    pub(super) async fn send_message(&mut self, session: &str, text: &str, files: &[AttachedFile]) -> Result<()> {
        let native = match self.sessions.get(session) {
            Some(native) => native.clone(),
            None => self.create_session(session).await?,
        };
        let mut parts = vec![text_part(text)];
        parts.extend(
            files.iter().map(|file| {
                file_part(file.mime, Some(file.name().as_str()), &format!("file://{}", file.path.display()))
            }),
        );
        let options = PromptOptions {
            agent: self.context.scenario.setup.plan_mode.then(|| "plan".to_owned()),
            model: required_model(Agent::OpenCode, self.context.scenario).and_then(parse_model),
            ..PromptOptions::default()
        };
        self.call(self.requests.prompt(&native, parts, options)).await
    }

    async fn create_session(&mut self, session: &str) -> Result<String> {
        // With a title, OpenCode does not ask the model for one.
        let title = Some(format!("{} {session}", self.context.scenario.name));
        let request = self.requests.create_session(SessionOptions { title, ..SessionOptions::default() });
        let native = self.call(request).await?.id;
        self.sessions.insert(session.to_owned(), native.clone());
        Ok(native)
    }

    pub(super) async fn answer(&mut self, request: &AgentRequest, answer: &HostAnswer) -> Result<()> {
        let event = Event::decode(&request.payload.to_string())?.value;
        match PendingRequest::from_event(&event).context("the request has no id")? {
            PendingRequest::Question(id) => match answer {
                HostAnswer::Choose(chosen) => self.call(self.requests.answer_question(&id, chosen.clone())).await,
                _ => self.call(self.requests.reject_question(&id)).await,
            },
            PendingRequest::Permission(id) => {
                let (decision, message) = match answer {
                    HostAnswer::Allow | HostAnswer::Choose(_) => (PermissionDecision::Once, None),
                    HostAnswer::AllowAlways => (PermissionDecision::Always, None),
                    HostAnswer::Deny(reason) => (PermissionDecision::Reject, reason.as_deref()),
                    HostAnswer::Dismiss => (PermissionDecision::Reject, None),
                };
                self.call(self.requests.reply_to_permission(&id, decision, message)).await
            }
        }
        .map(drop)
    }

    pub(super) async fn interrupt(&mut self, session: &str) -> Result<()> {
        let native = self.sessions.get(session).context("there is no such session")?;
        self.call(self.requests.abort(native)).await.map(drop)
    }

    pub(super) async fn resume(&mut self, _session: &str) -> Result<()> {
        self.stop().await?;
        self.process = launch(&self.context)?;
        (self.events, self.listener) = listen(&self.client, &mut self.process, self.context.recording).await?;
        Ok(())
    }

    pub(super) async fn shutdown(&mut self) -> Result<()> {
        self.drain().await?;
        self.context.recording.stop();
        self.stop().await
    }

    async fn stop(&mut self) -> Result<()> {
        if !self.process.has_exited() {
            self.listener.abort();
            self.process.signal(Signal::TERM)?;
            self.process.wait().await;
        }
        Ok(())
    }

    /// Waits for the events that come after the end of a turn.
    pub(super) async fn drain(&mut self) -> Result<()> {
        while let Ok(Some(event)) = tokio::time::timeout(QUIET_PERIOD, self.events.recv()).await {
            // A heartbeat comes without a turn, so it does not extend the wait.
            if event.contains("\"server.heartbeat\"") {
                break;
            }
        }
        Ok(())
    }

    pub(super) async fn next(&mut self) -> Result<HostEvent> {
        loop {
            let event = tokio::select! {
                biased;
                event = self.events.recv() => event,
                output = self.process.next() => match output {
                    Output::Line(_) => continue,
                    Output::Exited(_) => return Ok(HostEvent::Exited),
                },
            };
            let Some(event) = event else {
                // The event stream ends when the process exits.
                self.process.wait().await;
                return Ok(HostEvent::Exited);
            };
            if let Some(event) = self.host_event(&event) {
                return Ok(event);
            }
        }
    }

    /// The host event for a native event, if a scenario can wait for it.
    fn host_event(&self, text: &str) -> Option<HostEvent> {
        let event = Event::decode(text).ok()?.value;
        match &event {
            Event::MessagePartDelta(_) => Some(HostEvent::Text),
            Event::MessagePartUpdated(event) => {
                event.properties.as_ref()?.part.as_ref().filter(|part| is_streamed(part)).map(|_| HostEvent::Text)
            }
            Event::SessionStatus(event) => match event.properties.as_ref()?.status.as_ref()? {
                SessionStatus::Retry(_) => Some(HostEvent::Retry),
                _ => None,
            },
            Event::PermissionAsked(event) => {
                let permission = event.properties.as_ref().and_then(|request| request.permission.as_deref());
                request_event(format!("permission {}", permission.unwrap_or("?")), text)
            }
            Event::QuestionAsked(_) => request_event("a question".to_owned(), text),
            Event::SessionIdle(event) => {
                let native = event.properties.as_ref()?.session_id.as_deref()?;
                // The sessions of sub-agents are not in the scenario.
                let (session, _) = self.sessions.iter().find(|(_, known)| known.as_str() == native)?;
                Some(HostEvent::TurnEnded { session: session.clone() })
            }
            _ => None,
        }
    }

    /// Sends a request, records it with its reply, and decodes the reply.
    async fn call<R: HttpRequest>(&mut self, request: R) -> Result<R::Response>
    where
        Request: From<R>,
    {
        self.calls += 1;
        let version = Version::parse(self.context.version).ok();
        let HttpCall { method, path, body } = Request::from(request).to_call(version.as_ref());
        self.context.recording.record_request(self.calls, method, &path, body.as_deref());
        let method_name = reqwest::Method::from_bytes(method.as_bytes()).context("invalid HTTP method")?;
        let mut request = self.client.request(method_name, format!("http://127.0.0.1:{PORT}{path}"));
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body);
        }
        let response = request.send().await.with_context(|| format!("{method} {path} got no reply"))?;
        let status = response.status().as_u16();
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).map(str::to_owned);
        let body = response.text().await.with_context(|| format!("{method} {path} got no reply"))?;
        self.context.recording.record_reply(self.calls, status, &body);
        let reply = HttpReply::new(status, content_type.as_deref(), body);
        reply.decode::<R>().with_context(|| format!("{method} {path} failed"))
    }
}

/// A request of the agent, with the native event as its payload.
fn request_event(description: String, event: &str) -> Option<HostEvent> {
    Some(HostEvent::Request(AgentRequest { description, payload: serde_json::from_str(event).ok()? }))
}

/// Whether a part is incomplete text of the model. Versions up to 1.1 send the text so far with every delta.
fn is_streamed(part: &Part) -> bool {
    let (text, is_open) = match part {
        Part::Text(part) => (&part.text, part.time.as_ref().is_some_and(|time| time.end.is_none())),
        Part::Reasoning(part) => (&part.text, part.time.as_ref().is_some_and(|time| time.end.is_none())),
        _ => return false,
    };
    is_open && text.as_ref().is_some_and(|text| !text.is_empty())
}

fn launch(context: &HostContext<'_>) -> Result<Process> {
    let mut addition = Config::new();
    if context.scenario.setup.permissions == PermissionPolicy::Ask {
        let ask = PermissionActionConfig::Ask;
        let permission = PermissionConfigObject {
            bash: Some(ask.clone().into()),
            edit: Some(ask.clone().into()),
            webfetch: Some(ask),
            ..PermissionConfigObject::new()
        };
        addition.permission = Some(permission.into());
    }
    if context.scenario.setup.mcp {
        let command = vec![context.recorder.display().to_string(), mcp::SUBCOMMAND.to_owned()];
        let server = local_mcp_server(command, BTreeMap::new());
        addition.mcp = Some([("tiny".to_owned(), server)].into());
    }
    let configuration = add_to_configuration(Some(&opencode_config(context.model_url).to_string()), &addition);
    let mut environment: Vec<(String, String)> = agent_environment(Agent::OpenCode, context.model_url)
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    environment.retain(|(name, _)| name != CONFIGURATION_VARIABLE);
    environment.push((CONFIGURATION_VARIABLE.to_owned(), configuration));
    context.recording.set_command_line(&["opencode", "serve"].map(str::to_owned));
    Process::start(
        context.program,
        &serve_arguments(PORT),
        &environment,
        context.dirs,
        context.recording,
        StdoutRole::Log,
    )
}

/// Waits until the server listens, then subscribes to its events and records them.
async fn listen(
    client: &reqwest::Client,
    process: &mut Process,
    recording: &RecordingWriter,
) -> Result<(mpsc::UnboundedReceiver<String>, JoinHandle<()>)> {
    // A connection that is made before the server prints its address never gets a reply.
    loop {
        match process.next().await {
            Output::Line(line) if find_listening_url(&line).is_some() => break,
            Output::Line(_) => {}
            Output::Exited(code) => bail!("the server exited with code {code:?} before it listened"),
        }
    }
    let HttpCall { path, .. } = Request::from(Requests::new().subscribe()).to_call(None);
    let mut response =
        client.get(format!("http://127.0.0.1:{PORT}{path}")).send().await.context("GET /event got no reply")?;
    let (sender, mut events) = mpsc::unbounded_channel();
    let recording = recording.clone();
    let listener = tokio::spawn(async move {
        let mut decoder = Decoder::default();
        while let Ok(Some(bytes)) = response.chunk().await {
            decoder.push(&bytes);
            while let Some(frame) = decoder.next_frame() {
                if let Ok(Frame::Event(event)) = frame {
                    let data = String::from_utf8_lossy(&event.data).into_owned();
                    recording.record_received(&data);
                    let _ = sender.send(data);
                }
            }
        }
    });
    events.recv().await.context("the event stream ended before its first event")?;
    Ok((events, listener))
}
