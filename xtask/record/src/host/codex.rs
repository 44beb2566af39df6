//! Codex: one app-server for all sessions, JSON-RPC in lines both ways.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result, bail};
use interlingua_agents::Agent;
use interlingua_record::mcp;
use interlingua_scripted_model::scenario::{Answer, Permissions, Role, Step};
use interlingua_scripted_model::{codex_config, variables};
use serde_json::{Value, json};

use super::{Ask, Attached, Seen, Stage};
use crate::process::{Output, Process, Stdout};

pub(crate) struct Host<'a> {
    stage: Stage<'a>,
    pub(super) process: Process,
    /// Session → thread.
    threads: BTreeMap<String, String>,
    /// Session → turn.
    turns: BTreeMap<String, String>,
    /// How many requests the host made.
    requests: u64,
    /// What was seen while the host waited for something else.
    ahead: Vec<Value>,
}

impl<'a> Host<'a> {
    pub(super) async fn start(stage: Stage<'a>) -> Result<Self> {
        configure(&stage)?;
        let process = launch(&stage)?;
        let (threads, turns) = (BTreeMap::new(), BTreeMap::new());
        let mut host = Self { stage, process, threads, turns, requests: 0, ahead: Vec::new() };
        host.initialize().await?;
        Ok(host)
    }

    async fn initialize(&mut self) -> Result<()> {
        let client = json!({"name": "host", "title": "Host", "version": "0.1.0"});
        let mut capabilities = json!({"experimentalApi": true, "requestAttestation": false});
        if delegates(&self.stage) {
            // It warns of the unknown model in every thread: in a sub-agent's before or after that is started.
            capabilities["optOutNotificationMethods"] = json!(["warning"]);
        }
        self.call("initialize", &json!({"clientInfo": client, "capabilities": capabilities})).await?;
        self.process.send(&json!({"method": "initialized"}).to_string()).await
    }

    pub(super) async fn say(&mut self, session: &str, text: &str, files: &[Attached]) -> Result<()> {
        let thread = match self.threads.get(session) {
            Some(thread) => thread.clone(),
            None => self.begin(session).await?,
        };
        let mut input = vec![json!({"type": "text", "text": text})];
        input.extend(files.iter().map(|file| {
            if file.is_image() {
                json!({"type": "localImage", "path": file.path})
            } else {
                json!({"type": "mention", "name": file.name(), "path": file.path})
            }
        }));
        let mut params = json!({"threadId": thread, "input": input});
        if self.plans() {
            let settings =
                json!({"model": model(&self.stage), "reasoning_effort": "medium", "developer_instructions": null});
            params["collaborationMode"] = json!({"mode": "plan", "settings": settings});
        }
        let started = self.call("turn/start", &params).await?;
        let turn = started["turn"]["id"].as_str().context("turn/start gave no turn")?;
        self.turns.insert(session.to_owned(), turn.to_owned());
        Ok(())
    }

    async fn begin(&mut self, session: &str) -> Result<String> {
        let mut params = json!({"cwd": self.stage.place.workspace});
        if self.stage.scenario.setup.permissions == Permissions::Ask {
            params["approvalPolicy"] = json!("untrusted");
            params["sandbox"] = json!("danger-full-access");
        }
        let started = self.call("thread/start", &params).await?;
        let thread = started["thread"]["id"].as_str().context("thread/start gave no thread")?.to_owned();
        self.threads.insert(session.to_owned(), thread.clone());
        if self.stage.scenario.setup.mcp {
            self.servers_are_up().await?;
        }
        Ok(thread)
    }

    /// Waits until the MCP server is there, or is not: otherwise that is told before or after the turn begins.
    async fn servers_are_up(&mut self) -> Result<()> {
        let is_up = |message: &Value| {
            message["method"] == "mcpServer/startupStatus/updated" && message["params"]["status"] != "starting"
        };
        while !self.ahead.iter().any(is_up) {
            match self.process.next().await {
                Output::Line(line) => self.ahead.push(serde_json::from_str(&line).unwrap_or_default()),
                Output::Exited(code) => bail!("the agent ended with {code:?} before its MCP server was there"),
            }
        }
        Ok(())
    }

    pub(super) async fn answer(&mut self, ask: &Ask, answer: &Answer) -> Result<()> {
        let request = &ask.request;
        let result = match request["method"].as_str() {
            Some("item/tool/requestUserInput") => {
                let chosen = if let Answer::Choose(chosen) = answer { chosen.as_slice() } else { &[] };
                let questions = request["params"]["questions"].as_array().into_iter().flatten();
                let answers: serde_json::Map<String, Value> = questions
                    .zip(chosen)
                    .filter_map(|(question, chosen)| {
                        Some((question["id"].as_str()?.to_owned(), json!({"answers": chosen})))
                    })
                    .collect();
                json!({"answers": answers})
            }
            Some("mcpServer/elicitation/request") => match answer {
                Answer::Allow | Answer::Choose(_) => json!({"action": "accept", "content": {}, "_meta": null}),
                Answer::Always => json!({"action": "accept", "content": {}, "_meta": {"persist": "session"}}),
                Answer::Deny(_) | Answer::Dismiss => json!({"action": "decline", "content": null, "_meta": null}),
            },
            _ => json!({"decision": match answer {
                Answer::Allow | Answer::Choose(_) => "accept",
                Answer::Always => "acceptForSession",
                Answer::Deny(_) | Answer::Dismiss => "decline",
            }}),
        };
        self.process.send(&json!({"id": request["id"], "result": result}).to_string()).await
    }

    pub(super) async fn interrupt(&mut self, session: &str) -> Result<()> {
        let (thread, turn) = (self.threads.get(session), self.turns.get(session));
        let params = json!({"threadId": thread, "turnId": turn});
        self.call("turn/interrupt", &params).await.map(drop)
    }

    pub(super) async fn resume(&mut self, session: &str) -> Result<()> {
        self.end().await?;
        self.process = launch(&self.stage)?;
        self.initialize().await?;
        let thread = self.threads.get(session).context("there is no thread to resume")?.clone();
        self.call("thread/resume", &json!({"threadId": thread})).await.map(drop)
    }

    pub(super) async fn end(&mut self) -> Result<()> {
        self.process.close();
        while !self.process.is_gone() {
            self.process.next().await;
        }
        Ok(())
    }

    pub(super) async fn next(&mut self) -> Result<Seen> {
        loop {
            let message = if self.ahead.is_empty() {
                match self.process.next().await {
                    Output::Exited(_) => return Ok(Seen::Gone),
                    Output::Line(line) => serde_json::from_str(&line).unwrap_or_default(),
                }
            } else {
                self.ahead.remove(0)
            };
            if let Some(seen) = self.see(message) {
                return Ok(seen);
            }
        }
    }

    fn see(&self, message: Value) -> Option<Seen> {
        let method = message["method"].as_str()?;
        if message.get("id").is_some() {
            return Some(Seen::Asked(Ask { about: method.to_owned(), request: message }));
        }
        match method {
            "item/agentMessage/delta" => Some(Seen::Text),
            "error" if message["params"]["willRetry"] == true => Some(Seen::Retry),
            "turn/completed" => {
                let thread = message["params"]["threadId"].as_str()?;
                // A sub-agent's thread is nobody's session.
                let (session, _) = self.threads.iter().find(|(_, of)| of.as_str() == thread)?;
                Some(Seen::TurnOver { session: session.clone() })
            }
            _ => None,
        }
    }

    /// Makes a request and waits for its result.
    async fn call(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.requests += 1;
        let id = self.requests;
        self.process.send(&json!({"method": method, "id": id, "params": params}).to_string()).await?;
        loop {
            let line = match self.process.next().await {
                Output::Line(line) => line,
                Output::Exited(code) => bail!("the agent ended with {code:?} instead of answering {method}"),
            };
            let mut message: Value = serde_json::from_str(&line).unwrap_or_default();
            // The agent counts its own requests from 0 too, but those have a method.
            if message["id"] == id && message.get("method").is_none() {
                if message.get("error").is_some() {
                    bail!("{method} was refused: {}", message["error"]);
                }
                return Ok(message["result"].take());
            }
            self.ahead.push(message);
        }
    }

    /// Codex asks the user and makes plans in plan mode only.
    fn plans(&self) -> bool {
        let asks = |step: &Step| matches!(step, Step::Call(Role::Ask(_) | Role::Plan { .. }));
        self.stage.scenario.setup.plan_mode || self.stage.scenario.has(asks)
    }
}

fn model(stage: &Stage<'_>) -> &'static str {
    interlingua_scripted_model::model(Agent::Codex, stage.scenario).unwrap_or("gpt-5.5")
}

fn delegates(stage: &Stage<'_>) -> bool {
    stage.scenario.has(|step| matches!(step, Step::Call(Role::Delegate { .. })))
}

fn configure(stage: &Stage<'_>) -> Result<()> {
    let mut config = codex_config(stage.model).replacen("gpt-5.5", model(stage), 1);
    let head = "approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n";
    config.insert_str(0, head);
    // Few retries: a scenario says what fails, not how often one may hope.
    config = config.replace("env_key =", "request_max_retries = 2\nstream_max_retries = 2\nenv_key =");
    let workspace = stage.place.workspace.display();
    // Writing to a string does not fail.
    let _ = write!(config, "\n[analytics]\nenabled = false\n\n[projects.\"{workspace}\"]\ntrust_level = \"trusted\"\n");
    if stage.scenario.setup.mcp {
        let recorder = stage.recorder.display();
        let _ = write!(config, "\n[mcp_servers.tiny]\ncommand = \"{recorder}\"\nargs = [\"{}\"]\n", mcp::WORD);
    }
    let folder = stage.place.home.join(".codex");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    std::fs::write(folder.join("config.toml"), config).context("cannot write config.toml")
}

fn launch(stage: &Stage<'_>) -> Result<Process> {
    let environment: Vec<(String, String)> =
        variables(Agent::Codex, stage.model).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    stage.tape.started(&["codex", "app-server"].map(str::to_owned));
    let arguments = ["app-server".to_owned()];
    Process::start(stage.program, &arguments, &environment, stage.place, stage.tape, Stdout::Wire)
}
