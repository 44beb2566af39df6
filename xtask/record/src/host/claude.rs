//! Claude Code: one process a session, lines of JSON both ways, and a control protocol in them.

use anyhow::{Result, bail};
use interlingua_agents::Agent;
use interlingua_record::mcp;
use interlingua_scripted_model::scenario::{Answer, MAIN, Permissions, Role, Step};
use interlingua_scripted_model::variables;
use serde_json::{Value, json};

use super::{Ask, Attached, NO, Seen, Stage};
use crate::process::{Output, Process, Stdout};

pub(crate) struct Host<'a> {
    stage: Stage<'a>,
    pub(super) process: Process,
    /// The native session, once the agent has said it.
    session: Option<String>,
    /// How many requests the host made.
    requests: u64,
}

impl<'a> Host<'a> {
    pub(super) async fn start(stage: Stage<'a>) -> Result<Self> {
        let process = launch(&stage, None)?;
        let mut host = Self { stage, process, session: None, requests: 0 };
        host.initialize().await?;
        Ok(host)
    }

    async fn initialize(&mut self) -> Result<()> {
        self.control(&json!({"subtype": "initialize", "hooks": {}})).await?;
        loop {
            match self.process.next().await {
                Output::Line(line) if line.contains("\"control_response\"") => return Ok(()),
                Output::Line(_) => {}
                Output::Exited(code) => bail!("the agent ended with {code:?} before it said hello"),
            }
        }
    }

    pub(super) async fn say(&mut self, session: &str, text: &str, files: &[Attached]) -> Result<()> {
        if session != MAIN {
            bail!("Claude Code has one session a process; say why in [absent]");
        }
        let content = if files.is_empty() {
            json!(text)
        } else {
            std::iter::once(json!({"type": "text", "text": text})).chain(files.iter().map(block)).collect()
        };
        let message = json!({"type": "user", "message": {"role": "user", "content": content}});
        self.process.send(&message.to_string()).await
    }

    pub(super) async fn answer(&mut self, ask: &Ask, answer: &Answer) -> Result<()> {
        let request = &ask.request["request"];
        let input = &request["input"];
        let response = match answer {
            Answer::Allow => json!({"behavior": "allow", "updatedInput": input}),
            Answer::Always => json!({
                "behavior": "allow", "updatedInput": input,
                "updatedPermissions": request["permission_suggestions"],
            }),
            Answer::Deny(why) => json!({"behavior": "deny", "message": why.as_deref().unwrap_or(NO)}),
            Answer::Dismiss => json!({"behavior": "deny", "message": "The user does not want to answer."}),
            Answer::Choose(chosen) => {
                let mut input = input.clone();
                let questions = input["questions"].as_array().cloned().unwrap_or_default();
                let texts = questions.iter().filter_map(|question| question["question"].as_str());
                let answers: serde_json::Map<String, Value> =
                    texts.zip(chosen).map(|(text, chosen)| (text.to_owned(), json!(chosen.join(", ")))).collect();
                input["answers"] = Value::Object(answers);
                json!({"behavior": "allow", "updatedInput": input})
            }
        };
        let response = json!({"subtype": "success", "request_id": ask.request["request_id"], "response": response});
        self.process.send(&json!({"type": "control_response", "response": response}).to_string()).await
    }

    pub(super) async fn interrupt(&mut self, _session: &str) -> Result<()> {
        self.control(&json!({"subtype": "interrupt"})).await
    }

    pub(super) async fn resume(&mut self, _session: &str) -> Result<()> {
        self.end().await?;
        self.process = launch(&self.stage, self.session.as_deref())?;
        self.initialize().await
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
            let line = match self.process.next().await {
                Output::Exited(_) => return Ok(Seen::Gone),
                Output::Line(line) => line,
            };
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            match message["type"].as_str() {
                Some("system") if message["subtype"] == "init" => {
                    self.session = message["session_id"].as_str().map(str::to_owned);
                }
                Some("system") if message["subtype"] == "api_retry" => return Ok(Seen::Retry),
                Some("stream_event") if message["event"]["delta"]["type"] == "text_delta" => return Ok(Seen::Text),
                Some("control_request") => {
                    let about = format!("{} {}", message["request"]["subtype"], message["request"]["tool_name"]);
                    return Ok(Seen::Asked(Ask { about: about.replace('"', ""), request: message }));
                }
                Some("result") => return Ok(Seen::TurnOver { session: MAIN.to_owned() }),
                _ => {}
            }
        }
    }

    async fn control(&mut self, request: &Value) -> Result<()> {
        self.requests += 1;
        let id = format!("host-{}", self.requests);
        let message = json!({"type": "control_request", "request_id": id, "request": request});
        self.process.send(&message.to_string()).await
    }
}

/// A file as a block of a message.
fn block(file: &Attached) -> Value {
    let kind = if file.is_image() { "image" } else { "document" };
    match file.text() {
        Some(text) => {
            let source = json!({"type": "text", "media_type": file.mime, "data": text});
            json!({"type": kind, "source": source, "title": file.name()})
        }
        None => json!({"type": kind, "source": {"type": "base64", "media_type": file.mime, "data": file.base64()}}),
    }
}

fn launch(stage: &Stage<'_>, resume: Option<&str>) -> Result<Process> {
    let setup = &stage.scenario.setup;
    let mut arguments: Vec<String> = [
        "--print",
        "--output-format",
        "stream-json",
        "--verbose",
        "--include-partial-messages",
        "--input-format",
        "stream-json",
        "--permission-prompt-tool",
        "stdio",
    ]
    .map(str::to_owned)
    .to_vec();
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
    if setup.plan_mode {
        add(&["--permission-mode", "plan"]);
    } else if setup.permissions == Permissions::Allow {
        add(&["--dangerously-skip-permissions"]);
    }
    if setup.mcp {
        let server = json!({"mcpServers": {"tiny": {"command": stage.recorder, "args": [mcp::WORD]}}});
        add(&["--mcp-config", &server.to_string(), "--strict-mcp-config"]);
    }
    if let Some(session) = resume {
        add(&["--resume", session]);
    }
    let mut environment: Vec<(String, String)> =
        variables(Agent::Claude, stage.model).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let mut set = |name: &str, value: &str| environment.push((name.to_owned(), value.to_owned()));
    // It is in a sandbox: nothing but loopback, a home and a workspace of its own.
    set("IS_SANDBOX", "1");
    // All tools are offered at once; looking for them first is the same in every scenario.
    set("ENABLE_TOOL_SEARCH", "false");
    set("CLAUDE_CODE_MAX_RETRIES", "2");
    if stage.scenario.has(|step| matches!(step, Step::Call(Role::Todo(_)))) {
        set("CLAUDE_CODE_ENABLE_TASKS", "0");
        add_tools(&mut arguments);
    }
    let mut argv = vec!["claude".to_owned()];
    argv.extend(arguments.iter().cloned());
    stage.tape.started(&argv);
    Process::start(stage.program, &arguments, &environment, stage.place, stage.tape, Stdout::Wire)
}

/// The to-do tool is there only if it is named, and then only what is named is there.
fn add_tools(arguments: &mut Vec<String>) {
    arguments.extend(["--tools", "TodoWrite,Bash,Read,Edit,Write"].map(str::to_owned));
}
