//! One session of the mock agent: prints the lines of each turn, and handles commands meanwhile.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use interlingua_convert::{Input, Key};
use interlingua_schema::{Message, StopReason, ToolKind, TurnStatus, Usage};
use serde::Serialize;
use tokio::time::Instant;

use super::commands;
use super::line::{AgentLine, HostLine, PermissionDecision, PromptFile};
use super::scenario::{Question, Step, Tool};
use crate::driver::{CommandReceiver, DriverCommand, OutputSender, PermissionReply};
use crate::ids::unique_id;
use crate::permission_mode::PermissionMode;

/// Why a turn stops before its last step.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TurnAbort {
    /// The host interrupted the turn.
    Interrupted,
    /// The session closed the connection.
    ConnectionClosed,
    /// The agent exits with this code.
    Exit(i32),
}

/// One session of the mock agent.
pub(super) struct MockSession {
    pub(super) output: OutputSender,
    commands: CommandReceiver,
    /// Replies that arrived before all requests of their step were printed.
    early_replies: VecDeque<DriverCommand>,
    /// Pause between two lines.
    pace: Duration,
    permission_mode: PermissionMode,
    /// Actions that the user has allowed for the session.
    pub(super) allowed_actions: HashSet<String>,
    usage: Usage,
    has_failed: bool,
    background_commands: Vec<BackgroundCommand>,
}

/// A command that outlives its turn.
struct BackgroundCommand {
    ends_at: Instant,
    /// Printed when the command ends.
    result: AgentLine,
}

impl MockSession {
    pub(super) fn new(
        output: OutputSender,
        commands: CommandReceiver,
        pace: Duration,
        permission_mode: PermissionMode,
        allowed_actions: HashSet<String>,
    ) -> Self {
        Self {
            output,
            commands,
            early_replies: VecDeque::new(),
            pace,
            permission_mode,
            allowed_actions,
            usage: Usage::default(),
            has_failed: false,
            background_commands: Vec::new(),
        }
    }

    /// Runs a turn from the message to its end.
    pub(super) async fn run_turn(&mut self, message: Message, steps: Vec<Step>) -> Result<(), TurnAbort> {
        self.usage = Usage::new(count_words(&message.text), 0);
        self.has_failed = false;
        let files =
            message.attachments.into_iter().map(|file| PromptFile { path: file.path, mime: file.mime }).collect();
        self.report_sent(HostLine::Prompt { text: message.text, files }).await;
        let turn = unique_id("turn_");
        self.print_paced(AgentLine::TurnStarted { turn: turn.clone(), model: super::MODEL.to_owned() }).await?;
        let status = match self.run_steps(steps).await {
            Ok(()) if self.has_failed => TurnStatus::Failed,
            Ok(()) => TurnStatus::Completed,
            Err(TurnAbort::Interrupted) => {
                self.report_sent(HostLine::Interrupt).await;
                TurnStatus::Interrupted
            }
            Err(abort) => return Err(abort),
        };
        let usage = std::mem::take(&mut self.usage);
        let stop_reason = (status == TurnStatus::Completed).then_some(StopReason::EndTurn);
        self.print(&AgentLine::TurnEnded { turn, status, usage, stop_reason }).await;
        Ok(())
    }

    /// Waits for the next command between two turns. Background commands may end meanwhile.
    pub(super) async fn next_command_between_turns(&mut self) -> Option<DriverCommand> {
        loop {
            let next = self.background_commands.iter().enumerate().min_by_key(|(_, running)| running.ends_at);
            let Some((index, ends_at)) = next.map(|(index, running)| (index, running.ends_at)) else {
                return self.commands.next().await;
            };
            tokio::select! {
                biased;
                command = self.commands.next() => return command,
                () = tokio::time::sleep_until(ends_at) => {
                    let ended = self.background_commands.remove(index);
                    self.print(&ended.result).await;
                }
            }
        }
    }

    async fn run_steps(&mut self, steps: Vec<Step>) -> Result<(), TurnAbort> {
        for step in steps {
            match step {
                // One level deep: the steps of a command contain no commands.
                Step::Command(command) => {
                    for step in commands::plan_turn(&command).steps {
                        self.run_step(step).await?;
                    }
                }
                step => self.run_step(step).await?,
            }
        }
        Ok(())
    }

    async fn run_step(&mut self, step: Step) -> Result<(), TurnAbort> {
        match step {
            Step::Say(text) => self.stream_message(vec![text]).await,
            Step::Stream(deltas) => self.stream_message(deltas).await,
            Step::Flood(megabytes) => {
                let mut text = FloodText::default();
                for _ in 0..megabytes {
                    self.stream_message(text.next_megabyte()).await?;
                }
                Ok(())
            }
            Step::Think(text) => self.stream_reasoning(text).await,
            Step::Image(image) => {
                let (message, text) = (unique_id("msg_"), "Here is a picture.".to_owned());
                self.print_paced(AgentLine::Message { message, text, image: Some(image) }).await
            }
            Step::Tool(tool) => self.use_tools(vec![tool]).await,
            Step::Tools(tools) => self.use_tools(tools).await,
            Step::Ask(requests) => self.ask_questions(requests).await,
            Step::Status(status) => self.print_paced(AgentLine::Status(status)).await,
            Step::Unknown(json) => self.print_paced(AgentLine::Unknown { json }).await,
            Step::Error(failure) => {
                self.has_failed |= !failure.aside;
                self.print_paced(AgentLine::Error { failure }).await
            }
            Step::Unparsed(line) => {
                self.wait_for_pace().await?;
                self.output.send(Input::Received(line)).await;
                Ok(())
            }
            Step::Stderr(line) => {
                self.output.send(Input::Stderr(line)).await;
                Ok(())
            }
            Step::WaitMs(duration) => self.pause(Duration::from_millis(duration)).await,
            Step::Hang(false) | Step::Command(_) => Ok(()),
            Step::Hang(true) => {
                while self.commands.next().await.is_some() {}
                Err(TurnAbort::ConnectionClosed)
            }
            Step::Exit(code) => Err(TurnAbort::Exit(code)),
        }
    }

    async fn stream_message(&mut self, deltas: Vec<String>) -> Result<(), TurnAbort> {
        let message = unique_id("msg_");
        let text: String = deltas.concat();
        for delta in deltas {
            self.print_paced(AgentLine::MessageDelta { message: message.clone(), delta }).await?;
        }
        self.usage.output_tokens += count_words(&text);
        self.print_paced(AgentLine::Message { message, text, image: None }).await
    }

    async fn stream_reasoning(&mut self, text: String) -> Result<(), TurnAbort> {
        let message = unique_id("msg_");
        for word in text.split_inclusive(' ') {
            let delta = word.to_owned();
            self.print_paced(AgentLine::ReasoningDelta { message: message.clone(), delta }).await?;
        }
        self.usage.output_tokens += count_words(&text);
        *self.usage.reasoning_tokens.get_or_insert(0) += count_words(&text);
        self.print_paced(AgentLine::Reasoning { message, text }).await
    }

    /// Prints all calls, then all permission requests, then all results.
    async fn use_tools(&mut self, tools: Vec<Tool>) -> Result<(), TurnAbort> {
        let mut calls = Vec::new();
        for tool in tools {
            let call = unique_id("call_");
            let (name, kind, arguments) = (tool.name.clone(), tool.kind.clone(), tool.arguments.clone());
            self.print_paced(AgentLine::ToolCall { call: call.clone(), name, kind, arguments }).await?;
            calls.push((call, tool));
        }
        let allowed = self.request_permissions(&calls).await?;
        for (call, tool) in calls {
            if allowed.contains(&call) {
                self.run_tool(call, tool).await?;
            } else {
                let output = "This was not allowed.".to_owned();
                let result = AgentLine::ToolResult { call, output, exit_code: None, failed: true, files: Vec::new() };
                self.print_paced(result).await?;
            }
        }
        Ok(())
    }

    /// Runs a tool to its end, or leaves it running in the background.
    async fn run_tool(&mut self, call: String, tool: Tool) -> Result<(), TurnAbort> {
        let Tool { output, exit_code, failed, files, background_ms, .. } = tool;
        let Some(duration) = background_ms.map(Duration::from_millis) else {
            return self.print_paced(AgentLine::ToolResult { call, output, exit_code, failed, files }).await;
        };
        if !output.is_empty() {
            self.print_paced(AgentLine::ToolOutput { call: call.clone(), delta: output.clone() }).await?;
        }
        let result = AgentLine::ToolResult { call, output, exit_code, failed, files };
        self.background_commands.push(BackgroundCommand { ends_at: Instant::now() + duration, result });
        Ok(())
    }

    /// Asks for the permissions that calls need. Returns the calls that may run.
    async fn request_permissions(&mut self, calls: &[(String, Tool)]) -> Result<HashSet<String>, TurnAbort> {
        let mut allowed = HashSet::new();
        let mut pending = HashMap::new();
        for (call, tool) in calls {
            let Some(action) = &tool.permission else {
                allowed.insert(call.clone());
                continue;
            };
            let is_edit = tool.kind == ToolKind::FileChange;
            let is_allowed = match self.permission_mode {
                PermissionMode::Bypass => Some(true),
                PermissionMode::Plan => Some(false),
                PermissionMode::AcceptEdits if is_edit => Some(true),
                PermissionMode::AcceptEdits | PermissionMode::Default => {
                    self.allowed_actions.contains(action).then_some(true)
                }
            };
            match is_allowed {
                Some(true) => drop(allowed.insert(call.clone())),
                Some(false) => {}
                None => {
                    let request = unique_id("perm_");
                    pending.insert(Key::from(&request), (call.clone(), action.clone()));
                    let (action, call, reason) = (action.clone(), call.clone(), tool.reason.clone());
                    self.print_paced(AgentLine::PermissionRequest { request, action, call, reason }).await?;
                }
            }
        }
        while !pending.is_empty() {
            let DriverCommand::ReplyPermission { key, reply } = self.next_reply().await? else { continue };
            let Some((call, action)) = pending.remove(&key) else { continue };
            let reply = match reply {
                PermissionReply::Once => PermissionDecision::Once,
                PermissionReply::Always => PermissionDecision::Always,
                PermissionReply::Reject => PermissionDecision::Reject,
            };
            if reply != PermissionDecision::Reject {
                allowed.insert(call);
            }
            if reply == PermissionDecision::Always {
                self.allowed_actions.insert(action);
            }
            self.report_sent(HostLine::PermissionReply { request: key.to_string(), reply }).await;
        }
        Ok(allowed)
    }

    async fn ask_questions(&mut self, requests: Vec<Vec<Question>>) -> Result<(), TurnAbort> {
        let mut pending = HashSet::new();
        for questions in requests.into_iter().filter(|questions| !questions.is_empty()) {
            let request = unique_id("ask_");
            self.print_paced(AgentLine::Questions { request: request.clone(), questions }).await?;
            pending.insert(Key::from(request));
        }
        while !pending.is_empty() {
            match self.next_reply().await? {
                DriverCommand::AnswerQuestions { key, answers } if pending.remove(&key) => {
                    self.report_sent(HostLine::Answers { request: key.to_string(), answers }).await;
                }
                DriverCommand::RejectQuestions { key } if pending.remove(&key) => {
                    self.report_sent(HostLine::RejectQuestions { request: key.to_string() }).await;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Waits for the next command. An interrupt or the end of the connection aborts the turn.
    async fn next_command(&mut self) -> Result<DriverCommand, TurnAbort> {
        match self.commands.next().await {
            None => Err(TurnAbort::ConnectionClosed),
            Some(DriverCommand::Interrupt) => Err(TurnAbort::Interrupted),
            Some(command) => Ok(command),
        }
    }

    /// The next command, of which a reply may have arrived already.
    async fn next_reply(&mut self) -> Result<DriverCommand, TurnAbort> {
        match self.early_replies.pop_front() {
            Some(reply) => Ok(reply),
            None => self.next_command().await,
        }
    }

    /// Keeps a command that arrives between two lines if it is a reply. The requests of a step wait for their replies only after
    /// the last one is printed.
    fn keep_reply(&mut self, command: DriverCommand) {
        if let DriverCommand::ReplyPermission { .. }
        | DriverCommand::AnswerQuestions { .. }
        | DriverCommand::RejectQuestions { .. } = command
        {
            self.early_replies.push_back(command);
        }
    }

    /// Waits for a duration, and handles commands meanwhile.
    async fn pause(&mut self, duration: Duration) -> Result<(), TurnAbort> {
        let end = tokio::time::sleep(duration);
        tokio::pin!(end);
        loop {
            tokio::select! {
                biased;
                command = self.next_command() => self.keep_reply(command?),
                () = &mut end => return Ok(()),
            }
        }
    }

    /// Waits between two lines if there is a pace. Handles the commands that have arrived in any case.
    async fn wait_for_pace(&mut self) -> Result<(), TurnAbort> {
        if !self.pace.is_zero() {
            return self.pause(self.pace).await;
        }
        loop {
            tokio::select! {
                biased;
                command = self.next_command() => self.keep_reply(command?),
                () = std::future::ready(()) => return Ok(()),
            }
        }
    }

    /// Prints a line at the pace of the session.
    async fn print_paced(&mut self, line: AgentLine) -> Result<(), TurnAbort> {
        self.wait_for_pace().await?;
        self.print(&line).await;
        Ok(())
    }

    pub(super) async fn print(&self, line: &AgentLine) {
        if let Some(line) = encode(line) {
            self.output.send(Input::Received(line)).await;
        }
    }

    /// Reports a line of the host, as it would be written to a process.
    async fn report_sent(&self, line: HostLine) {
        if let Some(line) = encode(&line) {
            self.output.send(Input::Sent(line)).await;
        }
    }
}

/// Words of the text of `flood`.
const FLOOD_WORDS: [&str; 32] = [
    "agent", "answer", "branch", "buffer", "change", "commit", "compile", "event", "error", "file", "function",
    "index", "line", "message", "module", "number", "output", "parser", "process", "query", "reader", "record",
    "request", "result", "sequence", "server", "session", "stream", "table", "test", "token", "value",
];
/// Size of a delta of `flood`.
const FLOOD_DELTA_BYTES: usize = 4000;

/// Makes the text of `flood`: words in an order that does not repeat, and is the same every time.
#[derive(Default)]
struct FloodText(u64);

impl FloodText {
    /// The deltas of one megabyte.
    fn next_megabyte(&mut self) -> Vec<String> {
        (0..1_000_000 / FLOOD_DELTA_BYTES).map(|_| self.next_delta()).collect()
    }

    fn next_delta(&mut self) -> String {
        let mut delta = String::with_capacity(FLOOD_DELTA_BYTES + 16);
        while delta.len() < FLOOD_DELTA_BYTES {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let word = usize::try_from(self.0 >> 59).ok().and_then(|index| FLOOD_WORDS.get(index));
            delta.push_str(word.copied().unwrap_or_default());
            delta.push(' ');
        }
        delta.truncate(FLOOD_DELTA_BYTES);
        delta
    }
}

/// Encodes a line. Encoding these types does not fail.
fn encode(line: &impl Serialize) -> Option<String> {
    serde_json::to_string(line).ok()
}

fn count_words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}
