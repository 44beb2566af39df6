//! Claude Code, as it was recorded.

use interlingua_runtime::PermissionReply;
use interlingua_schema::{
    ApprovalScope, Attachment, EventData, Message, PermissionStatus, QuestionStatus, TurnStatus, UniversalEvent,
};

use rustix::process::{Signal, kill_process};

use crate::cast::Cast;
use crate::stage::{decisions, is_turn_end, nth, permissions, questions, said, status};

fn claude(recording: &str) -> Cast {
    Cast::playing("claude", recording)
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
async fn two_turns_are_had_with_one_process() {
    let cast = claude("stream-input-two-turns").created().await;
    let first = cast.stage.turn("one").await;
    let second = cast.stage.turn("two").await;
    assert_eq!((status(&first), status(&second)), (Some(TurnStatus::Completed), Some(TurnStatus::Completed)));
    assert_eq!((said(&first)[0].as_str(), said(&second)[0].as_str()), ("one", "two"));
    cast.stage.runtime.shutdown().await;
    cast.assert_over(1).await;
}

#[tokio::test]
async fn the_version_verdict_is_in_the_first_event() {
    let cast = claude("stream-input-two-turns").created().await;
    let events = cast.stage.events().await;
    let EventData::SessionStarted(started) = &events[0].data else { panic!("{events:#?}") };
    let metadata = serde_json::to_value(&started.metadata).unwrap();
    assert_eq!(metadata["native"]["agent_version_fit"], "same", "{metadata}");
}

#[tokio::test]
async fn a_tool_runs_once_it_is_allowed() {
    let cast = claude("perm-allow").created().await;
    cast.stage.send("Touch made.txt").await.unwrap();
    let asked = cast.stage.until(nth("permission.requested", 1)).await;
    let id = &permissions(&asked)[0];
    cast.stage.runtime.reply_permission(&"s".into(), id, PermissionReply::Once).await.unwrap();
    let events = cast.stage.until(is_turn_end).await;
    assert_eq!((decisions(&events), status(&events)), (vec![PermissionStatus::Approved], Some(TurnStatus::Completed)));
    cast.stage.runtime.terminate(&"s".into()).await.unwrap();
    cast.assert_over(1).await;
}

#[tokio::test]
async fn what_is_always_allowed_is_said_to_be() {
    let cast = claude("perm-allow-modified-always").created().await;
    cast.stage.send("go").await.unwrap();
    let asked = cast.stage.until(nth("permission.requested", 1)).await;
    cast.stage.runtime.reply_permission(&"s".into(), &permissions(&asked)[0], PermissionReply::Always).await.unwrap();
    let events = cast.stage.until(nth("permission.resolved", 1)).await;
    let EventData::PermissionResolved(resolved) = &events.last().unwrap().data else { panic!() };
    let scope = resolved.metadata.as_ref().unwrap().scope.clone();
    assert!(matches!(scope, Some(ApprovalScope::Session | ApprovalScope::Always)), "{scope:?}");
}

#[tokio::test]
async fn a_tool_that_is_refused_is_denied() {
    let cast = claude("perm-deny").created().await;
    cast.stage.send("Touch made.txt").await.unwrap();
    let asked = cast.stage.until(nth("permission.requested", 1)).await;
    cast.stage.runtime.reply_permission(&"s".into(), &permissions(&asked)[0], PermissionReply::Reject).await.unwrap();
    let events = cast.stage.until(is_turn_end).await;
    assert_eq!((decisions(&events), status(&events)), (vec![PermissionStatus::Denied], Some(TurnStatus::Completed)));
    cast.stage.assert_rules().await;
}

#[tokio::test]
async fn questions_that_were_asked_together_are_answered_together() {
    let cast = claude("ask-user-question").created().await;
    cast.stage.send("Set up storage").await.unwrap();
    let asked = cast.stage.until(nth("question.requested", 2)).await;
    for (id, answer) in questions(&asked).iter().zip([vec!["SQLite"], vec!["Auth", "Logs"]]) {
        let answer = answer.into_iter().map(str::to_owned).collect();
        cast.stage.runtime.reply_question(&"s".into(), id, answer).await.unwrap();
    }
    let events = cast.stage.until(is_turn_end).await;
    let answered = |words: &str| (QuestionStatus::Answered, Some(words.to_owned()));
    assert_eq!(answers(&events), [answered("SQLite"), answered("Auth, Logs")]);
    cast.stage.assert_rules().await;
}

#[tokio::test]
async fn a_plan_is_approved_and_then_carried_out() {
    let cast = claude("plan-file-approved");
    let create = cast.session().agent_mode("plan".to_owned());
    let cast = cast.created_as(create).await;
    cast.stage.send("Plan then fix add()").await.unwrap();
    let asked = cast.stage.until(nth("question.requested", 1)).await;
    cast.stage.runtime.reply_question(&"s".into(), &questions(&asked)[0], vec!["approve".into()]).await.unwrap();
    let asked = cast.stage.until(nth("permission.requested", 1)).await;
    cast.stage.runtime.reply_permission(&"s".into(), &permissions(&asked)[0], PermissionReply::Once).await.unwrap();
    let events = cast.stage.until(is_turn_end).await;
    assert_eq!(answers(&events), [(QuestionStatus::Answered, Some("approve".to_owned()))]);
    assert!(cast.starts()[0].1.contains("--permission-mode plan"), "{:?}", cast.starts());
    cast.stage.assert_rules().await;
}

#[tokio::test]
async fn a_plan_that_is_refused_is_rejected_with_the_reason() {
    let cast = claude("plan-file-rejected").created().await;
    cast.stage.send("Plan then fix add()").await.unwrap();
    let asked = cast.stage.until(nth("question.requested", 1)).await;
    cast.stage.runtime.reply_question(&"s".into(), &questions(&asked)[0], vec!["use tabs".into()]).await.unwrap();
    let events = cast.stage.until(is_turn_end).await;
    assert_eq!(answers(&events), [(QuestionStatus::Rejected, Some("use tabs".to_owned()))]);
    cast.stage.assert_rules().await;
}

#[tokio::test]
async fn what_an_mcp_server_asks_is_a_question() {
    let cast = claude("mcp-elicitation").created().await;
    cast.stage.send("ask me").await.unwrap();
    let asked = cast.stage.until(nth("question.requested", 1)).await;
    cast.stage.runtime.reply_question(&"s".into(), &questions(&asked)[0], vec!["kiwi".into()]).await.unwrap();
    let events = cast.stage.until(is_turn_end).await;
    assert_eq!(answers(&events), [(QuestionStatus::Answered, Some("kiwi".to_owned()))]);
    cast.stage.assert_rules().await;
}

#[tokio::test]
async fn an_interrupted_turn_ends_and_the_session_goes_on() {
    let cast = claude("interrupt-while-streaming").created().await;
    cast.stage.send("Talk slowly").await.unwrap();
    cast.stage.until(nth("item.delta", 2)).await;
    cast.stage.runtime.interrupt(&"s".into()).await.unwrap();
    assert_eq!(status(&cast.stage.events().await), Some(TurnStatus::Interrupted));
    assert_eq!(status(&cast.stage.turn("continue").await), Some(TurnStatus::Completed));
    cast.stage.runtime.terminate(&"s".into()).await.unwrap();
    cast.assert_over(1).await;
}

#[tokio::test]
async fn a_session_is_resumed_by_its_native_id_when_it_was_let_go() {
    let cast = claude("stream-input-two-turns").created().await;
    cast.stage.turn("one").await;
    let native = cast.stage.session("s").await.native_session_id.unwrap();
    kill_process(cast.starts()[0].0, Signal::TERM).unwrap();
    // A message may still be answered before the signal takes effect, or fail because of it.
    for _ in 0..3 {
        cast.stage.turn("two").await;
        if cast.starts().len() > 1 {
            break;
        }
    }
    let starts = cast.starts();
    assert!(starts[1].1.contains(&format!("--resume {native}")), "{starts:?}");
    cast.stage.runtime.shutdown().await;
    cast.assert_over(2).await;
}

#[tokio::test]
async fn an_image_goes_to_the_agent() {
    let cast = claude("image-input").created().await;
    let path = cast.stage.folder.path().join("dot.png");
    std::fs::write(&path, [1, 2, 3]).unwrap();
    let attachment = Attachment::new(path.to_str().unwrap());
    let message = Message::new("what").attachments(vec![attachment]);
    cast.stage.runtime.send(&"s".into(), message).await.unwrap();
    let events = cast.stage.until(is_turn_end).await;
    let shown = serde_json::to_string(&events).unwrap();
    assert!(shown.contains("data:image/png;base64,AQID"), "{shown}");
    cast.stage.assert_rules().await;
}

#[tokio::test]
async fn what_it_cannot_honour_is_refused() {
    let cast = claude("text");
    let wrong = [
        cast.session().agent_mode("custom".to_owned()),
        cast.session().variant("huge".to_owned()),
        cast.session().agent_version("1.0.0".to_owned()),
    ];
    for create in wrong {
        let refused = cast.stage.runtime.create("s".into(), create.clone()).await;
        assert!(refused.is_err(), "{create:?}");
    }
}

#[tokio::test]
async fn its_modes_can_be_listed() {
    let cast = claude("perm-allow");
    let modes = cast.stage.runtime.modes("claude").await.unwrap();
    assert_eq!(modes.iter().map(|mode| mode.id.as_str()).collect::<Vec<_>>(), ["build", "plan"]);
}
