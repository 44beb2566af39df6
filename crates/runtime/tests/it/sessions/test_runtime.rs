//! A runtime with a store and the mock agent, for one test.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use interlingua_runtime::driver::Driver;
use interlingua_runtime::mock::{MockDriver, MockScenario};
use interlingua_runtime::{CreateSession, Runtime, RuntimeError, RuntimeOptions, SentMessage};
use interlingua_schema::{Checker, EventData, Message, PermissionStatus, SessionId, TurnStatus, UniversalEvent};
use interlingua_store::{RawPayloads, ReadLimits, Session, Store};
use tempfile::TempDir;
use tokio::time::timeout;

/// No test takes this long unless it hangs.
const TEST_TIMEOUT: Duration = Duration::from_secs(120);

pub(crate) struct TestRuntime {
    pub(crate) runtime: Runtime,
    pub(crate) store: Store,
    pub(crate) folder: TempDir,
}

impl TestRuntime {
    pub(crate) fn new() -> Self {
        Self::with_mock(MockDriver::new())
    }

    /// With a mock agent that plays a scenario.
    pub(crate) fn with_scenario(scenario: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("scenario.toml");
        std::fs::write(&file, scenario).unwrap();
        Self::with_mock(MockDriver::new().scenario(MockScenario::read(&file).unwrap()))
    }

    pub(crate) fn with_mock(mock: MockDriver) -> Self {
        Self::in_folder(TempDir::new().unwrap(), vec![Arc::new(mock)])
    }

    pub(crate) fn in_folder(folder: TempDir, drivers: Vec<Arc<dyn Driver>>) -> Self {
        let store = open_store(folder.path());
        let options =
            RuntimeOptions::default().interrupt_grace(Duration::from_millis(200)).stop_grace(Duration::from_secs(2));
        let runtime = Runtime::start(store.clone(), drivers, options);
        Self { runtime, store, folder }
    }

    /// Creates session "s".
    pub(crate) async fn with_session(self) -> Self {
        self.create("s").await.unwrap();
        self
    }

    pub(crate) async fn create(&self, id: &str) -> Result<(), RuntimeError> {
        self.runtime.create(id.into(), mock()).await.map(drop)
    }

    pub(crate) async fn send(&self, text: &str) -> Result<SentMessage, RuntimeError> {
        let message = Message::new(text);
        self.runtime.send(&"s".into(), message).await
    }

    /// Sends a message to session "s" and waits for the end of its turn. Returns the events of the turn.
    pub(crate) async fn run_turn(&self, text: &str) -> Vec<UniversalEvent> {
        let after = self.send(text).await.unwrap().wait_for_turn().await.unwrap();
        self.wait_for_after(after, |event| matches!(event.data, EventData::TurnEnded(_))).await
    }

    pub(crate) async fn session(&self, id: &str) -> Session {
        self.store.session(&SessionId::from(id)).await.unwrap().unwrap()
    }

    /// Waits for an event of session "s". Returns all events up to it.
    pub(crate) async fn wait_for(&self, is_expected: impl Fn(&UniversalEvent) -> bool) -> Vec<UniversalEvent> {
        self.wait_for_after(0, is_expected).await
    }

    /// Waits for an event of session "s" after a sequence number. Returns the events after that number up to it.
    pub(crate) async fn wait_for_after(
        &self,
        after: u64,
        is_expected: impl Fn(&UniversalEvent) -> bool,
    ) -> Vec<UniversalEvent> {
        let mut reader = self.store.reader(self.session("s").await.key, after, RawPayloads::Include);
        let mut events = Vec::new();
        let found = timeout(TEST_TIMEOUT, async {
            while let Some(batch) = reader.next().await.unwrap() {
                for (_, json) in batch.iter() {
                    let event: UniversalEvent = serde_json::from_str(json).unwrap();
                    let found = is_expected(&event);
                    events.push(event);
                    if found {
                        return true;
                    }
                }
            }
            false
        });
        let found = found.await;
        assert_eq!(found, Ok(true), "the expected event did not come: {:#?}", event_types(&events));
        events
    }

    /// All events of session "s" so far.
    pub(crate) async fn events(&self) -> Vec<UniversalEvent> {
        events(&self.store, "s").await
    }

    /// Asserts that the stream of session "s" has no violations.
    pub(crate) async fn assert_no_violations(&self) {
        assert_no_violations(&self.events().await);
    }
}

pub(crate) fn open_store(folder: &Path) -> Store {
    Store::open(folder, interlingua_store::StoreOptions::default()).unwrap()
}

pub(crate) fn mock() -> CreateSession {
    CreateSession::new("mock")
}

pub(crate) async fn events(store: &Store, id: &str) -> Vec<UniversalEvent> {
    let session = store.session(&id.into()).await.unwrap().unwrap();
    let all = ReadLimits { max_events: usize::MAX, max_bytes: usize::MAX };
    let batch = store.read(session.key, 0, all, RawPayloads::Include).await.unwrap();
    batch.iter().map(|(_, json)| serde_json::from_str(json).unwrap()).collect()
}

/// Asserts that a stream has no violations.
#[track_caller]
pub(crate) fn assert_no_violations(events: &[UniversalEvent]) {
    let mut checker = Checker::new();
    let violations: Vec<_> = events.iter().flat_map(|event| checker.push(event)).collect();
    assert!(violations.is_empty(), "{violations:#?}\n{:#?}", event_types(events));
}

pub(crate) fn event_types(events: &[UniversalEvent]) -> Vec<&str> {
    events.iter().map(|event| event.data.kind()).collect()
}

/// The status of the last turn that ended in these events.
pub(crate) fn turn_status(events: &[UniversalEvent]) -> Option<TurnStatus> {
    events.iter().rev().find_map(|event| match &event.data {
        EventData::TurnEnded(ended) => Some(ended.status.clone()),
        _ => None,
    })
}

/// Whether an event ends a turn.
pub(crate) fn is_turn_end(event: &UniversalEvent) -> bool {
    matches!(event.data, EventData::TurnEnded(_))
}

/// The texts of the completed items in these events, of the user and the agent.
pub(crate) fn texts(events: &[UniversalEvent]) -> Vec<String> {
    events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::ItemCompleted(completed) => {
                let text: String = completed.item.streamed_text().collect();
                (!text.is_empty()).then_some(text)
            }
            _ => None,
        })
        .collect()
}

/// The ids of the permission requests, in order.
pub(crate) fn permission_ids(events: &[UniversalEvent]) -> Vec<String> {
    events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::PermissionRequested(permission) => Some(permission.permission_id.clone()),
            _ => None,
        })
        .collect()
}

/// The statuses of the resolved permission requests, in order.
pub(crate) fn permission_statuses(events: &[UniversalEvent]) -> Vec<PermissionStatus> {
    events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::PermissionResolved(permission) => Some(permission.status.clone()),
            _ => None,
        })
        .collect()
}

/// The ids of the questions, in order.
pub(crate) fn question_ids(events: &[UniversalEvent]) -> Vec<String> {
    events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::QuestionRequested(question) => Some(question.question_id.clone()),
            _ => None,
        })
        .collect()
}

/// Matches the `count`th event of a type.
pub(crate) fn is_nth(kind: &'static str, count: usize) -> impl Fn(&UniversalEvent) -> bool {
    let seen = std::cell::Cell::new(0);
    move |event| {
        seen.set(seen.get() + usize::from(event.data.kind() == kind));
        seen.get() == count
    }
}
