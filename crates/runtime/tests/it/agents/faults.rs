//! Agents that die, hang and print garbage. In every case, turns end, the session continues, and no process is left.

use interlingua_schema::{EventData, PermissionStatus, TurnStatus, UniversalEvent};

use crate::stand_in::{StandIn, error_messages};
use crate::test_runtime::{event_types, is_nth, permission_statuses, texts, turn_status};

fn claude(fault: &str) -> StandIn {
    StandIn::replaying("claude", "stream-input-two-turns").with_fault(fault)
}

fn unparsed_errors(events: &[UniversalEvent]) -> Vec<String> {
    events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::AgentUnparsed(unparsed) => Some(unparsed.error.clone()),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn an_agent_that_dies_fails_its_turn_and_is_resumed() {
    let stand_in = claude("die-after=5:7").with_session().await;
    let events = stand_in.test.run_turn("one").await;
    assert_eq!(turn_status(&events), Some(TurnStatus::Failed), "{:?}", event_types(&events));
    let native = stand_in
        .test
        .session("s")
        .await
        .native_session_id
        .expect("the agent reported no native session id before it died");
    stand_in.test.run_turn("two").await;
    let starts = stand_in.process_starts();
    assert!(!starts[0].1.contains("--resume"), "{starts:?}");
    assert!(starts[1].1.contains(&format!("--resume {native}")), "{starts:?}");
    stand_in.test.runtime.terminate(&"s".into()).await.unwrap();
    stand_in.assert_processes_ended(2).await;
}

#[tokio::test]
async fn an_agent_that_is_killed_fails_its_turn() {
    let stand_in = claude("die-after=5:-9").with_session().await;
    let events = stand_in.test.run_turn("one").await;
    assert_eq!(turn_status(&events), Some(TurnStatus::Failed));
    assert!(error_messages(&events).join("\n").contains('9'), "{:?}", error_messages(&events));
    stand_in.assert_processes_ended(1).await;
}

#[tokio::test]
async fn an_agent_that_exits_at_its_start_fails_the_turn_with_the_reason() {
    let stand_in = claude("exit-at-start:3").with_session().await;
    let events = stand_in.test.run_turn("one").await;
    assert_eq!((turn_status(&events), texts(&events)), (Some(TurnStatus::Failed), vec!["one".to_owned()]));
    let message = error_messages(&events).join("\n");
    assert!(message.contains('3') || message.contains("fault"), "{message}");
    stand_in.assert_processes_ended(1).await;
}

#[tokio::test]
async fn half_a_line_is_reported_and_the_turn_fails() {
    let stand_in = claude("half-line-after=5").with_session().await;
    let events = stand_in.test.run_turn("one").await;
    assert_eq!(
        (unparsed_errors(&events).len(), turn_status(&events)),
        (1, Some(TurnStatus::Failed)),
        "{:?}",
        event_types(&events)
    );
    stand_in.assert_processes_ended(1).await;
}

#[tokio::test]
async fn an_agent_that_hangs_is_ended_by_an_interrupt() {
    let stand_in = claude("hang-after=5").with_session().await;
    stand_in.test.send("one").await.unwrap();
    stand_in.test.wait_for(is_nth("turn.started", 1)).await;
    stand_in.test.runtime.interrupt(&"s".into()).await.unwrap();
    assert_eq!(turn_status(&stand_in.test.events().await), Some(TurnStatus::Interrupted));
    stand_in.assert_processes_ended(1).await;
}

#[tokio::test]
async fn terminate_ends_an_agent_that_ignores_everything() {
    let stand_in = claude("hang-after=5:deaf").with_session().await;
    stand_in.test.send("one").await.unwrap();
    stand_in.test.wait_for(is_nth("turn.started", 1)).await;
    stand_in.test.runtime.terminate(&"s".into()).await.unwrap();
    let events = stand_in.assert_processes_ended(1).await;
    assert_eq!(event_types(&events).last(), Some(&"session.ended"));
}

#[tokio::test]
async fn garbage_is_reported_and_the_turn_continues() {
    for (fault, expected) in [("garbage-after=5", "JSON"), ("invalid-utf8-after=5", "UTF-8"), ("long-line-after=5", "")]
    {
        let stand_in = claude(fault).with_session().await;
        let events = stand_in.test.run_turn("one").await;
        let unparsed = unparsed_errors(&events);
        assert_eq!(turn_status(&events), Some(TurnStatus::Completed), "{fault}: {:?}", event_types(&events));
        assert!(unparsed.len() == 1 && unparsed[0].contains(expected), "{fault}: {unparsed:?}");
        stand_in.test.runtime.terminate(&"s".into()).await.unwrap();
        stand_in.assert_processes_ended(1).await;
    }
}

#[tokio::test]
async fn terminate_denies_a_pending_permission() {
    let stand_in = StandIn::replaying("claude", "perm-allow").with_session().await;
    stand_in.test.send("Touch made.txt").await.unwrap();
    stand_in.test.wait_for(is_nth("permission.requested", 1)).await;
    stand_in.test.runtime.terminate(&"s".into()).await.unwrap();
    let events = stand_in.assert_processes_ended(1).await;
    assert_eq!(permission_statuses(&events), [PermissionStatus::Denied]);
}

#[tokio::test]
async fn shutdown_ends_every_agent_and_interrupts_its_turn() {
    let stand_in = claude("hang-after=5").with_session().await;
    stand_in.test.send("one").await.unwrap();
    stand_in.test.wait_for(is_nth("turn.started", 1)).await;
    stand_in.test.runtime.shutdown().await;
    let events = stand_in.assert_processes_ended(1).await;
    assert_eq!(turn_status(&events), Some(TurnStatus::Interrupted));
}
