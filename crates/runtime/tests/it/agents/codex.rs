//! The driver of Codex, against recordings: one app server for all sessions.

use interlingua_runtime::{CreateSession, McpServers, PermissionReply, RuntimeError, ServerState};
use interlingua_schema::{EventData, PermissionStatus, QuestionStatus, TurnStatus, UniversalEvent};
use rustix::process::{Signal, kill_process};

use super::two_sessions::{create_two_sessions, run_both_turns};
use crate::stand_in::{StandIn, error_messages};
use crate::test_runtime::{
    assert_no_violations, event_types, is_nth, is_turn_end, permission_ids, permission_statuses, question_ids, texts,
    turn_status,
};

fn codex(recording: &str) -> StandIn {
    StandIn::replaying("codex", recording)
}

/// Shuts the runtime down, and asserts that none of `count` app servers is left.
async fn shutdown(stand_in: &StandIn, count: usize) -> Vec<UniversalEvent> {
    stand_in.test.runtime.shutdown().await;
    stand_in.assert_processes_ended(count).await
}

#[tokio::test]
async fn all_turns_use_one_server() {
    let stand_in = codex("text_deltas").with_session().await;
    let first = stand_in.test.run_turn("one").await;
    let second = stand_in.test.run_turn("two").await;
    assert_eq!((turn_status(&first), turn_status(&second)), (Some(TurnStatus::Completed), Some(TurnStatus::Completed)));
    assert!(texts(&first).len() > 1, "{:?}", texts(&first));
    let status = stand_in.test.runtime.agents().into_iter().find(|agent| agent.id == "codex").unwrap();
    let server = status.server.unwrap();
    assert_eq!((server.state, server.restart_count), (ServerState::Running, 0));
    shutdown(&stand_in, 1).await;
}

#[tokio::test]
async fn a_command_is_a_tool_call_with_its_output() {
    let stand_in = codex("exec_basic").with_session().await;
    let events = stand_in.test.run_turn("run it").await;
    assert_eq!(turn_status(&events), Some(TurnStatus::Completed), "{:?}", event_types(&events));
    let tools = events.iter().filter(|event| match &event.data {
        EventData::ItemCompleted(completed) => completed.item.kind == interlingua_schema::ItemKind::ToolCall,
        _ => false,
    });
    assert!(tools.count() > 0, "{:?}", event_types(&events));
    shutdown(&stand_in, 1).await;
}

#[tokio::test]
async fn permissions_are_approved_once_for_the_session_and_denied() {
    let stand_in = codex("approve_exec").with_session().await;
    let replies = [PermissionReply::Once, PermissionReply::Always, PermissionReply::Reject];
    for (count, reply) in (1..).zip(replies) {
        let sent = stand_in.test.send("go").await.unwrap();
        let requested = stand_in.test.wait_for(is_nth("permission.requested", count)).await;
        let id = permission_ids(&requested).pop().unwrap();
        stand_in.test.runtime.reply_permission(&"s".into(), &id, reply).await.unwrap();
        stand_in.test.wait_for_after(sent.wait_for_turn().await.unwrap(), is_turn_end).await;
        let again = stand_in.test.runtime.reply_permission(&"s".into(), &id, reply).await;
        assert!(matches!(again, Err(RuntimeError::AlreadyResolved { .. })), "{again:?}");
    }
    let events = shutdown(&stand_in, 1).await;
    let (approved, denied) = (PermissionStatus::Approved, PermissionStatus::Denied);
    assert_eq!(permission_statuses(&events), [approved.clone(), approved, denied]);
}

#[tokio::test]
async fn questions_are_answered_together() {
    let stand_in = codex("request_user_input");
    let create = stand_in.session().agent_mode("plan".to_owned());
    let stand_in = stand_in.with_session_options(create).await;
    stand_in.test.send("ask me").await.unwrap();
    let requested = stand_in.test.wait_for(is_nth("question.requested", 2)).await;
    for (id, answer) in question_ids(&requested).iter().zip(["SQLite (Recommended)", "Zig"]) {
        stand_in.test.runtime.reply_question(&"s".into(), id, vec![answer.to_owned()]).await.unwrap();
    }
    let events = stand_in.test.wait_for(is_turn_end).await;
    assert_eq!(turn_status(&events), Some(TurnStatus::Completed));
    let answers: Vec<_> = events.iter().filter_map(answer).collect();
    let answered = |words: &str| (QuestionStatus::Answered, Some(words.to_owned()));
    assert_eq!(answers, [answered("SQLite (Recommended)"), answered("Zig")]);
    shutdown(&stand_in, 1).await;
}

fn answer(event: &UniversalEvent) -> Option<(QuestionStatus, Option<String>)> {
    match &event.data {
        EventData::QuestionResolved(question) => Some((question.status.clone(), question.response.clone())),
        _ => None,
    }
}

#[tokio::test]
async fn forms_of_mcp_servers_are_filled_in_and_declined() {
    let stand_in = codex("mcp_elicit_approve").with_session().await;
    stand_in.test.send("elicit").await.unwrap();
    let requested = stand_in.test.wait_for(is_nth("question.requested", 1)).await;
    let form = vec![r#"{"colour":"red","sure":true}"#.to_owned()];
    stand_in.test.runtime.reply_question(&"s".into(), &question_ids(&requested)[0], form).await.unwrap();
    let requested = stand_in.test.wait_for(is_nth("question.requested", 2)).await;
    stand_in.test.runtime.reject_question(&"s".into(), &question_ids(&requested)[1]).await.unwrap();
    let events = stand_in.test.wait_for(is_turn_end).await;
    let answers: Vec<_> = events.iter().filter_map(answer).map(|(status, _)| status).collect();
    assert_eq!(answers, [QuestionStatus::Answered, QuestionStatus::Rejected]);
    shutdown(&stand_in, 1).await;
}

#[tokio::test]
async fn an_interrupt_ends_the_turn_and_its_commands_and_the_session_continues() {
    let stand_in = codex("interrupt_exec_clean");
    let journal = stand_in.test.folder.path().join("journal");
    let stand_in = stand_in.with_variable("INTERLINGUA_REPLAY_JOURNAL", journal.to_str().unwrap()).with_session().await;
    stand_in.test.send("long command").await.unwrap();
    stand_in.test.wait_for(is_nth("item.started", 2)).await;
    stand_in.test.runtime.interrupt(&"s".into()).await.unwrap();
    assert_eq!(turn_status(&stand_in.test.events().await), Some(TurnStatus::Interrupted));
    let next = stand_in.test.run_turn("go on").await;
    assert_eq!(turn_status(&next), Some(TurnStatus::Completed), "{:?}", event_types(&next));
    shutdown(&stand_in, 1).await;
    let journal = std::fs::read_to_string(journal).unwrap();
    assert!(journal.contains("thread/backgroundTerminals/clean"), "{journal}");
}

/// An app server that announces a turn some time after it has accepted it, and refuses to interrupt it before.
const LATE_START: &str = r#"#!/bin/sh
if [ "$*" = --version ]; then echo 1.0.0; exit; fi
echo "$$ $*" >> "$STARTS"
turn='{"id":"u","items":[],"status":"inProgress"}'
while read -r line; do
  id=$(printf %s "$line" | sed 's/^{"id":\([0-9]*\),.*/\1/')
  case $line in
    *'"method":"initialize"'*) echo '{"id":0,"result":{}}' ;;
    *'"method":"thread/start"'*) echo "{\"id\":$id,\"result\":{\"thread\":{\"id\":\"t\"}}}" ;;
    *'"method":"turn/start"'*)
      echo "{\"id\":$id,\"result\":{\"turn\":$turn}}"
      echo '{"method":"warning","params":{"threadId":"t","message":"slow"}}'
      ( sleep 0.05
        : > "$STARTS.turn"
        echo "{\"method\":\"turn/started\",\"params\":{\"threadId\":\"t\",\"turn\":$turn}}" ) & ;;
    *'"method":"turn/interrupt"'*)
      if [ -e "$STARTS.turn" ]; then
        echo "{\"id\":$id,\"result\":{}}"
        turn='{"id":"u","items":[],"status":"interrupted"}'
        echo "{\"method\":\"turn/completed\",\"params\":{\"threadId\":\"t\",\"turn\":$turn}}"
      else
        echo "{\"id\":$id,\"error\":{\"code\":-32600,\"message\":\"no active turn to interrupt\"}}"
      fi ;;
    *'"method":"thread/backgroundTerminals/clean"'*) echo "{\"id\":$id,\"result\":{}}" ;;
  esac
done
"#;

#[tokio::test]
async fn a_turn_that_is_not_announced_yet_is_interrupted_when_it_starts() {
    let stand_in = codex("text_deltas").with_script(LATE_START).with_session().await;
    stand_in.test.send("go").await.unwrap();
    // The warning shows that the turn is accepted.
    stand_in.test.wait_for(is_nth("item.completed", 1)).await;
    stand_in.test.runtime.interrupt(&"s".into()).await.unwrap();
    stand_in.test.wait_for(is_turn_end).await;
    let events = shutdown(&stand_in, 1).await;
    assert_eq!(turn_status(&events), Some(TurnStatus::Interrupted), "{:?}", event_types(&events));
    assert_eq!(error_messages(&events), [""; 0], "{:?}", event_types(&events));
}

#[tokio::test]
async fn an_interrupt_denies_a_pending_permission() {
    let stand_in = codex("interrupt_approval").with_session().await;
    stand_in.test.send("go").await.unwrap();
    stand_in.test.wait_for(is_nth("permission.requested", 1)).await;
    stand_in.test.runtime.interrupt(&"s".into()).await.unwrap();
    let events = shutdown(&stand_in, 1).await;
    assert_eq!(
        (permission_statuses(&events), turn_status(&events)),
        (vec![PermissionStatus::Denied], Some(TurnStatus::Interrupted))
    );
}

#[tokio::test]
async fn two_sessions_share_a_server_and_get_only_their_own_events() {
    let stand_in = codex("two_threads").replay_from_start();
    create_two_sessions(&stand_in).await;
    let both = run_both_turns(&stand_in).await;
    for (events, text) in both.iter().zip(["slow one", "cmd two"]) {
        assert_eq!(turn_status(events), Some(TurnStatus::Completed), "{:?}", event_types(events));
        assert_eq!(events.iter().filter(|event| is_turn_end(event)).count(), 1);
        assert_eq!(texts(events)[0], text);
        assert_no_violations(events);
    }
    let native_ids = [0, 1].map(|index: usize| both[index].last().unwrap().native_session_id.clone());
    assert_ne!(native_ids[0], native_ids[1]);
    shutdown(&stand_in, 1).await;
}

#[tokio::test]
async fn events_of_sub_agents_belong_to_the_session_that_spawned_them() {
    for recording in ["collab_v1", "collab_v2"] {
        let stand_in = codex(recording).with_session().await;
        let events = stand_in.test.run_turn("delegate").await;
        assert_eq!(turn_status(&events), Some(TurnStatus::Completed), "{recording} {:?}", event_types(&events));
        let is_sub_agent_item = |event: &UniversalEvent| match &event.data {
            EventData::ItemStarted(started) => started.item.parent_id.is_some(),
            _ => false,
        };
        assert!(events.iter().any(is_sub_agent_item), "{recording} {:?}", event_types(&events));
        shutdown(&stand_in, 1).await;
    }
}

#[tokio::test]
async fn a_server_that_dies_fails_the_turn_and_the_next_message_resumes_the_thread() {
    let stand_in = codex("kill_mid_turn_resume").with_session().await;
    stand_in.test.send("start").await.unwrap();
    stand_in.test.wait_for(is_nth("item.started", 2)).await;
    kill_process(stand_in.process_starts()[0].0, Signal::KILL).unwrap();
    let events = stand_in.test.wait_for(is_turn_end).await;
    assert_eq!(turn_status(&events), Some(TurnStatus::Failed));
    let native = stand_in.test.session("s").await.native_session_id;
    let next = stand_in.test.run_turn("go on").await;
    assert_eq!(turn_status(&next), Some(TurnStatus::Completed), "{:?}", event_types(&next));
    assert_eq!(stand_in.test.session("s").await.native_session_id, native);
    let agents = stand_in.test.runtime.agents();
    let server = agents.into_iter().find(|agent| agent.id == "codex").unwrap().server.unwrap();
    assert_eq!(server.restart_count, 1);
    assert!(server.last_error.unwrap().contains("Codex exited"));
    shutdown(&stand_in, 2).await;
}

#[tokio::test]
async fn a_session_continues_after_a_restart() {
    let stand_in = codex("kill_mid_turn_resume").with_embedded_environment().with_session().await;
    stand_in.test.send("start").await.unwrap();
    stand_in.test.wait_for(is_nth("item.started", 2)).await;
    let stand_in = stand_in.restart().await;
    let next = stand_in.test.run_turn("go on").await;
    assert_eq!(turn_status(&next), Some(TurnStatus::Completed), "{:?}", event_types(&next));
    shutdown(&stand_in, 2).await;
}

#[tokio::test]
async fn the_death_of_the_server_fails_the_turns_of_all_sessions() {
    let stand_in = codex("two_threads").replay_from_start().with_fault("die-after=20:9");
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
    let stand_in = codex("text_deltas");
    let refused = |create: CreateSession| stand_in.test.runtime.create("s".into(), create);
    let mode = stand_in.session().agent_mode("custom".to_owned());
    assert!(matches!(refused(mode).await, Err(RuntimeError::ModeNotSupported { .. })));
    let mcp: McpServers = serde_json::from_str(r#"{"far":{"type":"sse","url":"http://127.0.0.1:1"}}"#).unwrap();
    let sse = stand_in.session().mcp(mcp);
    assert!(matches!(refused(sse).await, Err(RuntimeError::InvalidRequest(_))));
}

#[tokio::test]
async fn secrets_of_mcp_servers_stay_out_of_the_stream() {
    let stand_in = codex("text_deltas");
    let mcp: McpServers = serde_json::from_str(r#"{"tiny":{"command":"tiny","env":{"KEY":"s3cret"}}}"#).unwrap();
    let create = stand_in.session().mcp(mcp);
    let stand_in = stand_in.with_session_options(create).await;
    stand_in.test.run_turn("one").await;
    let all = serde_json::to_string(&shutdown(&stand_in, 1).await).unwrap();
    assert!(!all.contains("s3cret"));
}
