use std::sync::Arc;
use std::time::Duration;

use interlingua_runtime::RuntimeError;
use interlingua_runtime::mock::MockDriver;
use interlingua_schema::{Attachment, ContentPart, EventData, Message, PermissionStatus, TurnStatus};
use tokio::time::Instant;

use crate::stage::{Stage, decisions, is_turn_end, kinds, nth, said, status};

const HANGS: &str = "[[turn]]\nstep = [{ say = \"Wait.\" }, { hang = true }]\n";
const CRASHES: &str = r#"
    [[turn]]
    step = [{ say = "I go." }, { stderr = "boom" }, { exit = 3 }]
"#;

#[tokio::test]
async fn messages_are_taken_up_in_order_one_turn_at_a_time() {
    let stage = Stage::with(MockDriver::new().pace(Duration::from_millis(1))).created().await;
    for number in 0..5 {
        stage.send(&format!("number {number}")).await.unwrap();
    }
    let events = stage.until(nth("turn.ended", 5)).await;
    let expected: Vec<String> =
        (0..5).flat_map(|number| [format!("number {number}"), format!("number {number}")]).collect();
    assert_eq!(said(&events), expected);
    stage.assert_rules().await;
}

#[tokio::test]
async fn a_message_knows_where_its_turn_begins() {
    let stage = Stage::new().created().await;
    let first = stage.send("one").await.unwrap();
    let second = stage.send("two").await.unwrap();
    assert_eq!(first.wait_for_turn().await, Some(1));
    let after = second.wait_for_turn().await.unwrap();
    let turn = stage.until_after(after, is_turn_end).await;
    assert_eq!(turn[0].data.kind(), "turn.started");
    assert_eq!(said(&turn), ["two", "two"]);
}

#[tokio::test]
async fn an_interrupt_ends_the_turn_and_not_the_queue() {
    let stage = Stage::new().created().await;
    stage.send("permission").await.unwrap();
    stage.send("next").await.unwrap();
    stage.until(nth("permission.requested", 2)).await;
    stage.runtime.interrupt(&"s".into()).await.unwrap();
    let events = stage.events().await;
    let first_turn = &events[..=events.iter().position(is_turn_end).expect("an interrupt returns after the turn")];
    assert_eq!(status(first_turn), Some(TurnStatus::Interrupted));
    assert_eq!(decisions(first_turn), [PermissionStatus::Denied, PermissionStatus::Denied]);
    assert!(!kinds(first_turn).contains(&"error"));
    let events = stage.until(nth("turn.ended", 2)).await;
    assert_eq!(said(&events).last().unwrap(), "next");
    stage.assert_rules().await;
}

#[tokio::test]
async fn an_interrupt_without_a_turn_changes_nothing() {
    let stage = Stage::new().created().await;
    stage.turn("hi").await;
    let before = stage.events().await.len();
    stage.runtime.interrupt(&"s".into()).await.unwrap();
    assert_eq!(stage.events().await.len(), before);
}

#[tokio::test]
async fn an_agent_that_does_not_stop_is_ended_and_comes_back() {
    let stage = Stage::playing(HANGS).created().await;
    stage.send("go").await.unwrap();
    stage.until(|event| said(std::slice::from_ref(event)) == ["Wait."]).await;
    let asked = Instant::now();
    stage.runtime.interrupt(&"s".into()).await.unwrap();
    assert!(asked.elapsed() < Duration::from_secs(5));
    assert_eq!(status(&stage.events().await), Some(TurnStatus::Interrupted));
    assert_eq!(said(&stage.turn("still there?").await).last().unwrap(), "still there?");
    stage.assert_rules().await;
}

#[tokio::test]
async fn an_agent_that_dies_fails_its_turn_and_is_started_again() {
    let stage = Stage::playing(CRASHES).created().await;
    let turn = stage.turn("go").await;
    assert_eq!(status(&turn), Some(TurnStatus::Failed));
    let error = turn
        .iter()
        .find_map(|event| match &event.data {
            EventData::Error(error) => Some(error),
            _ => None,
        })
        .unwrap();
    assert_eq!(error.message, "the agent exited with code 3");
    let details = serde_json::to_value(&error.details).unwrap();
    assert_eq!((&details["native"]["exit_code"], &details["stderr"]["head"]), (&3.into(), &"boom".into()));
    assert!(!stage.session("s").await.ended);
    assert_eq!(status(&stage.turn("again").await), Some(TurnStatus::Completed));
    stage.assert_rules().await;
}

#[tokio::test]
async fn terminating_is_idempotent_and_final() {
    let stage = Stage::playing(HANGS).created().await;
    let id = "s".into();
    stage.send("go").await.unwrap();
    let waits = stage.send("never taken up").await.unwrap();
    stage.until(|event| said(std::slice::from_ref(event)) == ["Wait."]).await;
    let (one, two) = tokio::join!(stage.runtime.terminate(&id), stage.runtime.terminate(&id));
    one.unwrap();
    two.unwrap();
    stage.runtime.terminate(&id).await.unwrap();
    assert_eq!(waits.wait_for_turn().await, None);
    let events = stage.events().await;
    let ended = serde_json::to_value(events.last().unwrap()).unwrap();
    assert_eq!(ended["data"], serde_json::json!({ "reason": "terminated", "terminated_by": "daemon" }));
    assert_eq!(status(&events), Some(TurnStatus::Interrupted));
    let refused = stage.send("hello?").await.unwrap_err();
    assert!(matches!(refused, RuntimeError::SessionEnded(_)), "{refused:?}");
    let refused = stage.runtime.interrupt(&id).await.unwrap_err();
    assert!(matches!(refused, RuntimeError::SessionEnded(_)), "{refused:?}");
    stage.assert_rules().await;
}

#[tokio::test]
async fn a_session_that_was_never_used_can_be_terminated() {
    let stage = Stage::new().created().await;
    stage.runtime.terminate(&"s".into()).await.unwrap();
    assert_eq!(kinds(&stage.events().await), ["session.started", "session.ended"]);
    stage.assert_rules().await;
}

#[tokio::test]
async fn a_deleted_session_is_gone_and_its_name_is_free() {
    let stage = Stage::playing(HANGS).created().await;
    stage.send("go").await.unwrap();
    stage.until(nth("turn.started", 1)).await;
    stage.runtime.delete(&"s".into()).await.unwrap();
    let missing = stage.send("hello?").await.unwrap_err();
    assert!(matches!(missing, RuntimeError::SessionNotFound(_)), "{missing:?}");
    let missing = stage.runtime.delete(&"s".into()).await.unwrap_err();
    assert!(matches!(missing, RuntimeError::SessionNotFound(_)), "{missing:?}");
    stage.create("s").await.unwrap();
    assert_eq!(kinds(&stage.events().await), ["session.started"]);
}

#[tokio::test]
async fn attachments_are_shown_with_the_message_and_must_be_there() {
    let stage = Stage::new().created().await;
    let file = stage.folder.path().join("note.txt");
    std::fs::write(&file, "x").unwrap();
    let path = file.to_str().unwrap().to_owned();
    let with = |path: &str| Message::new("look").attachments(vec![Attachment::new(path)]);
    let sent = stage.runtime.send(&"s".into(), with(&path)).await.unwrap();
    let turn = stage.until_after(sent.wait_for_turn().await.unwrap(), is_turn_end).await;
    let shows_it = turn.iter().any(|event| match &event.data {
        EventData::ItemCompleted(done) => done
            .item
            .content
            .iter()
            .any(|part| matches!(part, ContentPart::FileRef { path: shown, .. } if *shown == path)),
        _ => false,
    });
    assert!(shows_it);
    for path in ["missing.txt", stage.folder.path().to_str().unwrap()] {
        let refused = stage.runtime.send(&"s".into(), with(path)).await.unwrap_err();
        assert!(matches!(refused, RuntimeError::InvalidRequest(_)), "{refused:?}");
    }
    let empty = stage.send("  ").await.unwrap_err();
    assert!(matches!(empty, RuntimeError::InvalidRequest(_)), "{empty:?}");
}

#[tokio::test]
async fn a_shutdown_interrupts_turns_and_leaves_sessions_open() {
    let stage = Stage::playing(HANGS).created().await;
    stage.send("go").await.unwrap();
    stage.until(|event| said(std::slice::from_ref(event)) == ["Wait."]).await;
    stage.send("later").await.unwrap();
    stage.runtime.shutdown().await;
    let events = stage.events().await;
    assert_eq!(status(&events), Some(TurnStatus::Interrupted));
    let refused = stage.send("hello?").await.unwrap_err();
    assert_eq!(refused, RuntimeError::ShuttingDown);
    assert!(!stage.session("s").await.ended);
    let Stage { runtime, store, folder } = stage;
    drop((runtime, store));
    // The next process takes the message up that waited.
    let stage = Stage::in_folder(folder, vec![Arc::new(MockDriver::new())]);
    let events = stage.until(nth("turn.ended", 2)).await;
    assert_eq!(said(&events).last().unwrap(), "later");
    stage.assert_rules().await;
}
