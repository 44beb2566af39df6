//! Permissions and questions. Each is requested once and resolved once; without an answer it is denied or rejected.

use interlingua_schema::{
    ApprovalScope, Decision, EventData, Origin, Permission, PermissionMetadata, Question, QuestionAnswer, ToolInput,
    ToolKind,
};

use super::emitter::EmitContext;
use super::messages::hash;
use super::scopes::ScopeId;
use super::session::{ItemRef, Session};
use crate::paths::normalize_input;
use crate::title::{call_title, one_line};
use crate::{Key, PermissionDraft, QuestionDraft};

#[derive(Debug)]
pub(super) struct PendingPermission {
    key: Key,
    permission: Permission,
}

#[derive(Debug)]
pub(super) struct PendingQuestion {
    key: Key,
    question: Question,
}

impl PendingPermission {
    fn is_for_call(&self, call_id: &str) -> bool {
        self.permission.metadata.as_ref().is_some_and(|metadata| metadata.call_id.as_deref() == Some(call_id))
    }
}

impl PendingQuestion {
    fn is_for_call(&self, call_id: &str) -> bool {
        self.question.metadata.as_ref().is_some_and(|metadata| metadata.call_id.as_deref() == Some(call_id))
    }
}

impl Session {
    pub(super) fn permission_requested(
        &mut self,
        ctx: &mut EmitContext<'_>,
        scope: ScopeId,
        origin: Origin,
        key: Key,
        draft: PermissionDraft,
    ) {
        if self.permissions.iter().any(|pending| pending.key == key) {
            return;
        }
        self.show_prompt_before_output(ctx, scope, true);
        let (action, metadata) = self.permission_data(draft);
        let mut permission = Permission::new(self.allocate_request_id(&key, 0), action);
        permission.metadata = Some(Box::new(metadata));
        self.permissions.push(PendingPermission { key, permission: permission.clone() });
        self.emit(ctx, origin, EventData::permission_requested(permission));
    }

    /// The action in one line, and the metadata. If the call that waits is known, both describe the call.
    fn permission_data(&self, draft: PermissionDraft) -> (String, PermissionMetadata) {
        let PermissionDraft { call_id, kind, mut input, title: given_title, reason, scopes, native } = draft;
        let cwd = self.cwd.as_deref();
        if let Some(input) = &mut input {
            normalize_input(input, cwd);
        }
        let kind = input.as_ref().and_then(ToolInput::kind).or(kind);
        let call = self.find_call(call_id.as_deref(), kind.as_ref(), input.as_ref());
        let call_data = call.map(|tool| tool.call_data.clone()).unwrap_or_default();
        let input = call_data.input.map(|input| *input).or(input);
        let kind = call_data.kind.or(kind).unwrap_or(ToolKind::Other);
        let scopes = if scopes.is_empty() { vec![ApprovalScope::Once] } else { scopes };
        let mut metadata = PermissionMetadata::new(kind, scopes);
        let known_call_id = call.map(|tool| tool.call_id().to_owned());
        metadata.call_id = known_call_id.or_else(|| call_id.filter(|id| self.is_known_call(id)));
        let action = match (call_data.title, given_title) {
            (Some(title), _) => title,
            (None, Some(given_title)) => one_line(&given_title),
            (None, None) => call_title("Permission", input.as_ref(), cwd),
        };
        metadata.input = input;
        metadata.reason = reason;
        metadata.native = native;
        (action, metadata)
    }

    /// Whether a permission is pending for this call.
    pub(super) fn has_pending_permission(&self, call_id: &str) -> bool {
        self.permissions.iter().any(|pending| pending.is_for_call(call_id))
    }

    pub(super) fn permission_resolved(
        &mut self,
        ctx: &mut EmitContext<'_>,
        origin: Origin,
        key: &Key,
        decision: Decision,
        scope: Option<ApprovalScope>,
        by: Option<String>,
    ) {
        let Some(index) = self.permissions.iter().position(|pending| pending.key == *key) else {
            return;
        };
        let mut permission = self.permissions.remove(index).permission;
        if let Some(metadata) = &mut permission.metadata {
            metadata.scope = scope;
            metadata.by = by;
        }
        self.emit(ctx, origin, EventData::permission_resolved(permission, decision));
    }

    pub(super) fn questions_requested(
        &mut self,
        ctx: &mut EmitContext<'_>,
        scope: ScopeId,
        origin: Origin,
        key: &Key,
        questions: Vec<QuestionDraft>,
    ) {
        if questions.is_empty() || self.questions.iter().any(|pending| pending.key == *key) {
            return;
        }
        self.show_prompt_before_output(ctx, scope, true);
        let base = self.allocate_request_id(key, questions.len());
        let is_only_one = questions.len() == 1;
        for (index, question) in questions.into_iter().enumerate() {
            let id = if is_only_one { base.clone() } else { format!("{base}:{index}") };
            let (prompt, options, mut metadata) = question.into_parts();
            metadata.call_id = metadata.call_id.filter(|call_id| self.is_known_call(call_id));
            let mut question = Question::new(id, prompt, options);
            question.metadata = Some(Box::new(metadata));
            self.questions.push(PendingQuestion { key: key.clone(), question: question.clone() });
            self.emit(ctx, origin, EventData::question_requested(question));
        }
    }

    /// Resolves the questions of a request, in order. A single rejection rejects all of them; a question without an
    /// answer is rejected.
    pub(super) fn questions_resolved(
        &mut self,
        ctx: &mut EmitContext<'_>,
        origin: Origin,
        key: &Key,
        answers: Vec<QuestionAnswer>,
    ) {
        let rejects_all = match answers.as_slice() {
            [QuestionAnswer::Rejected(reason)] => Some(reason.clone()),
            _ => None,
        };
        let mut answers = answers.into_iter();
        let (answered, left) = std::mem::take(&mut self.questions).into_iter().partition(|pending| pending.key == *key);
        self.questions = left;
        let answered: Vec<PendingQuestion> = answered;
        for pending in answered {
            let answer = match (&rejects_all, answers.next()) {
                (Some(reason), _) => QuestionAnswer::Rejected(reason.clone()),
                (None, Some(answer)) => answer,
                (None, None) => QuestionAnswer::Rejected(None),
            };
            self.emit(ctx, origin, EventData::question_resolved(pending.question, answer));
        }
    }

    pub(super) fn request_withdrawn(&mut self, ctx: &mut EmitContext<'_>, key: &Key) {
        self.permission_resolved(ctx, Origin::DAEMON, key, Decision::Denied, None, None);
        self.questions_resolved(ctx, Origin::DAEMON, key, vec![QuestionAnswer::Rejected(None)]);
    }

    /// Denies pending permissions and rejects pending questions, because no answer came. Must run before the tool calls
    /// that waited for the answers are closed.
    pub(super) fn deny_pending_requests(&mut self, ctx: &mut EmitContext<'_>) {
        for pending in std::mem::take(&mut self.permissions) {
            let data = EventData::permission_resolved(pending.permission, Decision::Denied);
            self.emit(ctx, Origin::DAEMON, data);
        }
        for pending in std::mem::take(&mut self.questions) {
            let data = EventData::question_resolved(pending.question, QuestionAnswer::Rejected(None));
            self.emit(ctx, Origin::DAEMON, data);
        }
    }

    /// Resolves the pending requests of a tool call that failed: the failure shows that the call no longer waits for
    /// them.
    pub(super) fn deny_requests_for_call(&mut self, ctx: &mut EmitContext<'_>, item_ref: &ItemRef) {
        let Some(call) = self.open_call_id(item_ref) else { return };
        let permissions = self.permissions.iter().filter(|pending| pending.is_for_call(call));
        let questions = self.questions.iter().filter(|pending| pending.is_for_call(call));
        let keys = permissions.map(|pending| &pending.key).chain(questions.map(|pending| &pending.key));
        for key in keys.cloned().collect::<Vec<_>>() {
            self.request_withdrawn(ctx, &key);
        }
    }

    /// Key of a pending permission.
    pub(super) fn permission_key(&self, id: &str) -> Option<&Key> {
        self.permissions.iter().find(|pending| pending.permission.permission_id == id).map(|pending| &pending.key)
    }

    /// Key of a pending question, and the ids of all questions of its request, in order.
    pub(super) fn question_key(&self, id: &str) -> Option<(&Key, Vec<&str>)> {
        let key = &self.questions.iter().find(|pending| pending.question.question_id == id)?.key;
        let same_request = self.questions.iter().filter(|pending| pending.key == *key);
        Some((key, same_request.map(|pending| pending.question.question_id.as_str()).collect()))
    }

    /// An unused id: the key, or the key with a number (`key#2`). A request of several questions also needs unused ids
    /// for its questions (`key:0`).
    fn allocate_request_id(&mut self, key: &Key, questions: usize) -> String {
        let mut number = 1_u64;
        loop {
            let base = if number == 1 { key.to_string() } else { format!("{key}#{number}") };
            let ids: Vec<u64> = if questions > 1 {
                (0..questions).map(|index| hash(format!("{base}:{index}"))).collect()
            } else {
                vec![hash(base.clone())]
            };
            if ids.iter().all(|id| !self.used_request_ids.contains(id)) {
                self.used_request_ids.extend(ids);
                return base;
            }
            number += 1;
        }
    }
}
