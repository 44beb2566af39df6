//! Permissions and questions. They carry the session that asks, which may be a sub-agent's, and name the tool call.

use interlingua_native::Json;
use interlingua_native::opencode::{
    EventPermissionAskedProperties, EventPermissionRepliedProperties, EventPermissionRepliedPropertiesReply,
    EventPermissionV2AskedProperties, EventPermissionV2RepliedProperties, EventQuestionAskedProperties,
    EventQuestionRejectedProperties, EventQuestionRepliedProperties, EventQuestionV2AskedProperties,
    EventQuestionV2RejectedProperties, EventQuestionV2RepliedProperties, PermissionV2Reply, QuestionInfo,
};
use interlingua_schema::{ApprovalScope, QuestionAnswer, QuestionOption};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::inputs::asked_input;
use super::kinds::Kinds;
use super::{OpenCodeConverter, STATE_ECHO, incomplete};
use crate::{Drafts, PermissionDraft, QuestionDraft};

/// What a host or the agent answers to a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Once,
    Always,
    Reject,
}

impl Reply {
    /// An answer that is not known gives no permission.
    pub(super) fn of(word: Option<&str>) -> Self {
        match word {
            Some("once") => Self::Once,
            Some("always") => Self::Always,
            _ => Self::Reject,
        }
    }
}

/// A permission or questions that are not answered.
#[derive(Debug)]
pub(super) struct Asked {
    session: String,
    /// What the answer `always` means.
    always: ApprovalScope,
}

/// A permission as any of the generations ask for it.
#[derive(Default)]
pub(super) struct Request {
    pub(super) id: String,
    pub(super) session: String,
    /// What it is for: the name of a tool, or of a group of tools.
    pub(super) permission: String,
    pub(super) patterns: Vec<String>,
    /// What would be allowed from now on.
    pub(super) always: Vec<String>,
    pub(super) call: Option<String>,
    pub(super) message: Option<String>,
    /// In words, up to 1.0.
    pub(super) title: Option<String>,
    pub(super) metadata: Option<Json>,
}

impl Request {
    /// One line for a person, where neither the call nor the request tells more.
    fn title(&self) -> String {
        let patterns = self.patterns.join("; ");
        match (&self.title, self.permission.as_str()) {
            (Some(title), _) => title.clone(),
            (None, permission) if patterns.is_empty() || patterns == "*" => permission.to_owned(),
            (None, "bash" | "shell") => format!("Run {patterns}"),
            (None, "external_directory") => format!("Access {patterns}"),
            (None, permission) => format!("{permission} {patterns}"),
        }
    }

    fn native(&self) -> Value {
        let mut native = Map::new();
        native.insert("permission".to_owned(), self.permission.as_str().into());
        for (name, list) in [("patterns", &self.patterns), ("always", &self.always)] {
            if !list.is_empty() {
                native.insert(name.to_owned(), list.clone().into());
            }
        }
        if let Some(message) = &self.message {
            native.insert("message_id".to_owned(), message.as_str().into());
        }
        if let Some(metadata) = &self.metadata {
            native.insert("metadata".to_owned(), metadata.to_value());
        }
        Value::Object(native)
    }
}

impl OpenCodeConverter {
    fn asks(&mut self, session: &str, request: &str, always: ApprovalScope, out: &mut Drafts) {
        let known = self.sessions.of(session);
        known.is_there(out);
        known.begun = true;
        known.show_users(None, out);
        self.asked.insert(request.to_owned(), Asked { session: session.to_owned(), always });
    }

    /// Whether a session waits for an answer.
    pub(super) fn is_asking(&self, session: &str) -> bool {
        self.asked.values().any(|asked| asked.session == session)
    }

    /// A permission is asked for. `always`: what an approval with that word means.
    pub(super) fn permission_needed(&mut self, request: Request, always: ApprovalScope, out: &mut Drafts) {
        self.asks(&request.session, &request.id, always.clone(), out);
        let kinds = Kinds::new(&self.mcp);
        let session = self.sessions.of(&request.session);
        if let Some(call) = &request.call {
            if let Some(diff) = request.metadata.as_ref().and_then(diff) {
                session.diffs.insert(call.clone(), diff);
            }
            session.permission_called(call, request.message.as_deref(), &request.permission, kinds, out);
        }
        let mut scopes = vec![ApprovalScope::Once];
        if !request.always.is_empty() {
            scopes.push(always);
        }
        let known = request.call.as_deref().and_then(|call| session.pending_kind(call));
        let kind = kinds.while_pending(&request.permission).or(known);
        let input = asked_input(&request.permission, &request.patterns, request.metadata.as_ref());
        let ask = PermissionDraft {
            kind,
            title: if input.is_none() { Some(request.title()) } else { None },
            input,
            reason: None,
            scopes,
            native: Some(request.native()),
            call_id: request.call,
        };
        out.session(&request.session).permission_requested(request.id, ask);
    }

    pub(super) fn permission_requested(
        &mut self,
        properties: Option<EventPermissionAskedProperties>,
        out: &mut Drafts,
    ) {
        let Some(EventPermissionAskedProperties {
            id: Some(request),
            session_id: Some(session),
            permission,
            patterns,
            always,
            metadata,
            tool,
        }) = properties
        else {
            return incomplete("permission.asked", out);
        };
        let tool = tool.unwrap_or_default();
        let request = Request {
            id: request,
            session,
            permission: permission.unwrap_or_default(),
            patterns: patterns.unwrap_or_default(),
            always: always.unwrap_or_default(),
            call: tool.call_id,
            message: tool.message_id,
            title: None,
            metadata,
        };
        // What is always allowed is so while the server runs.
        self.permission_needed(request, ApprovalScope::Session, out);
    }

    pub(super) fn permission_replied(
        &mut self,
        properties: Option<EventPermissionRepliedProperties>,
        text: &str,
        out: &mut Drafts,
    ) {
        let Some(EventPermissionRepliedProperties { request_id: Some(request), session_id, reply }) = properties else {
            if !self.old_permission_replied(text, out) {
                incomplete("permission.replied", out);
            }
            return;
        };
        let reply = Reply::of(reply.as_ref().map(EventPermissionRepliedPropertiesReply::as_str));
        self.permission_answered(session_id.as_deref(), &request, reply, out);
    }

    /// A permission is given or refused, as the agent or its answer to the host says.
    pub(super) fn permission_answered(&mut self, session: Option<&str>, request: &str, reply: Reply, out: &mut Drafts) {
        let Some(asked) = self.asked.remove(request) else {
            return out.dropped(STATE_ECHO);
        };
        self.sessions.of(&asked.session).run.declined |= reply == Reply::Reject;
        let mut session = out.session(session.unwrap_or(&asked.session));
        match reply {
            Reply::Once => session.permission_approved(request, ApprovalScope::Once),
            Reply::Always => session.permission_approved(request, asked.always),
            Reply::Reject => session.permission_denied(request),
        }
    }

    pub(super) fn permission_v2_asked(
        &mut self,
        properties: Option<EventPermissionV2AskedProperties>,
        out: &mut Drafts,
    ) {
        let Some(EventPermissionV2AskedProperties {
            id: Some(request),
            session_id: Some(session),
            action,
            resources,
            save,
            metadata,
            source,
        }) = properties
        else {
            return incomplete("permission.v2.asked", out);
        };
        let source = source.unwrap_or_default();
        let request = Request {
            id: request,
            session,
            permission: action.unwrap_or_default(),
            patterns: resources.unwrap_or_default(),
            always: save.unwrap_or_default(),
            call: source.call_id,
            message: source.message_id,
            title: None,
            metadata,
        };
        // The v2 API keeps a list of what is always allowed.
        self.permission_needed(request, ApprovalScope::Always, out);
    }

    pub(super) fn permission_v2_replied(
        &mut self,
        properties: Option<EventPermissionV2RepliedProperties>,
        out: &mut Drafts,
    ) {
        let Some(EventPermissionV2RepliedProperties { request_id: Some(request), session_id, reply }) = properties
        else {
            return incomplete("permission.v2.replied", out);
        };
        let reply = Reply::of(reply.as_ref().map(PermissionV2Reply::as_str));
        self.permission_answered(session_id.as_deref(), &request, reply, out);
    }

    pub(super) fn question_asked(&mut self, properties: Option<EventQuestionAskedProperties>, out: &mut Drafts) {
        let Some(EventQuestionAskedProperties { id: Some(request), session_id: Some(session), questions, tool }) =
            properties
        else {
            return incomplete("question.asked", out);
        };
        let tool = tool.unwrap_or_default();
        let questions = questions.unwrap_or_default();
        self.asks(&session, &request, ApprovalScope::Once, out);
        if let Some(call) = &tool.call_id {
            self.sessions.of(&session).question_called(call, tool.message_id.as_deref(), &questions, out);
        }
        let asks = questions.into_iter().map(|question| ask(question, tool.call_id.as_deref())).collect();
        out.session(&session).questions_requested(request, asks);
    }

    pub(super) fn question_replied(&mut self, properties: Option<EventQuestionRepliedProperties>, out: &mut Drafts) {
        let Some(EventQuestionRepliedProperties { request_id: Some(request), answers, .. }) = properties else {
            return incomplete("question.replied", out);
        };
        self.question_answered(&request, answers.unwrap_or_default(), out);
    }

    pub(super) fn question_rejected(&mut self, properties: Option<EventQuestionRejectedProperties>, out: &mut Drafts) {
        match properties.and_then(|properties| properties.request_id) {
            Some(request) => self.question_refused(&request, out),
            None => incomplete("question.rejected", out),
        }
    }

    pub(super) fn question_v2_asked(&mut self, properties: Option<EventQuestionV2AskedProperties>, out: &mut Drafts) {
        let Some(EventQuestionV2AskedProperties { id: Some(request), session_id: Some(session), questions, tool }) =
            properties
        else {
            return incomplete("question.v2.asked", out);
        };
        let call = tool.and_then(|tool| tool.call_id);
        let asks = questions
            .into_iter()
            .flatten()
            .map(|question| {
                let options = question.options.into_iter().flatten();
                let options = options.map(|option| choice(option.label, option.description)).collect();
                QuestionDraft {
                    prompt: question.question.unwrap_or_default(),
                    options,
                    header: question.header,
                    multi_select: question.multiple == Some(true),
                    free_text: question.custom != Some(false),
                    call_id: call.clone(),
                    ..QuestionDraft::default()
                }
            })
            .collect();
        self.asks(&session, &request, ApprovalScope::Once, out);
        out.session(&session).questions_requested(request, asks);
    }

    pub(super) fn question_v2_replied(
        &mut self,
        properties: Option<EventQuestionV2RepliedProperties>,
        out: &mut Drafts,
    ) {
        let Some(EventQuestionV2RepliedProperties { request_id: Some(request), answers, .. }) = properties else {
            return incomplete("question.v2.replied", out);
        };
        self.question_answered(&request, answers.unwrap_or_default(), out);
    }

    pub(super) fn question_v2_rejected(
        &mut self,
        properties: Option<EventQuestionV2RejectedProperties>,
        out: &mut Drafts,
    ) {
        match properties.and_then(|properties| properties.request_id) {
            Some(request) => self.question_refused(&request, out),
            None => incomplete("question.v2.rejected", out),
        }
    }

    /// Questions are answered, as the agent or its answer to the host says.
    pub(super) fn question_answered(&mut self, request: &str, answers: Vec<Vec<String>>, out: &mut Drafts) {
        let Some(Asked { session, .. }) = self.asked.remove(request) else {
            return out.dropped(STATE_ECHO);
        };
        let answers = answers.into_iter().map(|chosen| {
            if chosen.is_empty() { QuestionAnswer::Rejected(None) } else { QuestionAnswer::Answered(chosen.join(", ")) }
        });
        out.session(&session).questions_answered(request, answers.collect());
    }

    pub(super) fn question_refused(&mut self, request: &str, out: &mut Drafts) {
        match self.asked.remove(request) {
            Some(Asked { session, .. }) => {
                self.sessions.of(&session).run.declined = true;
                out.session(&session).questions_rejected(request, None);
            }
            None => out.dropped(STATE_ECHO),
        }
    }
}

/// A question. The answer may be something else than an option, unless it says otherwise.
fn ask(question: QuestionInfo, call: Option<&str>) -> QuestionDraft {
    let options = question.options.into_iter().flatten();
    QuestionDraft {
        prompt: question.question.unwrap_or_default(),
        options: options.map(|option| choice(option.label, option.description)).collect(),
        header: question.header,
        multi_select: question.multiple == Some(true),
        free_text: question.custom != Some(false),
        call_id: call.map(str::to_owned),
        ..QuestionDraft::default()
    }
}

fn choice(label: Option<String>, description: Option<String>) -> QuestionOption {
    QuestionOption::new(label.unwrap_or_default()).description(description)
}

/// The change that a permission is asked for.
fn diff(metadata: &Json) -> Option<String> {
    #[derive(Deserialize)]
    struct WithDiff {
        diff: Option<String>,
    }
    metadata.decode::<WithDiff>().ok()?.diff
}
