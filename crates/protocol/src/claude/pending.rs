//! Pending control requests of the agent, and the answers to them.

use std::collections::{BTreeMap, HashMap};

use interlingua_native::claude::{
    AddRulesPermissionUpdate, ControlElicitationRequest, ControlPermissionRequest, ControlRequest, ControlRequestInner,
    PermissionBehavior, PermissionMode, PermissionRuleValue, PermissionUpdate, PermissionUpdateDestination,
    SetModePermissionUpdate, StdoutMessage,
};
use interlingua_native::new;
use interlingua_native::{Json, Native as _};
use serde::Deserialize;

use super::answer::to_json;
use super::{ControlAnswer, DialogResult, ElicitationResult, HostMessage};
use crate::{REFUSAL_MESSAGE, form};

/// Message of the denial when the user does not answer a question.
const NOT_ANSWERED: &str = "The user does not want to answer.";
/// Error message for unsupported control requests.
const NOT_SUPPORTED: &str = "this host cannot do that";
/// The tool that submits a plan for approval.
const EXIT_PLAN_MODE: &str = "ExitPlanMode";

/// The agent's control requests that wait for a reply, by id.
#[derive(Debug, Default)]
pub struct PendingRequests {
    requests: HashMap<String, PendingRequest>,
    /// The permission mode after an approved plan; `None` for the agent's default.
    mode_after_plan: Option<PermissionMode>,
}

#[derive(Debug)]
enum PendingRequest {
    Tool(Box<ControlPermissionRequest>),
    Elicitation(Box<ControlElicitationRequest>),
    Dialog,
}

/// What a line of the agent means for its control requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// The line is not about control requests.
    Other,
    /// The agent waits for a reply to this request.
    Pending(String),
    /// The agent does not wait for a reply to this request any more.
    Withdrawn(String),
    /// The host does not support the request. Contains the line that refuses it.
    Refused(String),
}

/// The user's reply to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// The tool may run this time.
    Allow,
    /// The tool may run from now on: the narrowest rules that the agent suggests.
    AllowAlways,
    /// The tool may run, and everything that the agent suggests is granted, even a wider permission mode.
    AllowSuggested,
    /// The tool may not run, for this reason.
    Deny(&'a str),
    /// For each question in order, the chosen options or the written text.
    Answers(&'a [Vec<String>]),
    /// The user does not answer.
    Dismiss,
}

impl PendingRequests {
    /// Creates an empty set. The mode is the one after an approved plan; `None` for the agent's default.
    #[must_use]
    pub fn new(mode_after_plan: Option<PermissionMode>) -> Self {
        Self { requests: HashMap::new(), mode_after_plan }
    }

    /// Tracks requests and withdrawals in a line of the agent.
    pub fn receive(&mut self, line: &str) -> Received {
        // Most lines are not about requests and need not be decoded twice.
        if !line.contains(r#""control_"#) {
            return Received::Other;
        }
        match StdoutMessage::decode(line).map(|decoded| decoded.value) {
            Ok(StdoutMessage::ControlRequest(request)) => self.receive_request(request),
            Ok(StdoutMessage::ControlCancelRequest(cancel)) => match cancel.request_id {
                Some(id) if self.requests.remove(&id).is_some() => Received::Withdrawn(id),
                _ => Received::Other,
            },
            _ => Received::Other,
        }
    }

    fn receive_request(&mut self, ControlRequest { request, request_id: id }: ControlRequest) -> Received {
        let request = match request {
            Some(ControlRequestInner::CanUseTool(request)) => PendingRequest::Tool(request),
            Some(ControlRequestInner::Elicitation(request)) => PendingRequest::Elicitation(Box::new(request)),
            Some(ControlRequestInner::RequestUserDialog(_)) => PendingRequest::Dialog,
            _ => return Received::Refused(refuse(id, NOT_SUPPORTED)),
        };
        self.requests.insert(id.clone(), request);
        Received::Pending(id)
    }

    /// The line that answers a request; `None` if the request is not pending.
    pub fn reply(&mut self, id: &str, reply: Reply<'_>) -> Option<String> {
        let request = self.requests.remove(id)?;
        let answer = match request {
            PendingRequest::Tool(tool) => self.reply_to_tool(*tool, reply),
            PendingRequest::Elicitation(form) => ControlAnswer::Elicitation(reply_to_form(&form, reply)),
            PendingRequest::Dialog => ControlAnswer::Dialog(reply_to_dialog(reply)),
        };
        Some(HostMessage::Answer { id: id.to_owned(), answer }.into_line())
    }

    fn reply_to_tool(&self, tool: ControlPermissionRequest, reply: Reply<'_>) -> ControlAnswer {
        match reply {
            Reply::Allow => ControlAnswer::allow(tool.input, None),
            Reply::AllowAlways => {
                let permissions = narrow_permissions(tool.permission_suggestions, tool.tool_name);
                ControlAnswer::allow(tool.input, Some(permissions))
            }
            Reply::AllowSuggested => ControlAnswer::allow(tool.input, tool.permission_suggestions),
            Reply::Deny(reason) => ControlAnswer::deny(reason),
            Reply::Answers(answers) if tool.tool_name.as_deref() == Some(EXIT_PLAN_MODE) => {
                self.reply_to_plan(tool.input, &first_answer(answers).join(", "))
            }
            Reply::Answers(answers) => ControlAnswer::allow(with_answers(tool.input.as_ref(), answers), None),
            Reply::Dismiss => ControlAnswer::deny(NOT_ANSWERED),
        }
    }

    /// Approves a plan, or returns it with the user's comment.
    fn reply_to_plan(&self, input: Option<Json>, answer: &str) -> ControlAnswer {
        match answer.trim().to_ascii_lowercase().as_str() {
            "approve" => {
                let set_mode = |mode: &PermissionMode| {
                    let destination = PermissionUpdateDestination::Session;
                    vec![new!(SetModePermissionUpdate { destination: destination, mode: mode.clone() }).into()]
                };
                ControlAnswer::allow(input, self.mode_after_plan.as_ref().map(set_mode))
            }
            "reject" => ControlAnswer::deny(REFUSAL_MESSAGE),
            _ => ControlAnswer::deny(answer),
        }
    }
}

/// The line that refuses a request of the agent.
#[must_use]
pub fn refuse(id: String, reason: &str) -> String {
    HostMessage::Answer { id, answer: ControlAnswer::Error(reason.to_owned()) }.into_line()
}

fn first_answer(answers: &[Vec<String>]) -> &[String] {
    answers.first().map(Vec::as_slice).unwrap_or_default()
}

/// The permissions to grant from now on: the rules that the agent suggests. A wider permission mode is granted only if
/// the agent suggests nothing narrower.
fn narrow_permissions(suggested: Option<Vec<PermissionUpdate>>, tool_name: Option<String>) -> Vec<PermissionUpdate> {
    let (modes, narrow): (Vec<_>, Vec<_>) =
        suggested.unwrap_or_default().into_iter().partition(|update| matches!(update, PermissionUpdate::SetMode(_)));
    match (narrow.is_empty(), modes.is_empty()) {
        (false, _) => narrow,
        (true, false) => modes,
        (true, true) => {
            let rules = vec![new!(PermissionRuleValue { tool_name: tool_name.unwrap_or_default() })];
            let destination = PermissionUpdateDestination::Session;
            vec![
                new!(AddRulesPermissionUpdate {
                    behavior: PermissionBehavior::Allow,
                    destination: destination,
                    rules: rules
                })
                .into(),
            ]
        }
    }
}

/// The input of a tool that asks questions, with the answers by question text. The rest of the input is unchanged. The
/// vendor's schema does not declare the inputs of tools.
fn with_answers(input: Option<&Json>, answers: &[Vec<String>]) -> Option<Json> {
    #[derive(Default, Deserialize)]
    struct Input {
        #[serde(default)]
        questions: Vec<Question>,
    }
    #[derive(Deserialize)]
    struct Question {
        #[serde(default)]
        question: String,
    }
    let parsed: Input = input.and_then(|input| input.decode().ok()).unwrap_or_default();
    let texts = parsed.questions.into_iter().map(|question| question.question);
    let answers: BTreeMap<String, String> =
        texts.zip(answers).map(|(text, choices)| (text, choices.join(", "))).collect();
    let mut input: BTreeMap<String, Json> = input.and_then(|input| input.decode().ok()).unwrap_or_default();
    input.extend(to_json(&answers).map(|answers| ("answers".to_owned(), answers)));
    to_json(&input)
}

/// Fills in a form. An answer that does not match the form declines it.
fn reply_to_form(form: &ControlElicitationRequest, reply: Reply<'_>) -> ElicitationResult {
    let Reply::Answers(answers) = reply else { return ElicitationResult::Decline };
    let schema = form.requested_schema.as_ref().map(Json::to_value);
    match form::fill_in(schema.as_ref(), first_answer(answers)) {
        Some(content) => ElicitationResult::Accept { content },
        None => ElicitationResult::Decline,
    }
}

fn reply_to_dialog(reply: Reply<'_>) -> DialogResult {
    match reply {
        Reply::Answers(answers) => DialogResult::Completed { result: first_answer(answers).join(", ") },
        _ => DialogResult::Cancelled,
    }
}

#[cfg(test)]
mod tests;
