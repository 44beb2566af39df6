//! A server that dies in the middle of things, and the next one.

use std::path::Path;
use std::sync::Arc;

use interlingua_runtime::mock::{MockDriver, MockScenario};
use interlingua_runtime::{Environment, Runtime, RuntimeOptions};
use interlingua_schema::{EventData, ItemStatus, PermissionStatus, TurnStatus};
use interlingua_store::Store;
use tempfile::TempDir;

use crate::stage::{self, Stage, assert_rules, decisions, events, is_turn_end, mock, nth, permissions, said, status};

/// Runs the first server until `done`, and then drops it where it stands.
pub(crate) fn die_after<F, D>(folder: &Path, mock: MockDriver, act: impl FnOnce(Runtime, Store) -> F) -> D
where
    F: Future<Output = D>,
{
    let server = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let done = server.block_on(async {
        let store = stage::open(folder);
        let runtime = Runtime::start(store.clone(), vec![Arc::new(mock)], RuntimeOptions::default());
        act(runtime, store).await
    });
    drop(server);
    done
}

/// The server that comes after.
pub(crate) fn next_server() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

pub(crate) async fn until(store: &Store, is_meant: impl Fn(&interlingua_schema::UniversalEvent) -> bool) {
    let session = store.session(&"s".into()).await.unwrap().unwrap();
    let mut reader = store.reader(session.key, 0, interlingua_store::RawPayloads::Omit);
    while let Some(batch) = reader.next().await.unwrap() {
        for (_, json) in batch.iter() {
            if is_meant(&serde_json::from_str(json).unwrap()) {
                return;
            }
        }
    }
    panic!("the session ended");
}

pub(crate) fn text(text: &str) -> interlingua_schema::Message {
    interlingua_schema::Message::new(text)
}

#[test]
fn what_was_open_is_closed_and_the_queue_goes_on() {
    let folder = TempDir::new().unwrap();
    die_after(folder.path(), MockDriver::new(), |runtime, store| async move {
        runtime.create("s".into(), mock()).await.unwrap();
        runtime.send(&"s".into(), text("permission")).await.unwrap();
        runtime.send(&"s".into(), text("later")).await.unwrap();
        until(&store, nth("permission.requested", 2)).await;
    });
    next_server().block_on(async {
        let stage = Stage::in_folder(folder, vec![Arc::new(MockDriver::new())]);
        let events = stage.until(nth("turn.ended", 2)).await;
        assert_rules(&events);
        assert_eq!(decisions(&events), [PermissionStatus::Denied, PermissionStatus::Denied]);
        let first = events.iter().position(is_turn_end).unwrap();
        assert_eq!(status(&events[..=first]), Some(TurnStatus::Failed));
        assert!(events[..first].iter().any(|event| matches!(&event.data, EventData::Error(_))));
        assert_eq!(said(&events[first..]), ["later", "later"]);
        // What was asked before the restart is known, and over.
        let asked = permissions(&events);
        let error = stage
            .runtime
            .reply_permission(&"s".into(), &asked[0], interlingua_runtime::PermissionReply::Once)
            .await
            .unwrap_err();
        assert!(matches!(error, interlingua_runtime::RuntimeError::AlreadyResolved { .. }), "{error:?}");
    });
}

#[test]
fn a_message_that_was_cut_off_keeps_what_was_streamed() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("scenario.toml");
    std::fs::write(&file, "pace_ms = 20\n[[turn]]\nstep = [{ think = \"one two three four five six seven\" }]")
        .unwrap();
    let scenario = MockDriver::new().scenario(MockScenario::read(&file).unwrap());
    die_after(folder.path(), scenario, |runtime, store| async move {
        runtime.create("s".into(), mock()).await.unwrap();
        runtime.send(&"s".into(), text("go")).await.unwrap();
        until(&store, nth("item.delta", 4)).await;
    });
    next_server().block_on(async {
        let stage = Stage::in_folder(folder, vec![Arc::new(MockDriver::new())]);
        let events = stage.until(is_turn_end).await;
        assert_rules(&events);
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
fn an_idle_session_goes_on_as_if_nothing_had_happened() {
    let folder = TempDir::new().unwrap();
    die_after(folder.path(), MockDriver::new(), |runtime, store| async move {
        runtime.create("s".into(), mock()).await.unwrap();
        runtime.send(&"s".into(), text("one")).await.unwrap();
        until(&store, is_turn_end).await;
    });
    next_server().block_on(async {
        let stage = Stage::in_folder(folder, vec![Arc::new(MockDriver::new())]);
        assert_eq!(said(&stage.turn("two").await), ["two", "two"]);
        let events = stage.events().await;
        assert_rules(&events);
        assert_eq!(said(&events), ["one", "one", "two", "two"]);
        assert!(!events.iter().any(|event| matches!(event.data, EventData::Error(_))));
    });
}

#[test]
fn values_that_may_be_secret_are_nowhere_on_disk_and_missed_when_they_are_gone() {
    const SECRET: &str = "s3cret-value-0123456789";
    let folder = TempDir::new().unwrap();
    die_after(folder.path(), MockDriver::new(), |runtime, store| async move {
        let env: Environment = [("INTERLINGUA_TEST_KEY".to_owned(), SECRET.to_owned())].into_iter().collect();
        runtime.create("s".into(), mock().env(env)).await.unwrap();
        runtime.send(&"s".into(), text("demo")).await.unwrap();
        until(&store, nth("permission.requested", 1)).await;
    });
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        assert!(!bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()), "{}", path.display());
    }
    next_server().block_on(async {
        let stage = Stage::in_folder(folder, vec![Arc::new(MockDriver::new())]);
        let turn = stage.turn("hello").await;
        assert_eq!((said(&turn), status(&turn)), (vec!["hello".to_owned()], Some(TurnStatus::Failed)));
        let error = turn.iter().find_map(|event| match &event.data {
            EventData::Error(error) => Some(error.message.clone()),
            _ => None,
        });
        assert!(error.unwrap().contains("INTERLINGUA_TEST_KEY"));
        assert_rules(&events(&stage.store, "s").await);
    });
}
