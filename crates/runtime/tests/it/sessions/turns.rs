//! Messages, turns, interrupts, and the end of sessions.

use std::sync::Arc;
use std::time::Duration;

use interlingua_runtime::RuntimeError;
use interlingua_runtime::mock::MockDriver;
use interlingua_schema::{Attachment, ContentPart, EventData, Message, PermissionStatus, TurnStatus};
use tokio::time::Instant;

use crate::test_runtime::{TestRuntime, event_types, is_nth, is_turn_end, permission_statuses, texts, turn_status};

const HANGS: &str = "[[turn]]\nstep = [{ say = \"Wait.\" }, { hang = true }]\n";
const CRASHES: &str = r#"
    [[turn]]
    step = [{ say = "I go." }, { stderr = "boom" }, { exit = 3 }]
"#;

#[tokio::test]
async fn queued_messages_run_in_order_one_turn_at_a_time() {
    let test = TestRuntime::with_mock(MockDriver::new().pace(Duration::from_millis(1))).with_session().await;
    for number in 0..5 {
        test.send(&format!("number {number}")).await.unwrap();
    }
    let events = test.wait_for(is_nth("turn.ended", 5)).await;
    let expected: Vec<String> =
        (0..5).flat_map(|number| [format!("number {number}"), format!("number {number}")]).collect();
    assert_eq!(texts(&events), expected);
    test.assert_no_violations().await;
}

#[tokio::test]
async fn a_sent_message_returns_where_its_turn_starts() {
    let test = TestRuntime::new().with_session().await;
    let first = test.send("one").await.unwrap();
    let second = test.send("two").await.unwrap();
    assert_eq!(first.wait_for_turn().await, Some(1));
    let after = second.wait_for_turn().await.unwrap();
    let turn = test.wait_for_after(after, is_turn_end).await;
    assert_eq!(turn[0].data.kind(), "turn.started");
    assert_eq!(texts(&turn), ["two", "two"]);
}

#[tokio::test]
async fn an_interrupt_ends_the_turn_and_keeps_the_queue() {
    let test = TestRuntime::new().with_session().await;
    test.send("permission").await.unwrap();
    test.send("next").await.unwrap();
    test.wait_for(is_nth("permission.requested", 2)).await;
    test.runtime.interrupt(&"s".into()).await.unwrap();
    let events = test.events().await;
    let first_turn =
        &events[..=events.iter().position(is_turn_end).expect("the interrupt returned before the end of the turn")];
    assert_eq!(turn_status(first_turn), Some(TurnStatus::Interrupted));
    assert_eq!(permission_statuses(first_turn), [PermissionStatus::Denied, PermissionStatus::Denied]);
    assert!(!event_types(first_turn).contains(&"error"));
    let events = test.wait_for(is_nth("turn.ended", 2)).await;
    assert_eq!(texts(&events).last().unwrap(), "next");
    test.assert_no_violations().await;
}

#[tokio::test]
async fn an_interrupt_without_a_turn_changes_nothing() {
    let test = TestRuntime::new().with_session().await;
    test.run_turn("hi").await;
    let before = test.events().await.len();
    test.runtime.interrupt(&"s".into()).await.unwrap();
    assert_eq!(test.events().await.len(), before);
}

#[tokio::test]
async fn an_agent_that_ignores_an_interrupt_is_ended_and_restarted() {
    let test = TestRuntime::with_scenario(HANGS).with_session().await;
    test.send("go").await.unwrap();
    test.wait_for(|event| texts(std::slice::from_ref(event)) == ["Wait."]).await;
    let started = Instant::now();
    test.runtime.interrupt(&"s".into()).await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(turn_status(&test.events().await), Some(TurnStatus::Interrupted));
    assert_eq!(texts(&test.run_turn("still there?").await).last().unwrap(), "still there?");
    test.assert_no_violations().await;
}

#[tokio::test]
async fn an_agent_that_dies_fails_its_turn_and_is_restarted() {
    let test = TestRuntime::with_scenario(CRASHES).with_session().await;
    let turn = test.run_turn("go").await;
    assert_eq!(turn_status(&turn), Some(TurnStatus::Failed));
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
    assert!(!test.session("s").await.ended);
    assert_eq!(turn_status(&test.run_turn("again").await), Some(TurnStatus::Completed));
    test.assert_no_violations().await;
}

#[tokio::test]
async fn terminating_is_idempotent_and_final() {
    let test = TestRuntime::with_scenario(HANGS).with_session().await;
    let id = "s".into();
    test.send("go").await.unwrap();
    let queued = test.send("never taken up").await.unwrap();
    test.wait_for(|event| texts(std::slice::from_ref(event)) == ["Wait."]).await;
    let (one, two) = tokio::join!(test.runtime.terminate(&id), test.runtime.terminate(&id));
    one.unwrap();
    two.unwrap();
    test.runtime.terminate(&id).await.unwrap();
    assert_eq!(queued.wait_for_turn().await, None);
    let events = test.events().await;
    let ended = serde_json::to_value(events.last().unwrap()).unwrap();
    assert_eq!(ended["data"], serde_json::json!({ "reason": "terminated", "terminated_by": "daemon" }));
    assert_eq!(turn_status(&events), Some(TurnStatus::Interrupted));
    let refused = test.send("hello?").await.unwrap_err();
    assert!(matches!(refused, RuntimeError::SessionEnded(_)), "{refused:?}");
    let refused = test.runtime.interrupt(&id).await.unwrap_err();
    assert!(matches!(refused, RuntimeError::SessionEnded(_)), "{refused:?}");
    test.assert_no_violations().await;
}

#[tokio::test]
async fn an_unused_session_can_be_terminated() {
    let test = TestRuntime::new().with_session().await;
    test.runtime.terminate(&"s".into()).await.unwrap();
    assert_eq!(event_types(&test.events().await), ["session.started", "session.ended"]);
    test.assert_no_violations().await;
}

#[tokio::test]
async fn a_deleted_session_is_gone_and_its_id_can_be_used_again() {
    let test = TestRuntime::with_scenario(HANGS).with_session().await;
    test.send("go").await.unwrap();
    test.wait_for(is_nth("turn.started", 1)).await;
    test.runtime.delete(&"s".into()).await.unwrap();
    let missing = test.send("hello?").await.unwrap_err();
    assert!(matches!(missing, RuntimeError::SessionNotFound(_)), "{missing:?}");
    let missing = test.runtime.delete(&"s".into()).await.unwrap_err();
    assert!(matches!(missing, RuntimeError::SessionNotFound(_)), "{missing:?}");
    test.create("s").await.unwrap();
    assert_eq!(event_types(&test.events().await), ["session.started"]);
}

#[tokio::test]
async fn attachments_are_in_the_stream_and_must_exist() {
    let test = TestRuntime::new().with_session().await;
    let file = test.folder.path().join("note.txt");
    std::fs::write(&file, "x").unwrap();
    let path = file.to_str().unwrap().to_owned();
    let message_with = |path: &str| Message::new("look").attachments(vec![Attachment::new(path)]);
    let sent = test.runtime.send(&"s".into(), message_with(&path)).await.unwrap();
    let turn = test.wait_for_after(sent.wait_for_turn().await.unwrap(), is_turn_end).await;
    let has_attachment = turn.iter().any(|event| match &event.data {
        EventData::ItemCompleted(done) => done
            .item
            .content
            .iter()
            .any(|part| matches!(part, ContentPart::FileRef { path: part_path, .. } if *part_path == path)),
        _ => false,
    });
    assert!(has_attachment);
    for path in ["missing.txt", test.folder.path().to_str().unwrap()] {
        let refused = test.runtime.send(&"s".into(), message_with(path)).await.unwrap_err();
        assert!(matches!(refused, RuntimeError::InvalidRequest(_)), "{refused:?}");
    }
    let empty = test.send("  ").await.unwrap_err();
    assert!(matches!(empty, RuntimeError::InvalidRequest(_)), "{empty:?}");
}

#[tokio::test]
async fn a_shutdown_interrupts_turns_and_leaves_sessions_open() {
    let test = TestRuntime::with_scenario(HANGS).with_session().await;
    test.send("go").await.unwrap();
    test.wait_for(|event| texts(std::slice::from_ref(event)) == ["Wait."]).await;
    test.send("later").await.unwrap();
    test.runtime.shutdown().await;
    let events = test.events().await;
    assert_eq!(turn_status(&events), Some(TurnStatus::Interrupted));
    let refused = test.send("hello?").await.unwrap_err();
    assert_eq!(refused, RuntimeError::ShuttingDown);
    assert!(!test.session("s").await.ended);
    let TestRuntime { runtime, store, folder } = test;
    drop((runtime, store));
    // The next process takes the queued message.
    let test = TestRuntime::in_folder(folder, vec![Arc::new(MockDriver::new())]);
    let events = test.wait_for(is_nth("turn.ended", 2)).await;
    assert_eq!(texts(&events).last().unwrap(), "later");
    test.assert_no_violations().await;
}
