//! When the requests of the agent expire.

use std::collections::BTreeMap;
use std::time::Duration;

use interlingua_schema::EventData;
use tokio::time::Instant;

/// The requests that wait for an answer, and until when.
#[derive(Debug, Default)]
pub(super) struct RequestDeadlines(BTreeMap<PendingRequest, Instant>);

/// A request that waits for an answer, by its id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PendingRequest {
    Permission(String),
    Question(String),
}

impl RequestDeadlines {
    /// Updates the deadlines. Without a timeout, requests never expire.
    pub(super) fn observe(&mut self, data: &EventData, timeout: Option<Duration>) {
        match (data, timeout) {
            (EventData::PermissionRequested(permission), Some(timeout)) => {
                self.add(PendingRequest::Permission(permission.permission_id.clone()), timeout);
            }
            (EventData::QuestionRequested(question), Some(timeout)) => {
                self.add(PendingRequest::Question(question.question_id.clone()), timeout);
            }
            (EventData::PermissionResolved(permission), _) => {
                self.0.remove(&PendingRequest::Permission(permission.permission_id.clone()));
            }
            (EventData::QuestionResolved(question), _) => {
                self.0.remove(&PendingRequest::Question(question.question_id.clone()));
            }
            _ => {}
        }
    }

    fn add(&mut self, request: PendingRequest, timeout: Duration) {
        // A timeout that is too long to be added never passes.
        if let Some(deadline) = Instant::now().checked_add(timeout) {
            self.0.insert(request, deadline);
        }
    }

    /// The first deadline.
    pub(super) fn first(&self) -> Option<Instant> {
        self.0.values().min().copied()
    }

    /// Removes the requests whose deadlines have passed.
    pub(super) fn take_expired(&mut self, now: Instant) -> Vec<PendingRequest> {
        let (expired, waiting) = std::mem::take(&mut self.0).into_iter().partition(|(_, deadline)| *deadline <= now);
        self.0 = waiting;
        let expired: BTreeMap<PendingRequest, Instant> = expired;
        expired.into_keys().collect()
    }
}

#[cfg(test)]
mod tests {
    use interlingua_schema::{Decision, Permission, Question};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_request_expires_once_unless_it_is_resolved() {
        let timeout = Some(Duration::from_secs(10));
        let mut deadlines = RequestDeadlines::default();
        let permission = |id: &str| Permission::new(id, "Run make");
        deadlines.observe(&EventData::permission_requested(permission("p1")), timeout);
        tokio::time::advance(Duration::from_secs(1)).await;
        deadlines.observe(&EventData::permission_requested(permission("p2")), timeout);
        deadlines.observe(&EventData::question_requested(Question::new("q", "Which?", Vec::<String>::new())), timeout);
        deadlines.observe(&EventData::permission_resolved(permission("p2"), Decision::Denied), timeout);
        assert_eq!(deadlines.first(), Some(Instant::now() + Duration::from_secs(9)));
        tokio::time::advance(Duration::from_secs(9)).await;
        assert_eq!(deadlines.take_expired(Instant::now()), [PendingRequest::Permission("p1".to_owned())]);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(deadlines.take_expired(Instant::now()), [PendingRequest::Question("q".to_owned())]);
        assert_eq!(deadlines.first(), None);
    }

    #[tokio::test]
    async fn without_a_timeout_nothing_expires() {
        let mut deadlines = RequestDeadlines::default();
        deadlines.observe(&EventData::permission_requested(Permission::new("p", "Run")), None);
        deadlines.observe(&EventData::permission_requested(Permission::new("p", "Run")), Some(Duration::MAX));
        assert_eq!(deadlines.first(), None);
    }
}
