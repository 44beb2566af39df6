//! Permissions and questions: asked once, answered once, and never by silence.

use interlingua_schema::{
    ApprovalScope, Decision, EventData, Origin, Permission, PermissionMetadata, Question, QuestionAnswer, ToolInput,
    ToolKind,
};

use super::messages::hash;
use super::moment::Scene;
use super::scopes::ScopeId;
use super::session::{ItemRef, Session};
use crate::paths::normalize_input;
use crate::title::{one_line, title};
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
    fn is_about(&self, call_id: &str) -> bool {
        self.permission.metadata.as_ref().is_some_and(|metadata| metadata.call_id.as_deref() == Some(call_id))
    }
}

impl PendingQuestion {
    fn is_about(&self, call_id: &str) -> bool {
        self.question.metadata.as_ref().is_some_and(|metadata| metadata.call_id.as_deref() == Some(call_id))
    }
}

impl Session {
    pub(super) fn permission_requested(
        &mut self,
        scene: &mut Scene<'_>,
        scope: ScopeId,
        origin: Origin,
        key: Key,
        ask: PermissionDraft,
    ) {
        if self.permissions.iter().any(|pending| pending.key == key) {
            return;
        }
        self.before_speech(scene, scope, true);
        let (action, metadata) = self.permission_data(ask);
        let mut permission = Permission::new(self.unused_id(&key, 0), action);
        permission.metadata = Some(Box::new(metadata));
        self.permissions.push(PendingPermission { key, permission: permission.clone() });
        self.emit(scene, origin, EventData::permission_requested(permission));
    }

    /// What is asked, in one line, and what it is about. Where the call that waits is known, both are the call's.
    fn permission_data(&self, ask: PermissionDraft) -> (String, PermissionMetadata) {
        let PermissionDraft { call_id, kind, mut input, title: told, reason, scopes, native } = ask;
        let cwd = self.cwd.as_deref();
        if let Some(input) = &mut input {
            normalize_input(input, cwd);
        }
        let kind = input.as_ref().and_then(ToolInput::kind).or(kind);
        let call = self.find_call(call_id.as_deref(), kind.as_ref(), input.as_ref());
        let about = call.map(|tool| tool.about.clone()).unwrap_or_default();
        let input = about.input.map(|input| *input).or(input);
        let kind = about.kind.or(kind).unwrap_or(ToolKind::Other);
        let scopes = if scopes.is_empty() { vec![ApprovalScope::Once] } else { scopes };
        let mut metadata = PermissionMetadata::new(kind, scopes);
        let known = call.map(|tool| tool.call_id().to_owned());
        metadata.call_id = known.or_else(|| call_id.filter(|id| self.is_known_call(id)));
        let action = match (about.title, told) {
            (Some(title), _) => title,
            (None, Some(told)) => one_line(&told),
            (None, None) => title("Permission", input.as_ref(), cwd),
        };
        metadata.input = input;
        metadata.reason = reason;
        metadata.native = native;
        (action, metadata)
    }

    /// Whether a pending request is about this call.
    pub(super) fn is_asked_for(&self, call_id: &str) -> bool {
        self.permissions.iter().any(|pending| pending.is_about(call_id))
    }

    pub(super) fn permission_resolved(
        &mut self,
        scene: &mut Scene<'_>,
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
        self.emit(scene, origin, EventData::permission_resolved(permission, decision));
    }

    pub(super) fn questions_requested(
        &mut self,
        scene: &mut Scene<'_>,
        scope: ScopeId,
        origin: Origin,
        key: &Key,
        questions: Vec<QuestionDraft>,
    ) {
        if questions.is_empty() || self.questions.iter().any(|pending| pending.key == *key) {
            return;
        }
        self.before_speech(scene, scope, true);
        let base = self.unused_id(key, questions.len());
        let alone = questions.len() == 1;
        for (index, ask) in questions.into_iter().enumerate() {
            let id = if alone { base.clone() } else { format!("{base}:{index}") };
            let (prompt, options, mut metadata) = ask.into_parts();
            metadata.call_id = metadata.call_id.filter(|call_id| self.is_known_call(call_id));
            let mut question = Question::new(id, prompt, options);
            question.metadata = Some(Box::new(metadata));
            self.questions.push(PendingQuestion { key: key.clone(), question: question.clone() });
            self.emit(scene, origin, EventData::question_requested(question));
        }
    }

    /// Answers in order. One refusal is for all of them; a question that gets none is rejected.
    pub(super) fn questions_resolved(
        &mut self,
        scene: &mut Scene<'_>,
        origin: Origin,
        key: &Key,
        answers: Vec<QuestionAnswer>,
    ) {
        let all = match answers.as_slice() {
            [QuestionAnswer::Rejected(why)] => Some(why.clone()),
            _ => None,
        };
        let mut answers = answers.into_iter();
        let (answered, left) = std::mem::take(&mut self.questions).into_iter().partition(|pending| pending.key == *key);
        self.questions = left;
        let answered: Vec<PendingQuestion> = answered;
        for pending in answered {
            let answer = match (&all, answers.next()) {
                (Some(why), _) => QuestionAnswer::Rejected(why.clone()),
                (None, Some(answer)) => answer,
                (None, None) => QuestionAnswer::Rejected(None),
            };
            self.emit(scene, origin, EventData::question_resolved(pending.question, answer));
        }
    }

    pub(super) fn request_withdrawn(&mut self, scene: &mut Scene<'_>, key: &Key) {
        self.permission_resolved(scene, Origin::DAEMON, key, Decision::Denied, None, None);
        self.questions_resolved(scene, Origin::DAEMON, key, vec![QuestionAnswer::Rejected(None)]);
    }

    /// Nobody answered in time, which counts as no. To be said before what waited for the answers is closed.
    pub(super) fn refuse_pending(&mut self, scene: &mut Scene<'_>) {
        for pending in std::mem::take(&mut self.permissions) {
            let data = EventData::permission_resolved(pending.permission, Decision::Denied);
            self.emit(scene, Origin::DAEMON, data);
        }
        for pending in std::mem::take(&mut self.questions) {
            let data = EventData::question_resolved(pending.question, QuestionAnswer::Rejected(None));
            self.emit(scene, Origin::DAEMON, data);
        }
    }

    /// A tool that failed does not wait for an answer any more: what was asked for it is refused, as its end shows.
    pub(super) fn refuse_pending_of(&mut self, scene: &mut Scene<'_>, at: &ItemRef) {
        let Some(call) = self.open_call_id(at) else { return };
        let permissions = self.permissions.iter().filter(|pending| pending.is_about(call));
        let questions = self.questions.iter().filter(|pending| pending.is_about(call));
        let keys = permissions.map(|pending| &pending.key).chain(questions.map(|pending| &pending.key));
        for key in keys.cloned().collect::<Vec<_>>() {
            self.request_withdrawn(scene, &key);
        }
    }

    /// The key of a permission that is pending.
    pub(super) fn permission_key(&self, id: &str) -> Option<&Key> {
        self.permissions.iter().find(|pending| pending.permission.permission_id == id).map(|pending| &pending.key)
    }

    /// The key of a question that is pending, and the ids of all that were asked with it, in order.
    pub(super) fn question_key(&self, id: &str) -> Option<(&Key, Vec<&str>)> {
        let key = &self.questions.iter().find(|pending| pending.question.question_id == id)?.key;
        let together = self.questions.iter().filter(|pending| pending.key == *key);
        Some((key, together.map(|pending| pending.question.question_id.as_str()).collect()))
    }

    /// An id that was not used before: the native one, or that with a number. `several` questions also need theirs.
    fn unused_id(&mut self, key: &Key, several: usize) -> String {
        let mut number = 1_u64;
        loop {
            let base = if number == 1 { key.to_string() } else { format!("{key}#{number}") };
            let ids: Vec<u64> = if several > 1 {
                (0..several).map(|index| hash(format!("{base}:{index}"))).collect()
            } else {
                vec![hash(base.clone())]
            };
            if ids.iter().all(|id| !self.asked.contains(id)) {
                self.asked.extend(ids);
                return base;
            }
            number += 1;
        }
    }
}
