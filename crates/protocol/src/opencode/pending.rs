//! Permission requests and questions that wait for an answer.

use std::collections::BTreeSet;

use interlingua_native::opencode::Event;

/// A request of the agent, by id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PendingRequest {
    /// A permission request.
    Permission(String),
    /// A request with one or more questions.
    Question(String),
}

impl PendingRequest {
    /// The request in an event that asks for something; `None` for any other event.
    #[must_use]
    pub fn from_event(event: &Event) -> Option<Self> {
        match event {
            Event::PermissionAsked(event) => event.properties.as_ref()?.id.clone().map(Self::Permission),
            Event::QuestionAsked(event) => event.properties.as_ref()?.id.clone().map(Self::Question),
            _ => None,
        }
    }

    /// The request that an event resolves; `None` for any other event.
    fn resolved_by(event: &Event) -> Option<Self> {
        match event {
            Event::PermissionReplied(event) => event.properties.as_ref()?.request_id.clone().map(Self::Permission),
            Event::QuestionReplied(event) => event.properties.as_ref()?.request_id.clone().map(Self::Question),
            Event::QuestionRejected(event) => event.properties.as_ref()?.request_id.clone().map(Self::Question),
            _ => None,
        }
    }
}

/// Permission requests and questions that are not resolved yet.
///
/// OpenCode does not withdraw them when a session is aborted, so the host rejects them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PendingRequests(BTreeSet<PendingRequest>);

impl PendingRequests {
    /// Whether events of this type make or resolve requests. Other events need not be [observed](Self::observe).
    #[must_use]
    pub fn is_about_requests(event_type: &str) -> bool {
        event_type.starts_with("permission.") || event_type.starts_with("question.")
    }

    /// Adds the request that an event makes, or removes the one that it resolves.
    pub fn observe(&mut self, event: &Event) {
        if let Some(request) = PendingRequest::from_event(event) {
            self.0.insert(request);
        } else if let Some(request) = PendingRequest::resolved_by(event) {
            self.0.remove(&request);
        }
    }

    /// Takes all pending requests.
    #[must_use]
    pub fn take(&mut self) -> BTreeSet<PendingRequest> {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use interlingua_native::{Native as _, Union as _};

    use super::*;

    fn observe(pending: &mut PendingRequests, kind: &str, properties: &str) {
        let event = Event::decode(&format!(r#"{{"type":"{kind}","properties":{properties}}}"#)).unwrap().value;
        assert!(PendingRequests::is_about_requests(kind));
        pending.observe(&event);
    }

    #[test]
    fn a_resolved_request_is_not_pending() {
        let mut pending = PendingRequests::default();
        observe(&mut pending, "permission.asked", r#"{"id":"per_1","permission":"bash"}"#);
        observe(&mut pending, "permission.asked", r#"{"id":"per_2","permission":"edit"}"#);
        observe(&mut pending, "question.asked", r#"{"id":"que_1","questions":[]}"#);
        observe(&mut pending, "question.asked", r#"{"id":"que_2","questions":[]}"#);
        observe(&mut pending, "question.asked", r#"{"id":"que_3","questions":[]}"#);
        observe(&mut pending, "permission.replied", r#"{"requestID":"per_1","reply":"once"}"#);
        observe(&mut pending, "question.replied", r#"{"requestID":"que_1","answers":[]}"#);
        observe(&mut pending, "question.rejected", r#"{"requestID":"que_3"}"#);
        let open = [PendingRequest::Permission("per_2".to_owned()), PendingRequest::Question("que_2".to_owned())];
        assert_eq!(pending.take(), open.into());
        assert_eq!(pending, PendingRequests::default());
    }

    #[test]
    fn events_that_make_or_resolve_requests_are_known_by_type() {
        let tags = ["PermissionAsked", "PermissionReplied", "QuestionAsked", "QuestionReplied", "QuestionRejected"];
        for variant in tags {
            let (tag, _) = Event::TAGS.iter().find(|(_, name)| *name == variant).unwrap();
            assert!(PendingRequests::is_about_requests(tag), "{tag}");
        }
        assert!(!PendingRequests::is_about_requests("message.part.delta"));
    }
}
