//! Permissions and questions: asked once, answered once, and never by silence.

use interlingua_schema::{Answer, Decision, EventData, Origin, Permission, Question};
use serde_json::{Value, json};

use super::messages::hash;
use super::moment::Scene;
use super::scopes::ScopeId;
use super::session::{ItemRef, Session};
use crate::{Ask, Key, Scope};

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

impl Session {
    pub(super) fn permission_asked(
        &mut self,
        scene: &mut Scene<'_>,
        scope: ScopeId,
        origin: Origin,
        key: Key,
        action: String,
        metadata: Option<Value>,
    ) {
        if self.permissions.iter().any(|pending| pending.key == key) {
            return;
        }
        self.before_speech(scene, scope, true);
        let mut permission = Permission::new(self.unused_id(&key, 0), action);
        permission.metadata = metadata;
        self.permissions.push(PendingPermission { key, permission: permission.clone() });
        self.emit(scene, origin, EventData::permission_requested(permission));
    }

    pub(super) fn permission_resolved(
        &mut self,
        scene: &mut Scene<'_>,
        origin: Origin,
        key: &Key,
        decision: Decision,
        scope: Option<Scope>,
    ) {
        let Some(index) = self.permissions.iter().position(|pending| pending.key == *key) else {
            return;
        };
        let mut permission = self.permissions.remove(index).permission;
        if let Some(scope) = scope {
            let scope = match scope {
                Scope::Once => "once",
                Scope::Always => "always",
            };
            match &mut permission.metadata {
                Some(Value::Object(metadata)) => {
                    metadata.insert("scope".to_owned(), scope.into());
                }
                Some(_) => {}
                none => *none = Some(json!({ "scope": scope })),
            }
        }
        self.emit(scene, origin, EventData::permission_resolved(permission, decision));
    }

    pub(super) fn questions_asked(
        &mut self,
        scene: &mut Scene<'_>,
        scope: ScopeId,
        origin: Origin,
        key: &Key,
        questions: Vec<Ask>,
    ) {
        if questions.is_empty() || self.questions.iter().any(|pending| pending.key == *key) {
            return;
        }
        self.before_speech(scene, scope, true);
        let base = self.unused_id(key, questions.len());
        let alone = questions.len() == 1;
        for (index, ask) in questions.into_iter().enumerate() {
            let id = if alone { base.clone() } else { format!("{base}:{index}") };
            let mut question = Question::new(id, ask.prompt, ask.options);
            question.metadata = ask.metadata;
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
        answers: Vec<Answer>,
    ) {
        let all = match answers.as_slice() {
            [Answer::Rejected(why)] => Some(why.clone()),
            _ => None,
        };
        let mut answers = answers.into_iter();
        let (answered, left) = std::mem::take(&mut self.questions).into_iter().partition(|pending| pending.key == *key);
        self.questions = left;
        let answered: Vec<PendingQuestion> = answered;
        for pending in answered {
            let answer = match (&all, answers.next()) {
                (Some(why), _) => Answer::Rejected(why.clone()),
                (None, Some(answer)) => answer,
                (None, None) => Answer::Rejected(None),
            };
            self.emit(scene, origin, EventData::question_resolved(pending.question, answer));
        }
    }

    pub(super) fn withdrawn(&mut self, scene: &mut Scene<'_>, key: &Key) {
        self.permission_resolved(scene, Origin::DAEMON, key, Decision::Denied, None);
        self.questions_resolved(scene, Origin::DAEMON, key, vec![Answer::Rejected(None)]);
    }

    /// Nobody answered in time, which counts as no. To be said before what waited for the answers is closed.
    pub(super) fn refuse_pending(&mut self, scene: &mut Scene<'_>) {
        for pending in std::mem::take(&mut self.permissions) {
            let data = EventData::permission_resolved(pending.permission, Decision::Denied);
            self.emit(scene, Origin::DAEMON, data);
        }
        for pending in std::mem::take(&mut self.questions) {
            let data = EventData::question_resolved(pending.question, Answer::Rejected(None));
            self.emit(scene, Origin::DAEMON, data);
        }
    }

    /// A tool that failed does not wait for an answer any more: what was asked for it is refused, as its end shows.
    pub(super) fn refuse_pending_of(&mut self, scene: &mut Scene<'_>, at: &ItemRef) {
        let Some(call) = self.open_call_id(at) else { return };
        let is_of_call = |metadata: &Option<Value>| {
            metadata.as_ref().and_then(|metadata| metadata.get("call_id")).is_some_and(|id| id == call)
        };
        let permissions = self.permissions.iter().filter(|pending| is_of_call(&pending.permission.metadata));
        let questions = self.questions.iter().filter(|pending| is_of_call(&pending.question.metadata));
        let keys = permissions.map(|pending| &pending.key).chain(questions.map(|pending| &pending.key));
        for key in keys.cloned().collect::<Vec<_>>() {
            self.withdrawn(scene, &key);
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
