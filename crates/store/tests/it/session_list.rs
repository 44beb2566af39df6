//! What a list of sessions shows without reading events, and its filters.

use std::collections::{BTreeMap, BTreeSet};

use interlingua_schema::{
    Decision, EventData, Origin, Permission, Question, Timestamp, TurnEnded, TurnStatus, UniversalEvent, Usage,
};
use interlingua_store::{
    Append, MAX_LABELS, NewSession, Session, SessionChanges, SessionFilter, SessionState, StateFilter, Store,
    StoreError,
};
use serde_json::{Value, json};

use crate::backend::{Backend, conformance};
use crate::fixtures::{create_session, new_message, session_ended};

conformance!(
    labels_that_are_added_at_the_same_time_do_not_exceed_the_limit,
    pending_requests_and_usage_follow_from_the_events,
    the_filter_by_state_agrees_with_the_state,
    filters_are_combined,
    changes_keep_what_they_do_not_name,
);

fn event(sequence: u64, data: EventData) -> UniversalEvent {
    UniversalEvent::new(format!("evt_{sequence}"), sequence, Timestamp::EPOCH, "s", Origin::AGENT, data)
}

async fn reload(store: &Store, session: &Session) -> Session {
    store.session(&session.id).await.unwrap().unwrap()
}

async fn ids(store: &Store, filter: &SessionFilter) -> Vec<String> {
    let page = store.sessions(filter, 100, None).await.unwrap();
    assert_eq!(store.count_sessions(filter).await.unwrap(), page.sessions.len() as u64);
    page.sessions.iter().map(|session| session.id.as_str().to_owned()).collect()
}

async fn pending_requests_and_usage_follow_from_the_events(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    assert_eq!((session.pending.clone(), session.usage.clone(), session.last_turn_status.clone()), (None, None, None));
    let permission = Permission::new("p1", "run tests");
    let question = Question::new("q1", "Which?", vec!["a".to_owned()]);
    let requests = [
        event(1, EventData::permission_requested(permission.clone())),
        event(2, EventData::question_requested(question)),
    ];
    store.append(session.key, Append::events(requests)).await.unwrap();
    let pending: Value = serde_json::from_str(reload(&store, &session).await.pending.unwrap().as_str()).unwrap();
    assert_eq!(pending[0]["kind"], "permission");
    assert_eq!((&pending[0]["permission_id"], &pending[0]["action"]), (&json!("p1"), &json!("run tests")));
    assert_eq!((&pending[1]["kind"], &pending[1]["question_id"]), (&json!("question"), &json!("q1")));

    let resolved = event(3, EventData::permission_resolved(permission, Decision::Approved));
    store.append(session.key, Append::events([resolved])).await.unwrap();
    let pending: Value = serde_json::from_str(reload(&store, &session).await.pending.unwrap().as_str()).unwrap();
    assert_eq!(pending.as_array().unwrap().len(), 1);

    for (sequence, tokens, status) in [(4, 10, TurnStatus::Failed), (5, 5, TurnStatus::Completed)] {
        let mut ended = TurnEnded::new(format!("t{sequence}"), status);
        ended.usage = Some(Usage::new(tokens, 1));
        store.append(session.key, Append::events([event(sequence, EventData::TurnEnded(ended))])).await.unwrap();
    }
    let now = reload(&store, &session).await;
    assert_eq!(now.last_turn_status.as_deref(), Some("completed"));
    let usage: Value = serde_json::from_str(now.usage.unwrap().as_str()).unwrap();
    assert_eq!((&usage["input_tokens"], &usage["output_tokens"]), (&json!(15), &json!(2)));

    store.append(session.key, Append::events([session_ended(6)])).await.unwrap();
    assert_eq!(reload(&store, &session).await.pending, None);
}

async fn the_filter_by_state_agrees_with_the_state(backend: Backend) {
    let store = backend.open().await;
    let mut secret = NewSession::new("secret", "mock");
    secret.has_secrets = true;
    let (idle, busy, queued, waiting, ended) = (
        create_session(&store, "idle").await,
        create_session(&store, "busy").await,
        create_session(&store, "queued").await,
        create_session(&store, "waiting").await,
        create_session(&store, "ended").await,
    );
    let secret = store.create(secret).await.unwrap();
    store.append(busy.key, Append::events([]).busy(true)).await.unwrap();
    store.enqueue(queued.key, new_message("m")).await.unwrap();
    let request = event(1, EventData::permission_requested(Permission::new("p", "act")));
    store.append(waiting.key, Append::events([request]).busy(true)).await.unwrap();
    store.append(ended.key, Append::events([session_ended(1)])).await.unwrap();

    for (complete, is_known) in [(BTreeSet::new(), false), (BTreeSet::from([secret.key]), true)] {
        let mut listed = 0;
        let usage = store.usage(complete.clone()).await.unwrap();
        assert_eq!((usage.queued_messages, usage.bytes > 0), (1, true), "{usage:?}");
        for state in SessionState::ALL {
            let filter = SessionFilter::default().state(StateFilter::new(state, complete.clone()));
            let found = store.sessions(&filter, 100, None).await.unwrap().sessions;
            listed += found.len();
            let counted: u64 =
                usage.sessions.iter().filter(|(_, other, _)| *other == state).map(|(_, _, count)| count).sum();
            assert_eq!(counted, found.len() as u64, "{state:?}: {usage:?}");
            for session in found {
                let misses_secrets = session.key == secret.key && !is_known;
                assert_eq!(SessionState::from_session(&session, misses_secrets), state, "{}", session.id);
            }
        }
        assert_eq!(listed, 6, "a session is in no state or in several");
    }
    let running = SessionFilter::default().state(StateFilter::new(SessionState::Running, BTreeSet::new()));
    assert_eq!(ids(&store, &running).await, ["queued", "busy"]);
    assert_eq!(reload(&store, &idle).await.queued, 0);
}

async fn filters_are_combined(backend: Backend) {
    let store = backend.open().await;
    for (id, agent, directory, team) in
        [("a", "claude", "/work", "core"), ("b", "codex", "/work", "core"), ("100%_c", "claude", "/home", "web")]
    {
        let mut new = NewSession::new(id, agent);
        new.directory = Some(directory.to_owned());
        new.labels = BTreeMap::from([("team".to_owned(), team.to_owned())]);
        new.title = (id != "b").then(|| format!("Session of {team}")).or(Some("École de Paris".to_owned()));
        store.create(new).await.unwrap();
    }
    let filter = SessionFilter::default;
    let label = |name: &str, value: Option<&str>| vec![(name.to_owned(), value.map(str::to_owned))];
    for (filter, expected) in [
        (filter(), vec!["100%_c", "b", "a"]),
        (filter().agent("claude".to_owned()), vec!["100%_c", "a"]),
        (filter().directory("/work".to_owned()), vec!["b", "a"]),
        (filter().agent("claude".to_owned()).directory("/work".to_owned()), vec!["a"]),
        (filter().labels(label("team", Some("core"))), vec!["b", "a"]),
        (filter().labels(label("team", None)), vec!["100%_c", "b", "a"]),
        (filter().labels(label("team", Some("cor"))), vec![]),
        (filter().labels(label("Team\" OR 1", None)), vec![]),
        (filter().text("OF WEB".to_owned()), vec!["100%_c"]),
        (filter().text("ÉCOLE".to_owned()), vec!["b"]),
        (filter().text("école".to_owned()), vec!["b"]),
        (filter().text("ecole".to_owned()), vec![]),
        (filter().text("%_".to_owned()), vec!["100%_c"]),
        (filter().text("0_c".to_owned()), vec![]),
        (filter().since(Timestamp::EPOCH), vec!["100%_c", "b", "a"]),
        (filter().since(Timestamp::from_millis(i64::MAX)), vec![]),
    ] {
        assert_eq!(ids(&store, &filter).await, expected, "{filter:?}");
    }
    let page = store.sessions(&filter().agent("claude".to_owned()), 1, None).await.unwrap();
    let next = store.sessions(&filter().agent("claude".to_owned()), 1, page.next).await.unwrap();
    assert_eq!((next.sessions[0].id.as_str(), next.next), ("a", None));
}

async fn labels_that_are_added_at_the_same_time_do_not_exceed_the_limit(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    let update = |name: String, value: Option<&str>| {
        let labels = BTreeMap::from([(name, value.map(str::to_owned))]);
        store.update_session(session.key, SessionChanges::default().labels(labels))
    };
    let writes: Vec<_> = (0..2 * MAX_LABELS).map(|number| update(format!("label-{number}"), Some("x"))).collect();
    let mut refused = 0;
    for write in writes {
        match write.await {
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error, StoreError::TooManyLabels { found: MAX_LABELS + 1 });
                refused += 1;
            }
        }
    }
    assert_eq!((refused, reload(&store, &session).await.labels.len()), (MAX_LABELS, MAX_LABELS));
    update("label-0".to_owned(), None).await.unwrap();
    update("another".to_owned(), Some("x")).await.unwrap();
}

async fn changes_keep_what_they_do_not_name(backend: Backend) {
    let store = backend.open().await;
    let mut new = NewSession::new("s", "mock");
    new.title = Some("old".to_owned());
    new.labels = BTreeMap::from([("a".to_owned(), "1".to_owned()), ("b".to_owned(), "2".to_owned())]);
    let session = store.create(new).await.unwrap();
    let labels = BTreeMap::from([("a".to_owned(), None), ("c".to_owned(), Some("3".to_owned()))]);
    let changes = SessionChanges::default().labels(labels).model(Some(Some("fast".to_owned())));
    let updated = store.update_session(session.key, changes).await.unwrap();
    assert_eq!(updated.title.as_deref(), Some("old"));
    assert_eq!(updated.model.as_deref(), Some("fast"));
    let expected = BTreeMap::from([("b".to_owned(), "2".to_owned()), ("c".to_owned(), "3".to_owned())]);
    assert_eq!(updated.labels, expected);
    let cleared =
        store.update_session(session.key, SessionChanges::default().title(Some(None::<String>))).await.unwrap();
    assert_eq!((cleared.title, cleared.labels), (None, expected));
    assert_eq!(reload(&store, &session).await.model.as_deref(), Some("fast"));
}
