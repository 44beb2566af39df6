//! From a request to what is answered.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::conversation::Conversation;
use crate::dialect::Dialect;
use crate::progress::Progress;
use crate::reply::{self, Break, Input, Part, ToolUse, Wait, spoken};
use crate::role::{Call, Mapped, Mapper};
use crate::route::{Label, Place, Unawaited, place};
use crate::scenario::{Scenario, Step, StreamedText};
use crate::side;

/// What is done about a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Decision {
    /// It is answered.
    Answer {
        /// What is unique about the answer.
        id: String,
        /// What it says.
        parts: Vec<Part>,
        /// What is over with it.
        ends: Option<End>,
    },
    /// It is refused.
    Refuse { status: u16, message: String, retry_after: Option<u64> },
}

/// Something that is over, for what waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The turn of a session.
    Turn(String),
    /// What a sub-agent does.
    SubAgent(String),
}

/// The tool with which Codex waits for a sub-agent.
pub(crate) const WAIT: &str = "wait_agent";

/// How long Codex may take to say that a sub-agent is done.
const AFTERWARDS: Duration = Duration::from_millis(300);

/// Plays a scenario.
pub(crate) struct Player<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) workspace: &'a Path,
    pub(crate) dialect: Dialect,
}

impl Player<'_> {
    /// What is answered in this conversation.
    pub(crate) fn decide(&self, conversation: &Conversation, progress: &mut Progress) -> Decision {
        let found = place(self.scenario, conversation);
        let last = conversation.last_user_text();
        let known = found.is_some_and(|place| last.contains(place.script.message));
        if let Some(text) = side::answer(conversation, known) {
            return words("side", text);
        }
        let Some(place) = found else {
            let known: Vec<&str> = self.scenario.turns.iter().map(|turn| turn.prompt.as_str()).collect();
            progress.problem(format!(
                "the scenario {:?} knows no message like {:?}; it knows {known:?}",
                self.scenario.name,
                shortened(last)
            ));
            return words("unknown", &format!("The scripted model only knows these messages: {}", known.join(" | ")));
        };
        progress.hear(&place, conversation);
        if let Some(unawaited) = place.unawaited(self.scenario, conversation) {
            return self.wait(conversation, unawaited);
        }
        let label = place.script.label;
        let Some(reply) = progress.next(&conversation.session, &place) else {
            let given = place.script.replies.len();
            progress.problem(format!("{label} was asked for more than its {given} replies"));
            return words(&format!("{label}_more"), "The scenario has no further reply.");
        };
        match self.parts(conversation, &place, reply) {
            Ok(decision) => decision,
            Err(reason) => {
                progress.problem(format!("reply {} of {label}: {reason}", reply + 1));
                Decision::Refuse { status: 400, message: reason, retry_after: None }
            }
        }
    }

    fn parts(&self, conversation: &Conversation, place: &Place<'_>, number: usize) -> Result<Decision, String> {
        let tools_for = Mapper { scenario: self.scenario, conversation, workspace: self.workspace };
        let mut parts = Vec::new();
        let mut calls = 0;
        for step in &place.script.replies[number] {
            let part = match step {
                Step::HttpError { status, message, retry_after, .. } => {
                    let (status, message) = (*status, message.clone());
                    return Ok(Decision::Refuse { status, message, retry_after: *retry_after });
                }
                Step::Text(speech) => Part::Say(spoken(speech)),
                Step::Reasoning(speech) => Part::Think(spoken(speech)),
                Step::StreamError { message } => Part::Break(Break::Fail(message.clone())),
                Step::Disconnect => Part::Break(Break::Cut),
                Step::Stall(None) => Part::Break(Break::Hang),
                Step::Stall(Some(time)) => Part::Wait(Wait::Pause(*time)),
                Step::WaitForTurn(session) => Part::Wait(Wait::Until(session.clone())),
                Step::Stop(reason) => Part::Stop(*reason),
                Step::ToolCall(role) => match tools_for.map(role).map_err(|error| error.to_string())? {
                    Mapped::Words(text) => Part::Say(spoken(&StreamedText::word_by_word(&text))),
                    Mapped::Calls(tools) => {
                        for call in tools {
                            parts.push(self.call(&place.call_id(number, calls), call));
                            calls += 1;
                        }
                        continue;
                    }
                    Mapped::First(search) => {
                        let id = place.search_id(number);
                        if place.was_called(conversation, &id) {
                            return Err(format!("the agent still offers no tool for {role:?}"));
                        }
                        let parts = vec![self.call(&id, search)];
                        return Ok(Decision::Answer { id, parts, ends: None });
                    }
                },
            };
            reply::add(&mut parts, part);
        }
        let end = match place.script.label {
            Label::Turn(_) => End::Turn(place.script.session.to_owned()),
            Label::SubAgent(_) => End::SubAgent(place.script.label.to_string()),
        };
        let ends = (calls == 0).then_some(end);
        Ok(Decision::Answer { id: format!("{}_{number}", place.script.label), parts, ends })
    }

    /// Waits for a sub-agent.
    fn wait(&self, conversation: &Conversation, unawaited: Unawaited<'_>) -> Decision {
        let Unawaited { wait: id, child, spawned } = unawaited;
        let answer: Value = serde_json::from_str(spawned).unwrap_or_default();
        let target = ["agent_id", "task_name"].iter().find_map(|key| answer[*key].as_str()).unwrap_or(spawned);
        let input = json!({"targets": [target], "timeout_ms": 30_000}).to_string();
        let tool = conversation.tools.iter().find(|tool| tool.name == WAIT);
        let namespace = tool.and_then(|tool| tool.namespace.clone());
        let call = Call { name: WAIT.to_owned(), namespace, input: Input::Json(input) };
        // Codex also tells the model by itself that a sub-agent is done. If that came after the wait, it would ask
        // the model once more, or not, as it happens.
        let parts = vec![Part::Wait(Wait::Until(child)), Part::Wait(Wait::Pause(AFTERWARDS)), self.call(&id, call)];
        Decision::Answer { id, parts, ends: None }
    }

    fn call(&self, id: &str, call: Call) -> Part {
        let Call { name, namespace, input } = call;
        Part::Call(ToolUse { id: format!("{}{id}", self.dialect.call_prefix()), name, namespace, input })
    }
}

fn words(id: &str, text: &str) -> Decision {
    Decision::Answer {
        id: id.to_owned(),
        parts: vec![Part::Say(spoken(&StreamedText::word_by_word(text)))],
        ends: None,
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}
