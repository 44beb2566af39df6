//! Agents that die, hang and talk rubbish. Whatever they do, turns end, the session goes on, and no process stays.

use interlingua_schema::{EventData, PermissionStatus, TurnStatus, UniversalEvent};

use crate::cast::{Cast, failures};
use crate::stage::{decisions, kinds, nth, said, status};

fn claude(fault: &str) -> Cast {
    Cast::playing("claude", "stream-input-two-turns").fault(fault)
}

fn unparsed(events: &[UniversalEvent]) -> Vec<String> {
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
    let cast = claude("die-after=5:7").created().await;
    let events = cast.stage.turn("one").await;
    assert_eq!(status(&events), Some(TurnStatus::Failed), "{:?}", kinds(&events));
    let native = cast.stage.session("s").await.native_session_id.expect("it said its name before it died");
    cast.stage.turn("two").await;
    let starts = cast.starts();
    assert!(!starts[0].1.contains("--resume"), "{starts:?}");
    assert!(starts[1].1.contains(&format!("--resume {native}")), "{starts:?}");
    cast.stage.runtime.terminate(&"s".into()).await.unwrap();
    cast.assert_over(2).await;
}

#[tokio::test]
async fn an_agent_that_is_killed_fails_its_turn() {
    let cast = claude("die-after=5:-9").created().await;
    let events = cast.stage.turn("one").await;
    assert_eq!(status(&events), Some(TurnStatus::Failed));
    assert!(failures(&events).join("\n").contains('9'), "{:?}", failures(&events));
    cast.assert_over(1).await;
}

#[tokio::test]
async fn an_agent_that_leaves_before_it_starts_fails_the_turn_with_its_reason() {
    let cast = claude("exit-at-start:3").created().await;
    let events = cast.stage.turn("one").await;
    assert_eq!((status(&events), said(&events)), (Some(TurnStatus::Failed), vec!["one".to_owned()]));
    let why = failures(&events).join("\n");
    assert!(why.contains('3') || why.contains("fault"), "{why}");
    cast.assert_over(1).await;
}

#[tokio::test]
async fn half_a_line_is_told_and_the_turn_fails() {
    let cast = claude("half-line-after=5").created().await;
    let events = cast.stage.turn("one").await;
    assert_eq!((unparsed(&events).len(), status(&events)), (1, Some(TurnStatus::Failed)), "{:?}", kinds(&events));
    cast.assert_over(1).await;
}

#[tokio::test]
async fn an_agent_that_hangs_is_ended_by_an_interrupt() {
    let cast = claude("hang-after=5").created().await;
    cast.stage.send("one").await.unwrap();
    cast.stage.until(nth("turn.started", 1)).await;
    cast.stage.runtime.interrupt(&"s".into()).await.unwrap();
    assert_eq!(status(&cast.stage.events().await), Some(TurnStatus::Interrupted));
    cast.assert_over(1).await;
}

#[tokio::test]
async fn an_agent_that_heeds_nothing_is_ended_by_terminate() {
    let cast = claude("hang-after=5:deaf").created().await;
    cast.stage.send("one").await.unwrap();
    cast.stage.until(nth("turn.started", 1)).await;
    cast.stage.runtime.terminate(&"s".into()).await.unwrap();
    let events = cast.assert_over(1).await;
    assert_eq!(kinds(&events).last(), Some(&"session.ended"));
}

#[tokio::test]
async fn rubbish_is_told_and_the_turn_goes_on() {
    for (fault, says) in [("garbage-after=5", "JSON"), ("invalid-utf8-after=5", "UTF-8"), ("long-line-after=5", "")] {
        let cast = claude(fault).created().await;
        let events = cast.stage.turn("one").await;
        let unparsed = unparsed(&events);
        assert_eq!(status(&events), Some(TurnStatus::Completed), "{fault}: {:?}", kinds(&events));
        assert!(unparsed.len() == 1 && unparsed[0].contains(says), "{fault}: {unparsed:?}");
        cast.stage.runtime.terminate(&"s".into()).await.unwrap();
        cast.assert_over(1).await;
    }
}

#[tokio::test]
async fn a_permission_that_nobody_answers_is_denied_by_terminate() {
    let cast = Cast::playing("claude", "perm-allow").created().await;
    cast.stage.send("Touch made.txt").await.unwrap();
    cast.stage.until(nth("permission.requested", 1)).await;
    cast.stage.runtime.terminate(&"s".into()).await.unwrap();
    let events = cast.assert_over(1).await;
    assert_eq!(decisions(&events), [PermissionStatus::Denied]);
}

#[tokio::test]
async fn shutdown_ends_every_agent_and_the_turns_as_interrupted() {
    let cast = claude("hang-after=5").created().await;
    cast.stage.send("one").await.unwrap();
    cast.stage.until(nth("turn.started", 1)).await;
    cast.stage.runtime.shutdown().await;
    let events = cast.assert_over(1).await;
    assert_eq!(status(&events), Some(TurnStatus::Interrupted));
}
