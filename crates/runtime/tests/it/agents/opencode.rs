//! The driver of OpenCode, against recordings: one HTTP server for all sessions.

use interlingua_runtime::{CreateSession, PermissionReply, RuntimeError};
use interlingua_schema::{EventData, PermissionStatus, QuestionStatus, TurnStatus, UniversalEvent};
use rustix::process::{Signal, kill_process};

use super::two_sessions::{create_two_sessions, run_both_turns};
use crate::stand_in::{StandIn, error_messages};
use crate::test_runtime::{
    assert_no_violations, event_types, is_nth, is_turn_end, permission_ids, permission_statuses, question_ids, texts,
    turn_status,
};

fn opencode(recording: &str) -> StandIn {
    StandIn::replaying("opencode", recording).replay_from_start()
}

/// Shuts the runtime down, and asserts that none of `count` HTTP servers is left.
async fn shutdown(stand_in: &StandIn, count: usize) -> Vec<UniversalEvent> {
    stand_in.test.runtime.shutdown().await;
    stand_in.assert_processes_ended(count).await
}

#[tokio::test]
async fn all_turns_use_one_server() {
    let stand_in = opencode("text_deltas").with_session().await;
    let first = stand_in.test.run_turn("one").await;
    let second = stand_in.test.run_turn("two").await;
    assert_eq!((turn_status(&first), turn_status(&second)), (Some(TurnStatus::Completed), Some(TurnStatus::Completed)));
    assert!(texts(&first).len() > 1, "{:?}", texts(&first));
    let agents = stand_in.test.runtime.agents();
    let server = agents.into_iter().find(|agent| agent.id == "opencode").unwrap().server.unwrap();
    assert!(server.base_url.unwrap().starts_with("http://127.0.0.1:"));
    shutdown(&stand_in, 1).await;
}

#[tokio::test]
async fn a_command_is_a_tool_call_with_its_output() {
    let stand_in = opencode("bash_tool").with_session().await;
    let events = stand_in.test.run_turn("run it").await;
    assert_eq!(turn_status(&events), Some(TurnStatus::Completed), "{:?}", event_types(&events));
    let is_tool = |event: &UniversalEvent| match &event.data {
        EventData::ItemCompleted(completed) => completed.item.kind == interlingua_schema::ItemKind::ToolCall,
        _ => false,
    };
    assert!(events.iter().any(is_tool), "{:?}", event_types(&events));
    shutdown(&stand_in, 1).await;
}

#[tokio::test]
async fn allowed_tools_run() {
    let stand_in = opencode("permission_once").with_session().await;
    stand_in.test.send("go").await.unwrap();
    for (count, reply) in [(1, PermissionReply::Once), (2, PermissionReply::Once)] {
        let requested = stand_in.test.wait_for(is_nth("permission.requested", count)).await;
        let id = permission_ids(&requested).pop().unwrap();
        stand_in.test.runtime.reply_permission(&"s".into(), &id, reply).await.unwrap();
    }
    let events = stand_in.test.wait_for(is_turn_end).await;
    let approved = PermissionStatus::Approved;
    assert_eq!(
        (permission_statuses(&events), turn_status(&events)),
        (vec![approved.clone(), approved], Some(TurnStatus::Completed))
    );
    shutdown(&stand_in, 1).await;
}

#[tokio::test]
async fn a_rejected_tool_is_denied() {
    let stand_in = opencode("permission_reject_message").with_session().await;
    stand_in.test.send("go").await.unwrap();
    let requested = stand_in.test.wait_for(is_nth("permission.requested", 1)).await;
    stand_in
        .test
        .runtime
        .reply_permission(&"s".into(), &permission_ids(&requested)[0], PermissionReply::Reject)
        .await
        .unwrap();
    let events = stand_in.test.wait_for(is_turn_end).await;
    assert_eq!(permission_statuses(&events), [PermissionStatus::Denied], "{:?}", event_types(&events));
    shutdown(&stand_in, 1).await;
}

#[tokio::test]
async fn questions_are_answered_together_or_rejected() {
    let stand_in = opencode("question_reply").with_session().await;
    stand_in.test.send("ask").await.unwrap();
    let requested = stand_in.test.wait_for(is_nth("question.requested", 2)).await;
    for (id, answer) in question_ids(&requested).iter().zip([vec!["Blue"], vec!["S", "custom size"]]) {
        let answer = answer.into_iter().map(str::to_owned).collect();
        stand_in.test.runtime.reply_question(&"s".into(), id, answer).await.unwrap();
    }
    let events = stand_in.test.wait_for(is_turn_end).await;
    let answered = |words: &str| (QuestionStatus::Answered, Some(words.to_owned()));
    assert_eq!(answers(&events), [answered("Blue"), answered("S, custom size")]);
    shutdown(&stand_in, 1).await;

    let stand_in = opencode("question_reject").with_session().await;
    stand_in.test.send("ask").await.unwrap();
    let requested = stand_in.test.wait_for(is_nth("question.requested", 1)).await;
    stand_in.test.runtime.reject_question(&"s".into(), &question_ids(&requested)[0]).await.unwrap();
    let events = stand_in.test.wait_for(is_turn_end).await;
    assert_eq!(answers(&events)[0].0, QuestionStatus::Rejected);
    shutdown(&stand_in, 1).await;
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
        let stand_in = opencode(recording).with_session().await;
        stand_in.test.send("go").await.unwrap();
        stand_in.test.wait_for(is_nth(kind, count)).await;
        stand_in.test.runtime.interrupt(&"s".into()).await.unwrap();
        let events = shutdown(&stand_in, 1).await;
        assert_eq!(turn_status(&events), Some(TurnStatus::Interrupted), "{recording}: {:?}", event_types(&events));
    }
}

#[tokio::test]
async fn two_sessions_share_a_server_and_get_only_their_own_events() {
    let stand_in = opencode("two_sessions");
    create_two_sessions(&stand_in).await;
    let both = run_both_turns(&stand_in).await;
    for events in &both {
        assert_eq!(turn_status(events), Some(TurnStatus::Completed), "{:?}", event_types(events));
        assert_eq!(events.iter().filter(|event| is_turn_end(event)).count(), 1);
        assert_no_violations(events);
    }
    let native_ids = [0, 1].map(|index: usize| both[index].last().unwrap().native_session_id.clone());
    assert_ne!(native_ids[0], native_ids[1]);
    shutdown(&stand_in, 1).await;
}

#[tokio::test]
async fn events_of_sub_agents_belong_to_the_session_that_spawned_them() {
    let stand_in = opencode("task_subagent").with_session().await;
    let events = stand_in.test.run_turn("delegate").await;
    assert_eq!(turn_status(&events), Some(TurnStatus::Completed), "{:?}", event_types(&events));
    let is_sub_agent_item = |event: &UniversalEvent| match &event.data {
        EventData::ItemStarted(started) => started.item.parent_id.is_some(),
        _ => false,
    };
    assert!(events.iter().any(is_sub_agent_item), "{:?}", event_types(&events));
    shutdown(&stand_in, 1).await;
}

#[tokio::test]
async fn a_killed_server_is_restarted_and_continues_the_session() {
    let stand_in = StandIn::replaying("opencode", "text_deltas").with_session().await;
    stand_in.test.run_turn("one").await;
    let native = stand_in.test.session("s").await.native_session_id;
    kill_process(stand_in.process_starts()[0].0, Signal::KILL).unwrap();
    // The next message may arrive before or after the death is noticed.
    let mut next = stand_in.test.run_turn("two").await;
    if turn_status(&next) == Some(TurnStatus::Failed) {
        next = stand_in.test.run_turn("two").await;
    }
    assert_eq!(turn_status(&next), Some(TurnStatus::Completed), "{:?}", event_types(&next));
    assert_eq!(stand_in.test.session("s").await.native_session_id, native);
    shutdown(&stand_in, 2).await;
}

#[tokio::test]
async fn a_session_continues_after_a_restart() {
    let stand_in = StandIn::replaying("opencode", "text_deltas").with_embedded_environment().with_session().await;
    stand_in.test.run_turn("one").await;
    let native = stand_in.test.session("s").await.native_session_id;
    let stand_in = stand_in.restart().await;
    let next = stand_in.test.run_turn("two").await;
    assert_eq!(turn_status(&next), Some(TurnStatus::Completed), "{:?}", event_types(&next));
    assert_eq!(stand_in.test.session("s").await.native_session_id, native);
    shutdown(&stand_in, 2).await;
}

#[tokio::test]
async fn the_death_of_the_server_fails_the_turns_of_all_sessions() {
    let stand_in = opencode("two_sessions").with_fault("die-after=40:9");
    create_two_sessions(&stand_in).await;
    for events in run_both_turns(&stand_in).await {
        assert_eq!(turn_status(&events), Some(TurnStatus::Failed), "{:?}", event_types(&events));
        assert!(!error_messages(&events).is_empty());
        assert_no_violations(&events);
    }
    shutdown(&stand_in, 1).await;
}

#[tokio::test]
async fn unsupported_options_are_refused() {
    let stand_in = opencode("text_deltas");
    let refused = |create: CreateSession| stand_in.test.runtime.create("s".into(), create);
    let mode = stand_in.session().agent_mode("custom".to_owned());
    assert!(matches!(refused(mode).await, Err(RuntimeError::ModeNotSupported { .. })));
    let model = stand_in.session().model("gpt".to_owned());
    assert!(matches!(refused(model).await, Err(RuntimeError::InvalidRequest(_))));
}
