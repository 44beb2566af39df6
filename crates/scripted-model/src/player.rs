//! Decides what the model answers to a request.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::conversation::Conversation;
use crate::model_api::ModelApi;
use crate::position::{Label, Position, UnawaitedSubAgent, find_position};
use crate::progress::Progress;
use crate::reply::{Failure, Part, ToolCall, ToolInput, Wait, push_part, to_pieces};
use crate::scenario::{Scenario, Step, StreamedText};
use crate::side_request;
use crate::tool_mapper::{ToolInvocation, ToolMapper, ToolMapping};

/// The model's answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Decision {
    /// A reply.
    Reply {
        /// Unique suffix of the ids in the response.
        id: String,
        /// Content.
        parts: Vec<Part>,
        /// What has ended once the reply has been sent.
        ends: Option<Ended>,
    },
    /// An HTTP error.
    Error { status: u16, message: String, retry_after: Option<u64> },
}

/// Something that has ended. Other replies may wait for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The turn of a session.
    Turn(String),
    /// The work of a sub-agent.
    SubAgent(String),
}

/// The tool with which Codex waits for a sub-agent.
pub(crate) const WAIT_TOOL: &str = "wait_agent";

/// How long Codex may take to tell the model that a sub-agent is done.
const SUB_AGENT_NOTICE_DELAY: Duration = Duration::from_millis(300);

/// Maximum number of characters of a message in a problem.
const MAX_SHOWN_CHARS: usize = 80;

/// Plays a scenario.
pub(crate) struct Player<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) workspace: &'a Path,
    pub(crate) api: ModelApi,
}

impl Player<'_> {
    /// Decides what the model answers in this conversation.
    pub(crate) fn decide(&self, conversation: &Conversation, progress: &mut Progress) -> Decision {
        let found = find_position(self.scenario, conversation);
        let last = conversation.last_user_text();
        let is_known = found.is_some_and(|position| last.contains(position.script.message));
        if let Some(text) = side_request::answer(conversation, is_known) {
            return text_reply("side", text);
        }
        let Some(position) = found else {
            let known: Vec<&str> = self.scenario.turns.iter().map(|turn| turn.prompt.as_str()).collect();
            let shown: String = last.chars().take(MAX_SHOWN_CHARS).collect();
            progress.add_problem(format!(
                "the scenario {:?} has no message like {shown:?}; its messages are {known:?}",
                self.scenario.name,
            ));
            let text = format!("The scripted model only knows these messages: {}", known.join(" | "));
            return text_reply("unknown", &text);
        };
        progress.observe_request(&position, conversation);
        if let Some(unawaited) = position.find_unawaited(self.scenario, conversation) {
            return self.wait_for_sub_agent(conversation, unawaited);
        }
        let label = position.script.label;
        let Some(reply) = progress.next_reply(&conversation.session, &position) else {
            let count = position.script.replies.len();
            progress.add_problem(format!("{label} got more requests than its {count} replies"));
            return text_reply(&format!("{label}_more"), "The scenario has no further reply.");
        };
        match self.build_reply(conversation, &position, reply) {
            Ok(decision) => decision,
            Err(reason) => {
                progress.add_problem(format!("reply {} of {label}: {reason}", reply + 1));
                Decision::Error { status: 400, message: reason, retry_after: None }
            }
        }
    }

    fn build_reply(
        &self,
        conversation: &Conversation,
        position: &Position<'_>,
        number: usize,
    ) -> Result<Decision, String> {
        let mapper = ToolMapper { scenario: self.scenario, conversation, workspace: self.workspace };
        let mut parts = Vec::new();
        let mut calls = 0;
        for step in &position.script.replies[number] {
            let part = match step {
                Step::HttpError { status, message, retry_after, .. } => {
                    let (status, message) = (*status, message.clone());
                    return Ok(Decision::Error { status, message, retry_after: *retry_after });
                }
                Step::Text(text) => Part::Text(to_pieces(text)),
                Step::Reasoning(text) => Part::Reasoning(to_pieces(text)),
                Step::StreamError { message } => Part::Failure(Failure::Error(message.clone())),
                Step::Disconnect => Part::Failure(Failure::Disconnect),
                Step::Stall(None) => Part::Failure(Failure::Stall),
                Step::Stall(Some(time)) => Part::Wait(Wait::Pause(*time)),
                Step::WaitForTurn(session) => Part::Wait(Wait::ForTurn(session.clone())),
                Step::Stop(reason) => Part::Stop(*reason),
                Step::ToolCall(action) => match mapper.map(action).map_err(|error| error.to_string())? {
                    ToolMapping::Text(text) => Part::Text(to_pieces(&StreamedText::word_by_word(&text))),
                    ToolMapping::Calls(invocations) => {
                        for invocation in invocations {
                            parts.push(self.tool_call(&position.call_id(number, calls), invocation));
                            calls += 1;
                        }
                        continue;
                    }
                    ToolMapping::SearchFirst(search) => {
                        let id = position.search_id(number);
                        if position.has_call(conversation, &id) {
                            return Err(format!("the agent still offers no tool for {action:?}"));
                        }
                        let parts = vec![self.tool_call(&id, search)];
                        return Ok(Decision::Reply { id, parts, ends: None });
                    }
                },
            };
            push_part(&mut parts, part);
        }
        let ended = match position.script.label {
            Label::Turn(_) => Ended::Turn(position.script.session.to_owned()),
            Label::SubAgent(_) => Ended::SubAgent(position.script.label.to_string()),
        };
        let ends = (calls == 0).then_some(ended);
        Ok(Decision::Reply { id: format!("{}_{number}", position.script.label), parts, ends })
    }

    /// Calls the tool that waits for a sub-agent.
    fn wait_for_sub_agent(&self, conversation: &Conversation, unawaited: UnawaitedSubAgent<'_>) -> Decision {
        let UnawaitedSubAgent { wait_id, label, spawn_result } = unawaited;
        let result: Value = serde_json::from_str(spawn_result).unwrap_or_default();
        let target = ["agent_id", "task_name"].iter().find_map(|key| result[*key].as_str()).unwrap_or(spawn_result);
        let input = json!({"targets": [target], "timeout_ms": 30_000}).to_string();
        let tool = conversation.tools.iter().find(|tool| tool.name == WAIT_TOOL);
        let namespace = tool.and_then(|tool| tool.namespace.clone());
        let invocation = ToolInvocation { name: WAIT_TOOL.to_owned(), namespace, input: ToolInput::Json(input) };
        // Codex also sends the model a notice that a sub-agent is done. If the notice came after the wait call, Codex
        // might or might not make another request, depending on timing.
        let parts = vec![
            Part::Wait(Wait::ForTurn(label)),
            Part::Wait(Wait::Pause(SUB_AGENT_NOTICE_DELAY)),
            self.tool_call(&wait_id, invocation),
        ];
        Decision::Reply { id: wait_id, parts, ends: None }
    }

    fn tool_call(&self, id: &str, invocation: ToolInvocation) -> Part {
        let ToolInvocation { name, namespace, input } = invocation;
        Part::ToolCall(ToolCall { id: format!("{}{id}", self.api.call_id_prefix()), name, namespace, input })
    }
}

fn text_reply(id: &str, text: &str) -> Decision {
    let parts = vec![Part::Text(to_pieces(&StreamedText::word_by_word(text)))];
    Decision::Reply { id: id.to_owned(), parts, ends: None }
}
