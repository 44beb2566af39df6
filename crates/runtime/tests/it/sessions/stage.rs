//! A store, a runtime and the mock agent, for one test.

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

/// Nothing here takes so long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Stage {
    pub(crate) runtime: Runtime,
    pub(crate) store: Store,
    pub(crate) folder: TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(MockDriver::new())
    }

    /// With a scenario.
    pub(crate) fn playing(scenario: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("scenario.toml");
        std::fs::write(&file, scenario).unwrap();
        Self::with(MockDriver::new().scenario(MockScenario::read(&file).unwrap()))
    }

    pub(crate) fn with(mock: MockDriver) -> Self {
        Self::in_folder(TempDir::new().unwrap(), vec![Arc::new(mock)])
    }

    pub(crate) fn in_folder(folder: TempDir, drivers: Vec<Arc<dyn Driver>>) -> Self {
        let store = open(folder.path());
        let options =
            RuntimeOptions::default().interrupt_grace(Duration::from_millis(200)).stop_grace(Duration::from_secs(2));
        let runtime = Runtime::start(store.clone(), drivers, options);
        Self { runtime, store, folder }
    }

    /// Creates session "s".
    pub(crate) async fn created(self) -> Self {
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

    /// Sends a message to session "s" and waits for the end of its turn: the events of the turn.
    pub(crate) async fn turn(&self, text: &str) -> Vec<UniversalEvent> {
        let after = self.send(text).await.unwrap().wait_for_turn().await.unwrap();
        self.until_after(after, |event| matches!(event.data, EventData::TurnEnded(_))).await
    }

    pub(crate) async fn session(&self, id: &str) -> Session {
        self.store.session(&SessionId::from(id)).await.unwrap().unwrap()
    }

    /// All events of session "s" up to the first that is meant, which is waited for.
    pub(crate) async fn until(&self, is_meant: impl Fn(&UniversalEvent) -> bool) -> Vec<UniversalEvent> {
        self.until_after(0, is_meant).await
    }

    pub(crate) async fn until_after(
        &self,
        after: u64,
        is_meant: impl Fn(&UniversalEvent) -> bool,
    ) -> Vec<UniversalEvent> {
        let mut reader = self.store.reader(self.session("s").await.key, after, RawPayloads::Include);
        let mut events = Vec::new();
        let found = timeout(PATIENCE, async {
            while let Some(batch) = reader.next().await.unwrap() {
                for (_, json) in batch.iter() {
                    let event: UniversalEvent = serde_json::from_str(json).unwrap();
                    let found = is_meant(&event);
                    events.push(event);
                    if found {
                        return true;
                    }
                }
            }
            false
        });
        let found = found.await;
        assert_eq!(found, Ok(true), "did not come: {:#?}", kinds(&events));
        events
    }

    /// All events of session "s" there are.
    pub(crate) async fn events(&self) -> Vec<UniversalEvent> {
        events(&self.store, "s").await
    }

    /// Asserts that the stream of session "s" keeps every rule.
    pub(crate) async fn assert_rules(&self) {
        assert_rules(&self.events().await);
    }
}

pub(crate) fn open(folder: &Path) -> Store {
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

#[track_caller]
pub(crate) fn assert_rules(events: &[UniversalEvent]) {
    let mut checker = Checker::new();
    let broken: Vec<_> = events.iter().flat_map(|event| checker.push(event)).collect();
    assert!(broken.is_empty(), "{broken:#?}\n{:#?}", kinds(events));
}

pub(crate) fn kinds(events: &[UniversalEvent]) -> Vec<&str> {
    events.iter().map(|event| event.data.kind()).collect()
}

/// How the last turn in these events ended.
pub(crate) fn status(events: &[UniversalEvent]) -> Option<TurnStatus> {
    events.iter().rev().find_map(|event| match &event.data {
        EventData::TurnEnded(ended) => Some(ended.status.clone()),
        _ => None,
    })
}

/// Whether the turn in these events ended.
pub(crate) fn is_turn_end(event: &UniversalEvent) -> bool {
    matches!(event.data, EventData::TurnEnded(_))
}

/// The texts of the messages in these events, user's and agent's.
pub(crate) fn said(events: &[UniversalEvent]) -> Vec<String> {
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

/// The ids of permissions that were asked for, in order.
pub(crate) fn permissions(events: &[UniversalEvent]) -> Vec<String> {
    events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::PermissionRequested(permission) => Some(permission.permission_id.clone()),
            _ => None,
        })
        .collect()
}

/// How permissions were resolved, in order.
pub(crate) fn decisions(events: &[UniversalEvent]) -> Vec<PermissionStatus> {
    events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::PermissionResolved(permission) => Some(permission.status.clone()),
            _ => None,
        })
        .collect()
}

/// The ids of questions that were asked, in order.
pub(crate) fn questions(events: &[UniversalEvent]) -> Vec<String> {
    events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::QuestionRequested(question) => Some(question.question_id.clone()),
            _ => None,
        })
        .collect()
}

/// Matches the `count`th event of this kind.
pub(crate) fn nth(kind: &'static str, count: usize) -> impl Fn(&UniversalEvent) -> bool {
    let seen = std::cell::Cell::new(0);
    move |event| {
        seen.set(seen.get() + usize::from(event.data.kind() == kind));
        seen.get() == count
    }
}
