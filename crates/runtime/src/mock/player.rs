//! Plays a turn: steps in, lines out, with an ear open for the host.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use interlingua_convert::{Input, Key};
use interlingua_schema::{Message, StopReason, ToolKind, TurnStatus, Usage};
use serde::Serialize;
use tokio::time::Instant;

use super::commands;
use super::line::{HostLine, Line, Permit, PromptFile};
use super::step::{Question, Step, Tool};
use crate::driver::{CommandReceiver, DriverCommand, OutputSender, PermissionReply};
use crate::ids::unique;
use crate::modes::PermissionMode;

/// Why a turn does not go on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// The host wants it to stop.
    Interrupted,
    /// The host let go.
    LetGo,
    /// The agent is gone, with this exit code.
    Exit(i32),
}

/// The mock agent in one session.
pub(super) struct Player {
    pub(super) output: OutputSender,
    pub(super) commands: CommandReceiver,
    pub(super) pace: Duration,
    pub(super) permissions: PermissionMode,
    /// What was allowed from then on.
    pub(super) allowed: HashSet<String>,
    usage: Usage,
    failed: bool,
    /// Commands that run on when their turn is over.
    running: Vec<Running>,
}

/// A command that runs on when its turn is over.
struct Running {
    until: Instant,
    /// What is said when it is done.
    result: Line,
}

impl Player {
    pub(super) fn new(
        output: OutputSender,
        commands: CommandReceiver,
        pace: Duration,
        permissions: PermissionMode,
        allowed: HashSet<String>,
    ) -> Self {
        Self {
            output,
            commands,
            pace,
            permissions,
            allowed,
            usage: Usage::default(),
            failed: false,
            running: Vec::new(),
        }
    }

    /// Plays a turn from the message to the end, however it ends.
    pub(super) async fn turn(&mut self, message: Message, steps: Vec<Step>) -> Result<(), Halt> {
        self.usage = Usage::new(words(&message.text), 0);
        self.failed = false;
        let files =
            message.attachments.into_iter().map(|file| PromptFile { path: file.path, mime: file.mime }).collect();
        self.tell(HostLine::Prompt { text: message.text, files }).await;
        let turn = unique("turn_");
        self.say(Line::Turn { turn: turn.clone(), model: super::MODEL.to_owned() }).await?;
        let status = match self.steps(steps).await {
            Ok(()) if self.failed => TurnStatus::Failed,
            Ok(()) => TurnStatus::Completed,
            Err(Halt::Interrupted) => {
                self.tell(HostLine::Interrupt).await;
                TurnStatus::Interrupted
            }
            Err(halt) => return Err(halt),
        };
        let usage = std::mem::take(&mut self.usage);
        let stop_reason = (status == TurnStatus::Completed).then_some(StopReason::EndTurn);
        self.print(&Line::Done { turn, status, usage, stop_reason }).await;
        Ok(())
    }

    /// The next order, between two turns. Commands that run on end meanwhile.
    pub(super) async fn order_between_turns(&mut self) -> Option<DriverCommand> {
        loop {
            let next = self.running.iter().enumerate().min_by_key(|(_, running)| running.until);
            let Some((index, until)) = next.map(|(index, running)| (index, running.until)) else {
                return self.commands.next().await;
            };
            tokio::select! {
                biased;
                command = self.commands.next() => return command,
                () = tokio::time::sleep_until(until) => {
                    let done = self.running.remove(index);
                    self.print(&done.result).await;
                }
            }
        }
    }

    async fn steps(&mut self, steps: Vec<Step>) -> Result<(), Halt> {
        for step in steps {
            match step {
                // One level deep: what a command is made of has no commands in it.
                Step::Command(command) => {
                    for step in commands::deed(&command).steps {
                        self.step(step).await?;
                    }
                }
                step => self.step(step).await?,
            }
        }
        Ok(())
    }

    async fn step(&mut self, step: Step) -> Result<(), Halt> {
        match step {
            Step::Say(text) => self.stream(vec![text]).await,
            Step::Stream(pieces) => self.stream(pieces).await,
            Step::Think(text) => self.think(text).await,
            Step::Image(image) => {
                let (message, text) = (unique("msg_"), "Here is a picture.".to_owned());
                self.say(Line::Said { message, text, image: Some(image) }).await
            }
            Step::Tool(tool) => self.tools(vec![tool]).await,
            Step::Tools(tools) => self.tools(tools).await,
            Step::Ask(requests) => self.ask(requests).await,
            Step::Status(status) => self.say(Line::Status(status)).await,
            Step::Unknown(json) => self.say(Line::Oddity { json }).await,
            Step::Error(failure) => {
                self.failed |= !failure.aside;
                self.say(Line::Failed { failure }).await
            }
            Step::Unparsed(line) => {
                self.keep_pace().await?;
                self.output.send(Input::Received(line)).await;
                Ok(())
            }
            Step::Stderr(line) => {
                self.output.send(Input::Stderr(line)).await;
                Ok(())
            }
            Step::WaitMs(wait) => self.pause(Duration::from_millis(wait)).await,
            Step::Hang(false) | Step::Command(_) => Ok(()),
            Step::Hang(true) => {
                while self.commands.next().await.is_some() {}
                Err(Halt::LetGo)
            }
            Step::Exit(code) => Err(Halt::Exit(code)),
        }
    }

    async fn stream(&mut self, pieces: Vec<String>) -> Result<(), Halt> {
        let message = unique("msg_");
        let text: String = pieces.concat();
        for delta in pieces {
            self.say(Line::Text { message: message.clone(), delta }).await?;
        }
        self.usage.output_tokens += words(&text);
        self.say(Line::Said { message, text, image: None }).await
    }

    async fn think(&mut self, text: String) -> Result<(), Halt> {
        let message = unique("msg_");
        for word in text.split_inclusive(' ') {
            self.say(Line::Thought { message: message.clone(), delta: word.to_owned() }).await?;
        }
        self.usage.output_tokens += words(&text);
        *self.usage.reasoning_tokens.get_or_insert(0) += words(&text);
        self.say(Line::Thinking { message, text }).await
    }

    /// All calls, then all permissions, then all results.
    async fn tools(&mut self, tools: Vec<Tool>) -> Result<(), Halt> {
        let mut called = Vec::new();
        for tool in tools {
            let call = unique("call_");
            let (name, kind, arguments) = (tool.name.clone(), tool.kind.clone(), tool.arguments.clone());
            self.say(Line::Call { call: call.clone(), name, kind, arguments }).await?;
            called.push((call, tool));
        }
        let allowed = self.permissions(&called).await?;
        for (call, tool) in called {
            if allowed.contains(&call) {
                self.run(call, tool).await?;
            } else {
                let output = "This was not allowed.".to_owned();
                self.say(Line::Result { call, output, exit_code: None, failed: true, files: Vec::new() }).await?;
            }
        }
        Ok(())
    }

    /// Runs a tool to its end, or leaves it running.
    async fn run(&mut self, call: String, tool: Tool) -> Result<(), Halt> {
        let Tool { output, exit_code, failed, files, background_ms, .. } = tool;
        let Some(duration) = background_ms.map(Duration::from_millis) else {
            return self.say(Line::Result { call, output, exit_code, failed, files }).await;
        };
        if !output.is_empty() {
            self.say(Line::Output { call: call.clone(), delta: output.clone() }).await?;
        }
        let result = Line::Result { call, output, exit_code, failed, files };
        self.running.push(Running { until: Instant::now() + duration, result });
        Ok(())
    }

    /// The calls that may go ahead: those that need no permission, and those that get it.
    async fn permissions(&mut self, called: &[(String, Tool)]) -> Result<HashSet<String>, Halt> {
        let mut allowed = HashSet::new();
        let mut open = HashMap::new();
        for (call, tool) in called {
            let Some(action) = &tool.permission else {
                allowed.insert(call.clone());
                continue;
            };
            let is_edit = tool.kind == ToolKind::FileChange;
            let goes_ahead = match self.permissions {
                PermissionMode::Bypass => Some(true),
                PermissionMode::Plan => Some(false),
                PermissionMode::AcceptEdits if is_edit => Some(true),
                PermissionMode::AcceptEdits | PermissionMode::Default => self.allowed.contains(action).then_some(true),
            };
            match goes_ahead {
                Some(true) => drop(allowed.insert(call.clone())),
                Some(false) => {}
                None => {
                    let request = unique("perm_");
                    open.insert(Key::from(&request), (call.clone(), action.clone()));
                    let (action, call, reason) = (action.clone(), call.clone(), tool.reason.clone());
                    self.say(Line::MayI { request, action, call, reason }).await?;
                }
            }
        }
        while !open.is_empty() {
            let DriverCommand::ReplyPermission { key, reply } = self.next_order().await? else { continue };
            let Some((call, action)) = open.remove(&key) else { continue };
            let reply = match reply {
                PermissionReply::Once => Permit::Once,
                PermissionReply::Always => Permit::Always,
                PermissionReply::Reject => Permit::Reject,
            };
            if reply != Permit::Reject {
                allowed.insert(call);
            }
            if reply == Permit::Always {
                self.allowed.insert(action);
            }
            self.tell(HostLine::Permit { request: key.to_string(), reply }).await;
        }
        Ok(allowed)
    }

    async fn ask(&mut self, requests: Vec<Vec<Question>>) -> Result<(), Halt> {
        let mut open = HashSet::new();
        for questions in requests.into_iter().filter(|questions| !questions.is_empty()) {
            let request = unique("ask_");
            self.say(Line::Ask { request: request.clone(), questions }).await?;
            open.insert(Key::from(request));
        }
        while !open.is_empty() {
            match self.next_order().await? {
                DriverCommand::AnswerQuestions { key, answers } if open.remove(&key) => {
                    self.tell(HostLine::Answer { request: key.to_string(), answers }).await;
                }
                DriverCommand::RejectQuestions { key } if open.remove(&key) => {
                    self.tell(HostLine::Reject { request: key.to_string() }).await;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The next order, unless it is to stop.
    async fn next_order(&mut self) -> Result<DriverCommand, Halt> {
        match self.commands.next().await {
            None => Err(Halt::LetGo),
            Some(DriverCommand::Interrupt) => Err(Halt::Interrupted),
            Some(command) => Ok(command),
        }
    }

    /// Waits, and listens meanwhile.
    async fn pause(&mut self, pause: Duration) -> Result<(), Halt> {
        let over = tokio::time::sleep(pause);
        tokio::pin!(over);
        loop {
            tokio::select! {
                biased;
                command = self.next_order() => drop(command?),
                () = &mut over => return Ok(()),
            }
        }
    }

    /// Waits between two lines, if that is wanted, and obeys what came meanwhile in any case.
    async fn keep_pace(&mut self) -> Result<(), Halt> {
        if !self.pace.is_zero() {
            return self.pause(self.pace).await;
        }
        loop {
            tokio::select! {
                biased;
                command = self.next_order() => drop(command?),
                () = std::future::ready(()) => return Ok(()),
            }
        }
    }

    /// Prints a line when it is time for it.
    async fn say(&mut self, line: Line) -> Result<(), Halt> {
        self.keep_pace().await?;
        self.print(&line).await;
        Ok(())
    }

    pub(super) async fn print(&self, line: &Line) {
        if let Some(line) = written(line) {
            self.output.send(Input::Received(line)).await;
        }
    }

    /// What the host said, as it would be written to a process.
    async fn tell(&self, line: HostLine) {
        if let Some(line) = written(&line) {
            self.output.send(Input::Sent(line)).await;
        }
    }
}

/// A line as text. What cannot be written (nothing here) is not said.
fn written(line: &impl Serialize) -> Option<String> {
    serde_json::to_string(line).ok()
}

fn words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}
