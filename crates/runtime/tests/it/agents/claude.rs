//! The driver of Claude Code, against recordings.

use std::time::Duration;

use interlingua_runtime::PermissionReply;
use interlingua_schema::{
    ApprovalScope, Attachment, EventData, Message, PermissionStatus, QuestionStatus, TurnStatus, UniversalEvent,
};

use rustix::process::{Signal, kill_process};

use crate::stand_in::{StandIn, is_alive};
use crate::test_runtime::{is_nth, is_turn_end, permission_ids, permission_statuses, question_ids, texts, turn_status};

fn claude(recording: &str) -> StandIn {
    StandIn::replaying("claude", recording)
}

/// How questions were resolved, in order.
fn answers(events: &[UniversalEvent]) -> Vec<(QuestionStatus, Option<String>)> {
    events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::QuestionResolved(question) => Some((question.status.clone(), question.response.clone())),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn two_turns_use_one_process() {
    let stand_in = claude("stream-input-two-turns").with_session().await;
    let first = stand_in.test.run_turn("one").await;
    let second = stand_in.test.run_turn("two").await;
    assert_eq!((turn_status(&first), turn_status(&second)), (Some(TurnStatus::Completed), Some(TurnStatus::Completed)));
    assert_eq!((texts(&first)[0].as_str(), texts(&second)[0].as_str()), ("one", "two"));
    stand_in.test.runtime.shutdown().await;
    stand_in.assert_processes_ended(1).await;
}

#[tokio::test]
async fn the_first_event_has_the_version_fit() {
    // A scenario, because only those are recorded with the pinned version.
    let stand_in = claude("greeting").with_session().await;
    let events = stand_in.test.events().await;
    let EventData::SessionStarted(started) = &events[0].data else { panic!("{events:#?}") };
    let metadata = serde_json::to_value(&started.metadata).unwrap();
    assert_eq!(metadata["native"]["agent_version_fit"], "same", "{metadata}");
}

#[tokio::test]
async fn an_allowed_tool_runs() {
    let stand_in = claude("perm-allow").with_session().await;
    stand_in.test.send("Touch made.txt").await.unwrap();
    let requested = stand_in.test.wait_for(is_nth("permission.requested", 1)).await;
    let id = &permission_ids(&requested)[0];
    stand_in.test.runtime.reply_permission(&"s".into(), id, PermissionReply::Once).await.unwrap();
    let events = stand_in.test.wait_for(is_turn_end).await;
    assert_eq!(
        (permission_statuses(&events), turn_status(&events)),
        (vec![PermissionStatus::Approved], Some(TurnStatus::Completed))
    );
    stand_in.test.runtime.terminate(&"s".into()).await.unwrap();
    stand_in.assert_processes_ended(1).await;
}

#[tokio::test]
async fn an_approval_from_now_on_is_reported_with_its_scope() {
    let stand_in = claude("perm-allow-modified-always").with_session().await;
    stand_in.test.send("go").await.unwrap();
    let requested = stand_in.test.wait_for(is_nth("permission.requested", 1)).await;
    stand_in
        .test
        .runtime
        .reply_permission(&"s".into(), &permission_ids(&requested)[0], PermissionReply::Always)
        .await
        .unwrap();
    let events = stand_in.test.wait_for(is_nth("permission.resolved", 1)).await;
    let EventData::PermissionResolved(resolved) = &events.last().unwrap().data else { panic!() };
    let scope = resolved.metadata.as_ref().unwrap().scope.clone();
    assert!(matches!(scope, Some(ApprovalScope::Session | ApprovalScope::Always)), "{scope:?}");
}

#[tokio::test]
async fn a_rejected_tool_is_denied() {
    let stand_in = claude("perm-deny").with_session().await;
    stand_in.test.send("Touch made.txt").await.unwrap();
    let requested = stand_in.test.wait_for(is_nth("permission.requested", 1)).await;
    stand_in
        .test
        .runtime
        .reply_permission(&"s".into(), &permission_ids(&requested)[0], PermissionReply::Reject)
        .await
        .unwrap();
    let events = stand_in.test.wait_for(is_turn_end).await;
    assert_eq!(
        (permission_statuses(&events), turn_status(&events)),
        (vec![PermissionStatus::Denied], Some(TurnStatus::Completed))
    );
    stand_in.test.assert_no_violations().await;
}

#[tokio::test]
async fn questions_of_one_request_are_answered_together() {
    let stand_in = claude("ask-user-question").with_session().await;
    stand_in.test.send("Set up storage").await.unwrap();
    let requested = stand_in.test.wait_for(is_nth("question.requested", 2)).await;
    for (id, answer) in question_ids(&requested).iter().zip([vec!["SQLite"], vec!["Auth", "Logs"]]) {
        let answer = answer.into_iter().map(str::to_owned).collect();
        stand_in.test.runtime.reply_question(&"s".into(), id, answer).await.unwrap();
    }
    let events = stand_in.test.wait_for(is_turn_end).await;
    let answered = |words: &str| (QuestionStatus::Answered, Some(words.to_owned()));
    assert_eq!(answers(&events), [answered("SQLite"), answered("Auth, Logs")]);
    stand_in.test.assert_no_violations().await;
}

#[tokio::test]
async fn a_plan_is_approved_and_then_carried_out() {
    let stand_in = claude("plan-file-approved");
    let create = stand_in.session().agent_mode("plan".to_owned());
    let stand_in = stand_in.with_session_options(create).await;
    stand_in.test.send("Plan then fix add()").await.unwrap();
    let requested = stand_in.test.wait_for(is_nth("question.requested", 1)).await;
    stand_in
        .test
        .runtime
        .reply_question(&"s".into(), &question_ids(&requested)[0], vec!["approve".into()])
        .await
        .unwrap();
    let requested = stand_in.test.wait_for(is_nth("permission.requested", 1)).await;
    stand_in
        .test
        .runtime
        .reply_permission(&"s".into(), &permission_ids(&requested)[0], PermissionReply::Once)
        .await
        .unwrap();
    let events = stand_in.test.wait_for(is_turn_end).await;
    assert_eq!(answers(&events), [(QuestionStatus::Answered, Some("approve".to_owned()))]);
    assert!(stand_in.process_starts()[0].1.contains("--permission-mode plan"), "{:?}", stand_in.process_starts());
    stand_in.test.assert_no_violations().await;
}

#[tokio::test]
async fn a_rejected_plan_has_the_reason() {
    let stand_in = claude("plan-file-rejected").with_session().await;
    stand_in.test.send("Plan then fix add()").await.unwrap();
    let requested = stand_in.test.wait_for(is_nth("question.requested", 1)).await;
    stand_in
        .test
        .runtime
        .reply_question(&"s".into(), &question_ids(&requested)[0], vec!["use tabs".into()])
        .await
        .unwrap();
    let events = stand_in.test.wait_for(is_turn_end).await;
    assert_eq!(answers(&events), [(QuestionStatus::Rejected, Some("use tabs".to_owned()))]);
    stand_in.test.assert_no_violations().await;
}

#[tokio::test]
async fn an_elicitation_of_an_mcp_server_is_a_question() {
    let stand_in = claude("mcp-elicitation").with_session().await;
    stand_in.test.send("ask me").await.unwrap();
    let requested = stand_in.test.wait_for(is_nth("question.requested", 1)).await;
    stand_in.test.runtime.reply_question(&"s".into(), &question_ids(&requested)[0], vec!["kiwi".into()]).await.unwrap();
    let events = stand_in.test.wait_for(is_turn_end).await;
    assert_eq!(answers(&events), [(QuestionStatus::Answered, Some("kiwi".to_owned()))]);
    stand_in.test.assert_no_violations().await;
}

#[tokio::test]
async fn an_interrupted_turn_ends_and_the_session_continues() {
    let stand_in = claude("interrupt-while-streaming").with_session().await;
    stand_in.test.send("Talk slowly").await.unwrap();
    stand_in.test.wait_for(is_nth("item.delta", 2)).await;
    stand_in.test.runtime.interrupt(&"s".into()).await.unwrap();
    assert_eq!(turn_status(&stand_in.test.events().await), Some(TurnStatus::Interrupted));
    assert_eq!(turn_status(&stand_in.test.run_turn("continue").await), Some(TurnStatus::Completed));
    stand_in.test.runtime.terminate(&"s".into()).await.unwrap();
    stand_in.assert_processes_ended(1).await;
}

#[tokio::test]
async fn a_session_whose_process_died_is_resumed_by_its_native_id() {
    let stand_in = claude("stream-input-two-turns").with_session().await;
    stand_in.test.run_turn("one").await;
    let native = stand_in.test.session("s").await.native_session_id.unwrap();
    let process = stand_in.process_starts()[0].0;
    kill_process(process, Signal::TERM).unwrap();
    while is_alive(process) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // A message that arrives before the driver knows of the exit fails.
    for _ in 0..3 {
        stand_in.test.run_turn("two").await;
        if stand_in.process_starts().len() > 1 {
            break;
        }
    }
    let starts = stand_in.process_starts();
    assert!(starts[1].1.contains(&format!("--resume {native}")), "{starts:?}");
    stand_in.test.runtime.shutdown().await;
    stand_in.assert_processes_ended(2).await;
}

#[tokio::test]
async fn an_image_is_sent_to_the_agent() {
    let stand_in = claude("image-input").with_session().await;
    let path = stand_in.test.folder.path().join("dot.png");
    std::fs::write(&path, [1, 2, 3]).unwrap();
    let attachment = Attachment::new(path.to_str().unwrap());
    let message = Message::new("what").attachments(vec![attachment]);
    stand_in.test.runtime.send(&"s".into(), message).await.unwrap();
    let events = stand_in.test.wait_for(is_turn_end).await;
    let shown = serde_json::to_string(&events).unwrap();
    assert!(shown.contains("data:image/png;base64,AQID"), "{shown}");
    stand_in.test.assert_no_violations().await;
}

#[tokio::test]
async fn unsupported_options_are_refused() {
    let stand_in = claude("text");
    let wrong = [
        stand_in.session().agent_mode("custom".to_owned()),
        stand_in.session().variant("huge".to_owned()),
        stand_in.session().agent_version("1.0.0".to_owned()),
    ];
    for create in wrong {
        let refused = stand_in.test.runtime.create("s".into(), create.clone()).await;
        assert!(refused.is_err(), "{create:?}");
    }
}

#[tokio::test]
async fn modes_can_be_listed() {
    let stand_in = claude("perm-allow");
    let modes = stand_in.test.runtime.modes("claude").await.unwrap();
    assert_eq!(modes.iter().map(|mode| mode.id.as_str()).collect::<Vec<_>>(), ["build", "plan"]);
}
