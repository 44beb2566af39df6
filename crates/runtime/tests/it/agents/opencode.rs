//! OpenCode, as it was recorded: one HTTP server for all sessions.

use interlingua_runtime::{CreateSession, PermissionReply, RuntimeError};
use interlingua_schema::{EventData, PermissionStatus, QuestionStatus, TurnStatus, UniversalEvent};
use rustix::process::{Signal, kill_process};

use super::pair::{both_turns, create_both};
use crate::cast::{Cast, failures};
use crate::stage::{assert_rules, decisions, is_turn_end, kinds, nth, permissions, questions, said, status};

fn opencode(recording: &str) -> Cast {
    Cast::playing("opencode", recording).always_from_the_start()
}

/// Ends the server, and asserts that nothing is left of `count` HTTP servers.
async fn end(cast: &Cast, count: usize) -> Vec<UniversalEvent> {
    cast.stage.runtime.shutdown().await;
    cast.assert_over(count).await
}

#[tokio::test]
async fn turns_are_had_with_one_server() {
    let cast = opencode("text_deltas").created().await;
    let first = cast.stage.turn("one").await;
    let second = cast.stage.turn("two").await;
    assert_eq!((status(&first), status(&second)), (Some(TurnStatus::Completed), Some(TurnStatus::Completed)));
    assert!(said(&first).len() > 1, "{:?}", said(&first));
    let agents = cast.stage.runtime.agents();
    let server = agents.into_iter().find(|agent| agent.id == "opencode").unwrap().server.unwrap();
    assert!(server.base_url.unwrap().starts_with("http://127.0.0.1:"));
    end(&cast, 1).await;
}

#[tokio::test]
async fn a_command_is_a_tool_call_with_its_output() {
    let cast = opencode("bash_tool").created().await;
    let events = cast.stage.turn("run it").await;
    assert_eq!(status(&events), Some(TurnStatus::Completed), "{:?}", kinds(&events));
    let is_tool = |event: &UniversalEvent| match &event.data {
        EventData::ItemCompleted(completed) => completed.item.kind == interlingua_schema::ItemKind::ToolCall,
        _ => false,
    };
    assert!(events.iter().any(is_tool), "{:?}", kinds(&events));
    end(&cast, 1).await;
}

#[tokio::test]
async fn tools_run_once_they_are_allowed() {
    let cast = opencode("permission_once").created().await;
    cast.stage.send("go").await.unwrap();
    for (count, reply) in [(1, PermissionReply::Once), (2, PermissionReply::Once)] {
        let asked = cast.stage.until(nth("permission.requested", count)).await;
        let id = permissions(&asked).pop().unwrap();
        cast.stage.runtime.reply_permission(&"s".into(), &id, reply).await.unwrap();
    }
    let events = cast.stage.until(is_turn_end).await;
    let yes = PermissionStatus::Approved;
    assert_eq!((decisions(&events), status(&events)), (vec![yes.clone(), yes], Some(TurnStatus::Completed)));
    end(&cast, 1).await;
}

#[tokio::test]
async fn a_tool_that_is_refused_is_denied() {
    let cast = opencode("permission_reject_message").created().await;
    cast.stage.send("go").await.unwrap();
    let asked = cast.stage.until(nth("permission.requested", 1)).await;
    cast.stage.runtime.reply_permission(&"s".into(), &permissions(&asked)[0], PermissionReply::Reject).await.unwrap();
    let events = cast.stage.until(is_turn_end).await;
    assert_eq!(decisions(&events), [PermissionStatus::Denied], "{:?}", kinds(&events));
    end(&cast, 1).await;
}

#[tokio::test]
async fn questions_are_answered_together_and_refused() {
    let cast = opencode("question_reply").created().await;
    cast.stage.send("ask").await.unwrap();
    let asked = cast.stage.until(nth("question.requested", 2)).await;
    for (id, answer) in questions(&asked).iter().zip([vec!["Blue"], vec!["S", "custom size"]]) {
        let answer = answer.into_iter().map(str::to_owned).collect();
        cast.stage.runtime.reply_question(&"s".into(), id, answer).await.unwrap();
    }
    let events = cast.stage.until(is_turn_end).await;
    let answered = |words: &str| (QuestionStatus::Answered, Some(words.to_owned()));
    assert_eq!(answers(&events), [answered("Blue"), answered("S, custom size")]);
    end(&cast, 1).await;

    let cast = opencode("question_reject").created().await;
    cast.stage.send("ask").await.unwrap();
    let asked = cast.stage.until(nth("question.requested", 1)).await;
    cast.stage.runtime.reject_question(&"s".into(), &questions(&asked)[0]).await.unwrap();
    let events = cast.stage.until(is_turn_end).await;
    assert_eq!(answers(&events)[0].0, QuestionStatus::Rejected);
    end(&cast, 1).await;
}

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
async fn an_interrupt_ends_the_turn() {
    let recordings = [("abort_bash", "item.started", 2), ("permission_abort_while_pending", "permission.requested", 1)];
    for (recording, kind, count) in recordings {
        let cast = opencode(recording).created().await;
        cast.stage.send("go").await.unwrap();
        cast.stage.until(nth(kind, count)).await;
        cast.stage.runtime.interrupt(&"s".into()).await.unwrap();
        let events = end(&cast, 1).await;
        assert_eq!(status(&events), Some(TurnStatus::Interrupted), "{recording}: {:?}", kinds(&events));
    }
}

#[tokio::test]
async fn two_sessions_at_once_share_a_server_and_hear_only_of_themselves() {
    let cast = opencode("two_sessions");
    create_both(&cast).await;
    let both = both_turns(&cast).await;
    for events in &both {
        assert_eq!(status(events), Some(TurnStatus::Completed), "{:?}", kinds(events));
        assert_eq!(events.iter().filter(|event| is_turn_end(event)).count(), 1);
        assert_rules(events);
    }
    let natives = [0, 1].map(|place: usize| both[place].last().unwrap().native_session_id.clone());
    assert_ne!(natives[0], natives[1]);
    end(&cast, 1).await;
}

#[tokio::test]
async fn what_sub_agents_do_belongs_to_the_session_that_started_them() {
    let cast = opencode("task_subagent").created().await;
    let events = cast.stage.turn("delegate").await;
    assert_eq!(status(&events), Some(TurnStatus::Completed), "{:?}", kinds(&events));
    let is_childs = |event: &UniversalEvent| match &event.data {
        EventData::ItemStarted(started) => started.item.parent_id.is_some(),
        _ => false,
    };
    assert!(events.iter().any(is_childs), "{:?}", kinds(&events));
    end(&cast, 1).await;
}

#[tokio::test]
async fn a_server_that_was_killed_is_started_again_and_goes_on_with_the_session() {
    let cast = Cast::playing("opencode", "text_deltas").created().await;
    cast.stage.turn("one").await;
    let native = cast.stage.session("s").await.native_session_id;
    kill_process(cast.starts()[0].0, Signal::KILL).unwrap();
    // The next message may come before the death is noticed, or after.
    let mut next = cast.stage.turn("two").await;
    if status(&next) == Some(TurnStatus::Failed) {
        next = cast.stage.turn("two").await;
    }
    assert_eq!(status(&next), Some(TurnStatus::Completed), "{:?}", kinds(&next));
    assert_eq!(cast.stage.session("s").await.native_session_id, native);
    end(&cast, 2).await;
}

#[tokio::test]
async fn a_session_goes_on_after_the_server_was_restarted() {
    let cast = Cast::playing("opencode", "text_deltas").baked().created().await;
    cast.stage.turn("one").await;
    let native = cast.stage.session("s").await.native_session_id;
    let cast = cast.restarted().await;
    let next = cast.stage.turn("two").await;
    assert_eq!(status(&next), Some(TurnStatus::Completed), "{:?}", kinds(&next));
    assert_eq!(cast.stage.session("s").await.native_session_id, native);
    end(&cast, 2).await;
}

#[tokio::test]
async fn all_sessions_with_a_turn_learn_that_the_server_died() {
    let cast = opencode("two_sessions").fault("die-after=40:9");
    create_both(&cast).await;
    for events in both_turns(&cast).await {
        assert_eq!(status(&events), Some(TurnStatus::Failed), "{:?}", kinds(&events));
        assert!(!failures(&events).is_empty());
        assert_rules(&events);
    }
    end(&cast, 1).await;
}

#[tokio::test]
async fn what_opencode_cannot_honour_is_refused() {
    let cast = opencode("text_deltas");
    let refused = |create: CreateSession| cast.stage.runtime.create("s".into(), create);
    let mode = cast.session().agent_mode("custom".to_owned());
    assert!(matches!(refused(mode).await, Err(RuntimeError::ModeNotSupported { .. })));
    let model = cast.session().model("gpt".to_owned());
    assert!(matches!(refused(model).await, Err(RuntimeError::InvalidRequest(_))));
}
