//! A server that dies during a session, and the next server.

use std::path::Path;
use std::sync::Arc;

use interlingua_runtime::driver::Driver;
use interlingua_runtime::mock::{MockDriver, MockScenario};
use interlingua_runtime::{Runtime, RuntimeOptions};
use interlingua_schema::{EventData, ItemStatus, PermissionStatus, TurnStatus};
use interlingua_store::Store;
use tempfile::TempDir;

use crate::test_runtime::{
    TestRuntime, assert_no_violations, is_nth, is_turn_end, mock, open_store, permission_ids, permission_statuses,
    texts, turn_status,
};

/// Runs a server until `act` returns, and then drops it without a shutdown.
pub(crate) fn run_until_killed<F, D>(folder: &Path, driver: impl Driver, act: impl FnOnce(Runtime, Store) -> F) -> D
where
    F: Future<Output = D>,
{
    let server = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let result = server.block_on(async {
        let store = open_store(folder);
        let runtime = Runtime::start(store.clone(), vec![Arc::new(driver)], RuntimeOptions::default());
        act(runtime, store).await
    });
    drop(server);
    result
}

/// A tokio runtime for the next server.
pub(crate) fn new_tokio_runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

pub(crate) async fn wait_for_event(store: &Store, is_expected: impl Fn(&interlingua_schema::UniversalEvent) -> bool) {
    let session = store.session(&"s".into()).await.unwrap().unwrap();
    let mut reader = store.reader(session.key, 0, interlingua_store::RawPayloads::Omit);
    while let Some(batch) = reader.next().await.unwrap() {
        for (_, json) in batch.iter() {
            if is_expected(&serde_json::from_str(json).unwrap()) {
                return;
            }
        }
    }
    panic!("the session ended before the expected event");
}

pub(crate) fn message(text: &str) -> interlingua_schema::Message {
    interlingua_schema::Message::new(text)
}

#[test]
fn open_requests_are_closed_and_the_queue_continues() {
    let folder = TempDir::new().unwrap();
    run_until_killed(folder.path(), MockDriver::new(), |runtime, store| async move {
        runtime.create("s".into(), mock()).await.unwrap();
        runtime.send(&"s".into(), message("permission")).await.unwrap();
        runtime.send(&"s".into(), message("later")).await.unwrap();
        wait_for_event(&store, is_nth("permission.requested", 2)).await;
    });
    new_tokio_runtime().block_on(async {
        let test = TestRuntime::in_folder(folder, vec![Arc::new(MockDriver::new())]);
        let events = test.wait_for(is_nth("turn.ended", 2)).await;
        assert_no_violations(&events);
        assert_eq!(permission_statuses(&events), [PermissionStatus::Denied, PermissionStatus::Denied]);
        let first = events.iter().position(is_turn_end).unwrap();
        assert_eq!(turn_status(&events[..=first]), Some(TurnStatus::Failed));
        assert!(events[..first].iter().any(|event| matches!(&event.data, EventData::Error(_))));
        assert_eq!(texts(&events[first..]), ["later", "later"]);
        // A request from before the restart is known, and resolved.
        let requested = permission_ids(&events);
        let error = test
            .runtime
            .reply_permission(&"s".into(), &requested[0], interlingua_runtime::PermissionReply::Once)
            .await
            .unwrap_err();
        assert!(matches!(error, interlingua_runtime::RuntimeError::AlreadyResolved { .. }), "{error:?}");
    });
}

#[test]
fn an_interrupted_message_keeps_its_streamed_text() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("scenario.toml");
    std::fs::write(&file, "pace_ms = 20\n[[turn]]\nstep = [{ think = \"one two three four five six seven\" }]")
        .unwrap();
    let scenario = MockDriver::new().scenario(MockScenario::read(&file).unwrap());
    run_until_killed(folder.path(), scenario, |runtime, store| async move {
        runtime.create("s".into(), mock()).await.unwrap();
        runtime.send(&"s".into(), message("go")).await.unwrap();
        wait_for_event(&store, is_nth("item.delta", 4)).await;
    });
    new_tokio_runtime().block_on(async {
        let test = TestRuntime::in_folder(folder, vec![Arc::new(MockDriver::new())]);
        let events = test.wait_for(is_turn_end).await;
        assert_no_violations(&events);
        let cut_off = events.iter().find_map(|event| match &event.data {
            EventData::ItemCompleted(done) if done.item.status == ItemStatus::Failed => Some(&done.item),
            _ => None,
        });
        let cut_off = cut_off.unwrap();
        assert!(cut_off.streamed_text().collect::<String>().starts_with("one two three"), "{cut_off:?}");
        assert!(matches!(cut_off.content[0], interlingua_schema::ContentPart::Reasoning { .. }), "{cut_off:?}");
    });
}

#[test]
fn an_idle_session_continues_unchanged() {
    let folder = TempDir::new().unwrap();
    run_until_killed(folder.path(), MockDriver::new(), |runtime, store| async move {
        runtime.create("s".into(), mock()).await.unwrap();
        runtime.send(&"s".into(), message("one")).await.unwrap();
        wait_for_event(&store, is_turn_end).await;
    });
    new_tokio_runtime().block_on(async {
        let test = TestRuntime::in_folder(folder, vec![Arc::new(MockDriver::new())]);
        assert_eq!(texts(&test.run_turn("two").await), ["two", "two"]);
        let events = test.events().await;
        assert_no_violations(&events);
        assert_eq!(texts(&events), ["one", "one", "two", "two"]);
        assert!(!events.iter().any(|event| matches!(event.data, EventData::Error(_))));
    });
}
