//! Commands that run on when their turn is over.

use std::sync::Arc;

use interlingua_runtime::mock::{MockDriver, MockScenario};
use interlingua_schema::{EventData, ItemKind, ItemStatus, TurnStatus, UniversalEvent};
use tempfile::TempDir;

use super::restart::{die_after, next_server, text, until};
use crate::stage::{Stage, assert_rules, events, is_turn_end, mock, nth, status};

/// A command that outlives the test: once with output, once without.
const ENDLESS: [&str; 2] = [
    "{ name = 'shell', kind = 'command', arguments = { command = 'serve' }, background_ms = 3600000, output = 'up' }",
    "{ name = 'shell', kind = 'command', arguments = { command = 'serve' }, background_ms = 3600000 }",
];

fn scenario(steps: &str) -> String {
    format!(
        "[[turn]]\non = \"serve\"\nstep = [{steps}]\n[[turn]]\non = \"fail\"\nstep = [{{ error = {{ message = \"no\" }} }}]"
    )
}

fn driver(scenario: &str) -> MockDriver {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("scenario.toml");
    std::fs::write(&file, scenario).unwrap();
    MockDriver::new().scenario(MockScenario::read(&file).unwrap())
}

/// How the commands ended, in order.
fn results(events: &[UniversalEvent]) -> Vec<ItemStatus> {
    let results = events.iter().filter_map(|event| match &event.data {
        EventData::ItemCompleted(done) if done.item.kind == ItemKind::ToolResult => Some(done.item.status.clone()),
        _ => None,
    });
    results.collect()
}

fn is_result(event: &UniversalEvent) -> bool {
    matches!(&event.data, EventData::ItemCompleted(done) if done.item.kind == ItemKind::ToolResult)
}

#[tokio::test]
async fn a_command_that_ends_between_turns_completes() {
    let steps = "{ tool = { name = 'shell', kind = 'command', arguments = { command = 'make' }, background_ms = 50, output = 'done', exit_code = 0 } }";
    let stage = Stage::playing(&scenario(steps)).created().await;
    let turn = stage.turn("serve").await;
    assert_eq!((status(&turn), results(&turn)), (Some(TurnStatus::Completed), vec![]));
    let events = stage.until(is_result).await;
    assert_eq!(results(&events), [ItemStatus::Completed]);
    assert!(events.iter().any(is_turn_end), "it ended after its turn");
    stage.turn("hello").await;
    stage.assert_rules().await;
}

#[tokio::test]
async fn the_agent_is_kept_while_a_command_runs_and_a_later_turn_does_not_end_it() {
    let stage = Stage::playing(&scenario(&format!("{{ tools = [{}, {}] }}", ENDLESS[0], ENDLESS[1]))).created().await;
    for message in ["serve", "hello", "fail"] {
        assert_eq!(results(&stage.turn(message).await), [], "{message}");
    }
    assert!(stage.session("s").await.busy);
    stage.runtime.shutdown().await;
    let events = stage.events().await;
    assert_eq!(results(&events), [ItemStatus::Failed, ItemStatus::Failed]);
    assert!(!stage.session("s").await.busy);
    assert_rules(&events);
}

#[test]
fn a_command_that_a_dead_server_left_running_is_closed_by_the_next() {
    let messages: [&[&str]; 3] = [&["serve"], &["serve", "hello"], &["serve", "fail"]];
    for (command, messages) in ENDLESS.iter().flat_map(|command| messages.map(|messages| (command, messages))) {
        let scenario = scenario(&format!("{{ tool = {command} }}"));
        let folder = TempDir::new().unwrap();
        die_after(folder.path(), driver(&scenario), |runtime, store| async move {
            runtime.create("s".into(), mock()).await.unwrap();
            for (index, message) in messages.iter().enumerate() {
                runtime.send(&"s".into(), text(message)).await.unwrap();
                until(&store, nth("turn.ended", index + 1)).await;
            }
        });
        next_server().block_on(async {
            let stage = Stage::in_folder(folder, vec![Arc::new(MockDriver::new())]);
            let closed = stage.until(is_result).await;
            assert_eq!(results(&closed), [ItemStatus::Failed], "{command} {messages:?}");
            stage.turn("hello").await;
            let events = events(&stage.store, "s").await;
            assert_eq!(results(&events).len(), 1, "{command} {messages:?}");
            assert_rules(&events);
        });
    }
}
