//! Permission and question requests. They name the session, which may be a sub-agent's, and the tool call.

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

use super::inputs::permission_input;
use super::kinds::ToolKinds;
use super::{OpenCodeConverter, STATE_ECHO, report_incomplete};
use crate::{Drafts, PermissionDraft, QuestionDraft};

/// Reply to a permission request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Once,
    Always,
    Reject,
}

impl Reply {
    /// Parses a reply. An unknown one is a denial.
    pub(super) fn parse(word: Option<&str>) -> Self {
        match word {
            Some("once") => Self::Once,
            Some("always") => Self::Always,
            _ => Self::Reject,
        }
    }
}

/// A permission or question request without an answer.
#[derive(Debug)]
pub(super) struct PendingRequest {
    session: String,
    /// Scope of the reply `always`.
    always_scope: ApprovalScope,
}

/// Permission request of any generation.
#[derive(Default)]
pub(super) struct PermissionRequest {
    pub(super) id: String,
    pub(super) session: String,
    /// Name of a tool or of a group of tools.
    pub(super) permission: String,
    pub(super) patterns: Vec<String>,
    /// Patterns that the reply `always` would allow.
    pub(super) always: Vec<String>,
    pub(super) call: Option<String>,
    pub(super) message: Option<String>,
    /// Title, up to 1.0.
    pub(super) title: Option<String>,
    pub(super) metadata: Option<Json>,
}

impl PermissionRequest {
    /// Title of a permission whose input is unknown.
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
    fn add_pending_request(&mut self, session: &str, request: &str, always_scope: ApprovalScope, out: &mut Drafts) {
        let state = self.sessions.get_or_insert(session);
        state.confirm_exists(out);
        state.is_started = true;
        state.show_user_messages(None, out);
        self.pending_requests.insert(request.to_owned(), PendingRequest { session: session.to_owned(), always_scope });
    }

    /// Whether a session waits for an answer.
    pub(super) fn has_pending_request(&self, session: &str) -> bool {
        self.pending_requests.values().any(|request| request.session == session)
    }

    /// Drafts a permission request. `always_scope` is the scope of the reply `always`.
    pub(super) fn request_permission(
        &mut self,
        request: PermissionRequest,
        always_scope: ApprovalScope,
        out: &mut Drafts,
    ) {
        self.add_pending_request(&request.session, &request.id, always_scope.clone(), out);
        let kinds = ToolKinds::new(&self.mcp_servers);
        let session = self.sessions.get_or_insert(&request.session);
        if let Some(call) = &request.call {
            if let Some(diff) = request.metadata.as_ref().and_then(requested_diff) {
                session.permission_diffs.insert(call.clone(), diff);
            }
            session.open_call_for_permission(call, request.message.as_deref(), &request.permission, kinds, out);
        }
        let mut scopes = vec![ApprovalScope::Once];
        if !request.always.is_empty() {
            scopes.push(always_scope);
        }
        let pending_kind = request.call.as_deref().and_then(|call| session.pending_kind(call));
        let kind = kinds.pending_kind(&request.permission).or(pending_kind);
        let input = permission_input(&request.permission, &request.patterns, request.metadata.as_ref());
        let permission = PermissionDraft {
            kind,
            title: if input.is_none() { Some(request.title()) } else { None },
            input,
            reason: None,
            scopes,
            native: Some(request.native()),
            call_id: request.call,
        };
        out.session(&request.session).permission_requested(request.id, permission);
    }

    pub(super) fn permission_asked(&mut self, properties: Option<EventPermissionAskedProperties>, out: &mut Drafts) {
        let Some(EventPermissionAskedProperties {
            id: Some(request),
            session_id: Some(session),
            permission,
            patterns,
            always,
            metadata,
            tool,
            ..
        }) = properties
        else {
            return report_incomplete("permission.asked", out);
        };
        let tool = tool.unwrap_or_default();
        let request = PermissionRequest {
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
        // `always` holds for as long as the server runs.
        self.request_permission(request, ApprovalScope::Session, out);
    }

    pub(super) fn permission_replied(
        &mut self,
        properties: Option<EventPermissionRepliedProperties>,
        text: &str,
        out: &mut Drafts,
    ) {
        let Some(EventPermissionRepliedProperties { request_id: Some(request), session_id, reply, .. }) = properties
        else {
            if !self.legacy_permission_replied(text, out) {
                report_incomplete("permission.replied", out);
            }
            return;
        };
        let reply = Reply::parse(reply.as_ref().map(EventPermissionRepliedPropertiesReply::as_str));
        self.permission_answered(session_id.as_deref(), &request, reply, out);
    }

    /// A permission was approved or denied, according to an event or to the reply to the host's request.
    pub(super) fn permission_answered(&mut self, session: Option<&str>, request: &str, reply: Reply, out: &mut Drafts) {
        let Some(pending) = self.pending_requests.remove(request) else {
            return out.dropped(STATE_ECHO);
        };
        self.sessions.get_or_insert(&pending.session).turn.has_declined_request |= reply == Reply::Reject;
        let mut session = out.session(session.unwrap_or(&pending.session));
        match reply {
            Reply::Once => session.permission_approved(request, ApprovalScope::Once),
            Reply::Always => session.permission_approved(request, pending.always_scope),
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
            ..
        }) = properties
        else {
            return report_incomplete("permission.v2.asked", out);
        };
        let source = source.unwrap_or_default();
        let request = PermissionRequest {
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
        // The v2 API stores what is always allowed.
        self.request_permission(request, ApprovalScope::Always, out);
    }

    pub(super) fn permission_v2_replied(
        &mut self,
        properties: Option<EventPermissionV2RepliedProperties>,
        out: &mut Drafts,
    ) {
        let Some(EventPermissionV2RepliedProperties { request_id: Some(request), session_id, reply, .. }) = properties
        else {
            return report_incomplete("permission.v2.replied", out);
        };
        let reply = Reply::parse(reply.as_ref().map(PermissionV2Reply::as_str));
        self.permission_answered(session_id.as_deref(), &request, reply, out);
    }

    pub(super) fn question_asked(&mut self, properties: Option<EventQuestionAskedProperties>, out: &mut Drafts) {
        let Some(EventQuestionAskedProperties {
            id: Some(request), session_id: Some(session), questions, tool, ..
        }) = properties
        else {
            return report_incomplete("question.asked", out);
        };
        let tool = tool.unwrap_or_default();
        let questions = questions.unwrap_or_default();
        self.add_pending_request(&session, &request, ApprovalScope::Once, out);
        if let Some(call) = &tool.call_id {
            self.sessions.get_or_insert(&session).open_call_for_question(
                call,
                tool.message_id.as_deref(),
                &questions,
                out,
            );
        }
        let drafts = questions.into_iter().map(|question| question_draft(question, tool.call_id.as_deref())).collect();
        out.session(&session).questions_requested(request, drafts);
    }

    pub(super) fn question_replied(&mut self, properties: Option<EventQuestionRepliedProperties>, out: &mut Drafts) {
        let Some(EventQuestionRepliedProperties { request_id: Some(request), answers, .. }) = properties else {
            return report_incomplete("question.replied", out);
        };
        self.question_answered(&request, answers.unwrap_or_default(), out);
    }

    pub(super) fn question_rejected(&mut self, properties: Option<EventQuestionRejectedProperties>, out: &mut Drafts) {
        match properties.and_then(|properties| properties.request_id) {
            Some(request) => self.question_dismissed(&request, out),
            None => report_incomplete("question.rejected", out),
        }
    }

    pub(super) fn question_v2_asked(&mut self, properties: Option<EventQuestionV2AskedProperties>, out: &mut Drafts) {
        let Some(EventQuestionV2AskedProperties {
            id: Some(request), session_id: Some(session), questions, tool, ..
        }) = properties
        else {
            return report_incomplete("question.v2.asked", out);
        };
        let call = tool.and_then(|tool| tool.call_id);
        let drafts = questions
            .into_iter()
            .flatten()
            .map(|question| {
                let options = question.options.into_iter().flatten();
                let options = options.map(|option| question_option(option.label, option.description)).collect();
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
        self.add_pending_request(&session, &request, ApprovalScope::Once, out);
        out.session(&session).questions_requested(request, drafts);
    }

    pub(super) fn question_v2_replied(
        &mut self,
        properties: Option<EventQuestionV2RepliedProperties>,
        out: &mut Drafts,
    ) {
        let Some(EventQuestionV2RepliedProperties { request_id: Some(request), answers, .. }) = properties else {
            return report_incomplete("question.v2.replied", out);
        };
        self.question_answered(&request, answers.unwrap_or_default(), out);
    }

    pub(super) fn question_v2_rejected(
        &mut self,
        properties: Option<EventQuestionV2RejectedProperties>,
        out: &mut Drafts,
    ) {
        match properties.and_then(|properties| properties.request_id) {
            Some(request) => self.question_dismissed(&request, out),
            None => report_incomplete("question.v2.rejected", out),
        }
    }

    /// Questions were answered, according to an event or to the reply to the host's request.
    pub(super) fn question_answered(&mut self, request: &str, answers: Vec<Vec<String>>, out: &mut Drafts) {
        let Some(PendingRequest { session, .. }) = self.pending_requests.remove(request) else {
            return out.dropped(STATE_ECHO);
        };
        let answers = answers.into_iter().map(|chosen| {
            if chosen.is_empty() { QuestionAnswer::Rejected(None) } else { QuestionAnswer::Answered(chosen.join(", ")) }
        });
        out.session(&session).questions_answered(request, answers.collect());
    }

    pub(super) fn question_dismissed(&mut self, request: &str, out: &mut Drafts) {
        match self.pending_requests.remove(request) {
            Some(PendingRequest { session, .. }) => {
                self.sessions.get_or_insert(&session).turn.has_declined_request = true;
                out.session(&session).questions_rejected(request, None);
            }
            None => out.dropped(STATE_ECHO),
        }
    }
}

/// Draft of a question. It allows free text unless `custom` is false.
fn question_draft(question: QuestionInfo, call: Option<&str>) -> QuestionDraft {
    let options = question.options.into_iter().flatten();
    QuestionDraft {
        prompt: question.question.unwrap_or_default(),
        options: options.map(|option| question_option(option.label, option.description)).collect(),
        header: question.header,
        multi_select: question.multiple == Some(true),
        free_text: question.custom != Some(false),
        call_id: call.map(str::to_owned),
        ..QuestionDraft::default()
    }
}

fn question_option(label: Option<String>, description: Option<String>) -> QuestionOption {
    QuestionOption::new(label.unwrap_or_default()).description(description)
}

/// Diff in the metadata of a permission request.
fn requested_diff(metadata: &Json) -> Option<String> {
    #[derive(Deserialize)]
    struct WithDiff {
        diff: Option<String>,
    }
    metadata.decode::<WithDiff>().ok()?.diff
}
