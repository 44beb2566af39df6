//! Commands that outlive their turn.

use std::sync::Arc;

use interlingua_runtime::mock::{MockDriver, MockScenario};
use interlingua_schema::{EventData, ItemKind, ItemStatus, TurnStatus, UniversalEvent};
use tempfile::TempDir;

use super::restart::{message, new_tokio_runtime, run_until_killed, wait_for_event};
use crate::test_runtime::{TestRuntime, assert_no_violations, events, is_nth, is_turn_end, mock, turn_status};

/// A command that runs longer than the test: with output, and without.
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

/// The statuses of the tool results, in order.
fn result_statuses(events: &[UniversalEvent]) -> Vec<ItemStatus> {
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
    let test = TestRuntime::with_scenario(&scenario(steps)).with_session().await;
    let turn = test.run_turn("serve").await;
    assert_eq!((turn_status(&turn), result_statuses(&turn)), (Some(TurnStatus::Completed), vec![]));
    let events = test.wait_for(is_result).await;
    assert_eq!(result_statuses(&events), [ItemStatus::Completed]);
    assert!(events.iter().any(is_turn_end), "the turn had not ended before its command");
    test.run_turn("hello").await;
    test.assert_no_violations().await;
}

#[tokio::test]
async fn a_background_command_keeps_the_agent_and_outlives_later_turns() {
    let test = TestRuntime::with_scenario(&scenario(&format!("{{ tools = [{}, {}] }}", ENDLESS[0], ENDLESS[1])))
        .with_session()
        .await;
    for message in ["serve", "hello", "fail"] {
        assert_eq!(result_statuses(&test.run_turn(message).await), [], "{message}");
    }
    assert!(test.session("s").await.busy);
    test.runtime.shutdown().await;
    let events = test.events().await;
    assert_eq!(result_statuses(&events), [ItemStatus::Failed, ItemStatus::Failed]);
    assert!(!test.session("s").await.busy);
    assert_no_violations(&events);
}

#[test]
fn the_next_server_closes_a_command_that_a_dead_one_left_running() {
    let messages: [&[&str]; 3] = [&["serve"], &["serve", "hello"], &["serve", "fail"]];
    for (command, messages) in ENDLESS.iter().flat_map(|command| messages.map(|messages| (command, messages))) {
        let scenario = scenario(&format!("{{ tool = {command} }}"));
        let folder = TempDir::new().unwrap();
        run_until_killed(folder.path(), driver(&scenario), |runtime, store| async move {
            runtime.create("s".into(), mock()).await.unwrap();
            for (index, text) in messages.iter().enumerate() {
                runtime.send(&"s".into(), message(text)).await.unwrap();
                wait_for_event(&store, is_nth("turn.ended", index + 1)).await;
            }
        });
        new_tokio_runtime().block_on(async {
            let test = TestRuntime::in_folder(folder, vec![Arc::new(MockDriver::new())]);
            let closed = test.wait_for(is_result).await;
            assert_eq!(result_statuses(&closed), [ItemStatus::Failed], "{command} {messages:?}");
            test.run_turn("hello").await;
            let events = events(&test.store, "s").await;
            assert_eq!(result_statuses(&events).len(), 1, "{command} {messages:?}");
            assert_no_violations(&events);
        });
    }
}
