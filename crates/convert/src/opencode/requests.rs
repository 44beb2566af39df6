//! Permissions and questions. They carry the session that asks, which may be a sub-agent's, and name the tool call.

use interlingua_native::Json;
use interlingua_native::opencode::{
    EventPermissionAskedProperties, EventPermissionRepliedProperties, EventPermissionRepliedPropertiesReply,
    EventPermissionV2AskedProperties, EventPermissionV2RepliedProperties, EventQuestionAskedProperties,
    EventQuestionRejectedProperties, EventQuestionRepliedProperties, EventQuestionV2AskedProperties,
    EventQuestionV2RejectedProperties, EventQuestionV2RepliedProperties, PermissionV2Reply, QuestionInfo,
};
use interlingua_schema::Answer;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{OpenCodeConverter, STATE_ECHO, incomplete};
use crate::{Ask, Drafts, Scope};

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

impl OpenCodeConverter {
    fn asks(&mut self, session: &str, request: &str, out: &mut Drafts) {
        let known = self.sessions.of(session);
        known.is_there(out);
        known.begun = true;
        known.show_users(None, out);
        self.asked.insert(request.to_owned(), session.to_owned());
    }

    /// Whether a session waits for an answer.
    pub(super) fn is_asking(&self, session: &str) -> bool {
        self.asked.values().any(|asking| asking == session)
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
        }) = properties
        else {
            return incomplete("permission.asked", out);
        };
        self.asks(&session, &request, out);
        let mut about = Map::new();
        add(&mut about, "patterns", patterns.map(Value::from));
        add(&mut about, "always", always.map(Value::from));
        if let Some(tool) = tool {
            if let (Some(call), Some(diff)) = (&tool.call_id, metadata.as_ref().and_then(diff)) {
                self.sessions.of(&session).diffs.insert(call.clone(), diff);
            }
            add(&mut about, "call_id", tool.call_id.map(Value::from));
            add(&mut about, "message_id", tool.message_id.map(Value::from));
        }
        add(&mut about, "details", metadata.map(|metadata| metadata.to_value()));
        let action = permission.unwrap_or_default();
        out.session(&session).permission_asked(request, action, Some(Value::Object(about)));
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
        self.sessions.of(&asked).run.declined |= reply == Reply::Reject;
        let mut session = out.session(session.unwrap_or(&asked));
        match reply {
            Reply::Once => session.permission_approved(request, Scope::Once),
            Reply::Always => session.permission_approved(request, Scope::Always),
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
        self.asks(&session, &request, out);
        let mut about = Map::new();
        add(&mut about, "patterns", resources.map(Value::from));
        add(&mut about, "always", save.map(Value::from));
        if let Some(source) = source {
            add(&mut about, "call_id", source.call_id.map(Value::from));
            add(&mut about, "message_id", source.message_id.map(Value::from));
        }
        add(&mut about, "details", metadata.map(|metadata| metadata.to_value()));
        let action = action.unwrap_or_default();
        out.session(&session).permission_asked(request, action, Some(Value::Object(about)));
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
        self.asks(&session, &request, out);
        self.sessions.of(&session).question_called(&tool, &questions, out);
        let asks = questions.into_iter().map(|question| ask(question, tool.call_id.as_deref())).collect();
        out.session(&session).questions_asked(request, asks);
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
                let options = options.map(|option| (option.label.unwrap_or_default(), option.description)).collect();
                let text = question.question.unwrap_or_default();
                asked(text, question.header, options, question.multiple, question.custom, call.as_deref())
            })
            .collect();
        self.asks(&session, &request, out);
        out.session(&session).questions_asked(request, asks);
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
        let Some(session) = self.asked.remove(request) else {
            return out.dropped(STATE_ECHO);
        };
        let answers = answers
            .into_iter()
            .map(|chosen| if chosen.is_empty() { Answer::Rejected(None) } else { Answer::Answered(chosen.join(", ")) });
        out.session(&session).questions_answered(request, answers.collect());
    }

    pub(super) fn question_refused(&mut self, request: &str, out: &mut Drafts) {
        match self.asked.remove(request) {
            Some(session) => {
                self.sessions.of(&session).run.declined = true;
                out.session(&session).questions_rejected(request, None);
            }
            None => out.dropped(STATE_ECHO),
        }
    }
}

fn ask(question: QuestionInfo, call: Option<&str>) -> Ask {
    let options = question.options.into_iter().flatten();
    let options = options.map(|option| (option.label.unwrap_or_default(), option.description)).collect();
    let text = question.question.unwrap_or_default();
    asked(text, question.header, options, question.multiple, question.custom, call)
}

fn asked(
    prompt: String,
    header: Option<String>,
    options: Vec<(String, Option<String>)>,
    multiple: Option<bool>,
    custom: Option<bool>,
    call: Option<&str>,
) -> Ask {
    let mut about = Map::new();
    add(&mut about, "header", header.map(Value::from));
    add(&mut about, "multi_select", multiple.map(Value::from));
    add(&mut about, "custom", custom.map(Value::from));
    add(&mut about, "call_id", call.map(Value::from));
    let described =
        |(label, description): &(String, Option<String>)| json!({ "label": label, "description": description });
    let described: Vec<Value> = options.iter().map(described).collect();
    add(&mut about, "options", (!described.is_empty()).then(|| described.into()));
    let options = options.into_iter().map(|(label, _)| label).collect();
    Ask { prompt, options, metadata: (!about.is_empty()).then_some(Value::Object(about)) }
}

fn add(map: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        map.insert(key.to_owned(), value);
    }
}

/// The change that a permission is asked for.
fn diff(metadata: &Json) -> Option<String> {
    #[derive(Deserialize)]
    struct WithDiff {
        diff: Option<String>,
    }
    metadata.decode::<WithDiff>().ok()?.diff
}
