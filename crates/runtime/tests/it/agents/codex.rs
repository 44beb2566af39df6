//! Codex, as it was recorded: one app server for all sessions.

use interlingua_runtime::{CreateSession, McpServers, PermissionReply, RuntimeError, ServerState};
use interlingua_schema::{EventData, PermissionStatus, QuestionStatus, TurnStatus, UniversalEvent};
use rustix::process::{Signal, kill_process};

use super::pair::{both_turns, create_both};
use crate::cast::{Cast, failures};
use crate::stage::{assert_rules, decisions, is_turn_end, kinds, nth, permissions, questions, said, status};

fn codex(recording: &str) -> Cast {
    Cast::playing("codex", recording)
}

/// Ends the server, and asserts that nothing is left of `count` app servers.
async fn end(cast: &Cast, count: usize) -> Vec<UniversalEvent> {
    cast.stage.runtime.shutdown().await;
    cast.assert_over(count).await
}

#[tokio::test]
async fn turns_are_had_with_one_server() {
    let cast = codex("text_deltas").created().await;
    let first = cast.stage.turn("one").await;
    let second = cast.stage.turn("two").await;
    assert_eq!((status(&first), status(&second)), (Some(TurnStatus::Completed), Some(TurnStatus::Completed)));
    assert!(said(&first).len() > 1, "{:?}", said(&first));
    let status = cast.stage.runtime.agents().into_iter().find(|agent| agent.id == "codex").unwrap();
    let server = status.server.unwrap();
    assert_eq!((server.state, server.restart_count), (ServerState::Running, 0));
    end(&cast, 1).await;
}

#[tokio::test]
async fn a_command_is_a_tool_call_with_its_output() {
    let cast = codex("exec_basic").created().await;
    let events = cast.stage.turn("run it").await;
    assert_eq!(status(&events), Some(TurnStatus::Completed), "{:?}", kinds(&events));
    let tools = events.iter().filter(|event| match &event.data {
        EventData::ItemCompleted(completed) => completed.item.kind == interlingua_schema::ItemKind::ToolCall,
        _ => false,
    });
    assert!(tools.count() > 0, "{:?}", kinds(&events));
    end(&cast, 1).await;
}

#[tokio::test]
async fn permissions_are_given_once_for_good_and_not() {
    let cast = codex("approve_exec").created().await;
    let replies = [PermissionReply::Once, PermissionReply::Always, PermissionReply::Reject];
    for (count, reply) in (1..).zip(replies) {
        let sent = cast.stage.send("go").await.unwrap();
        let asked = cast.stage.until(nth("permission.requested", count)).await;
        let id = permissions(&asked).pop().unwrap();
        cast.stage.runtime.reply_permission(&"s".into(), &id, reply).await.unwrap();
        cast.stage.until_after(sent.wait_for_turn().await.unwrap(), is_turn_end).await;
        let again = cast.stage.runtime.reply_permission(&"s".into(), &id, reply).await;
        assert!(matches!(again, Err(RuntimeError::AlreadyResolved { .. })), "{again:?}");
    }
    let events = end(&cast, 1).await;
    let (yes, no) = (PermissionStatus::Approved, PermissionStatus::Denied);
    assert_eq!(decisions(&events), [yes.clone(), yes, no]);
}

#[tokio::test]
async fn questions_are_answered_together() {
    let cast = codex("request_user_input");
    let create = cast.session().agent_mode("plan".to_owned());
    let cast = cast.created_as(create).await;
    cast.stage.send("ask me").await.unwrap();
    let asked = cast.stage.until(nth("question.requested", 2)).await;
    for (id, answer) in questions(&asked).iter().zip(["SQLite (Recommended)", "Zig"]) {
        cast.stage.runtime.reply_question(&"s".into(), id, vec![answer.to_owned()]).await.unwrap();
    }
    let events = cast.stage.until(is_turn_end).await;
    assert_eq!(status(&events), Some(TurnStatus::Completed));
    let answers: Vec<_> = events.iter().filter_map(answer).collect();
    let answered = |words: &str| (QuestionStatus::Answered, Some(words.to_owned()));
    assert_eq!(answers, [answered("SQLite (Recommended)"), answered("Zig")]);
    end(&cast, 1).await;
}

fn answer(event: &UniversalEvent) -> Option<(QuestionStatus, Option<String>)> {
    match &event.data {
        EventData::QuestionResolved(question) => Some((question.status.clone(), question.response.clone())),
        _ => None,
    }
}

#[tokio::test]
async fn forms_of_mcp_servers_are_filled_in_and_refused() {
    let cast = codex("mcp_elicit_approve").created().await;
    cast.stage.send("elicit").await.unwrap();
    let asked = cast.stage.until(nth("question.requested", 1)).await;
    let form = vec![r#"{"colour":"red","sure":true}"#.to_owned()];
    cast.stage.runtime.reply_question(&"s".into(), &questions(&asked)[0], form).await.unwrap();
    let asked = cast.stage.until(nth("question.requested", 2)).await;
    cast.stage.runtime.reject_question(&"s".into(), &questions(&asked)[1]).await.unwrap();
    let events = cast.stage.until(is_turn_end).await;
    let answers: Vec<_> = events.iter().filter_map(answer).map(|(status, _)| status).collect();
    assert_eq!(answers, [QuestionStatus::Answered, QuestionStatus::Rejected]);
    end(&cast, 1).await;
}

#[tokio::test]
async fn an_interrupt_ends_the_turn_and_its_commands_and_the_session_goes_on() {
    let cast = codex("interrupt_exec_clean");
    let journal = cast.stage.folder.path().join("journal");
    let cast = cast.variable("INTERLINGUA_REPLAY_JOURNAL", journal.to_str().unwrap()).created().await;
    cast.stage.send("long command").await.unwrap();
    cast.stage.until(nth("item.started", 2)).await;
    cast.stage.runtime.interrupt(&"s".into()).await.unwrap();
    assert_eq!(status(&cast.stage.events().await), Some(TurnStatus::Interrupted));
    let next = cast.stage.turn("go on").await;
    assert_eq!(status(&next), Some(TurnStatus::Completed), "{:?}", kinds(&next));
    end(&cast, 1).await;
    let journal = std::fs::read_to_string(journal).unwrap();
    assert!(journal.contains("thread/backgroundTerminals/clean"), "{journal}");
}

/// An app server that announces a turn a moment after it has accepted it, and refuses to interrupt it before.
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
async fn a_turn_that_has_not_started_is_interrupted_when_it_does() {
    let cast = codex("text_deltas").scripted(LATE_START).created().await;
    cast.stage.send("go").await.unwrap();
    // The warning: the turn is accepted.
    cast.stage.until(nth("item.completed", 1)).await;
    cast.stage.runtime.interrupt(&"s".into()).await.unwrap();
    cast.stage.until(is_turn_end).await;
    let events = end(&cast, 1).await;
    assert_eq!(status(&events), Some(TurnStatus::Interrupted), "{:?}", kinds(&events));
    assert_eq!(failures(&events), [""; 0], "{:?}", kinds(&events));
}

#[tokio::test]
async fn an_interrupt_withdraws_what_was_asked() {
    let cast = codex("interrupt_approval").created().await;
    cast.stage.send("go").await.unwrap();
    cast.stage.until(nth("permission.requested", 1)).await;
    cast.stage.runtime.interrupt(&"s".into()).await.unwrap();
    let events = end(&cast, 1).await;
    assert_eq!((decisions(&events), status(&events)), (vec![PermissionStatus::Denied], Some(TurnStatus::Interrupted)));
}

#[tokio::test]
async fn two_sessions_at_once_share_a_server_and_hear_only_of_themselves() {
    let cast = codex("two_threads").always_from_the_start();
    create_both(&cast).await;
    let both = both_turns(&cast).await;
    for (events, text) in both.iter().zip(["slow one", "cmd two"]) {
        assert_eq!(status(events), Some(TurnStatus::Completed), "{:?}", kinds(events));
        assert_eq!(events.iter().filter(|event| is_turn_end(event)).count(), 1);
        assert_eq!(said(events)[0], text);
        assert_rules(events);
    }
    let natives = [0, 1].map(|place: usize| both[place].last().unwrap().native_session_id.clone());
    assert_ne!(natives[0], natives[1]);
    end(&cast, 1).await;
}

#[tokio::test]
async fn what_sub_agents_do_belongs_to_the_session_that_started_them() {
    for recording in ["collab_v1", "collab_v2"] {
        let cast = codex(recording).created().await;
        let events = cast.stage.turn("delegate").await;
        assert_eq!(status(&events), Some(TurnStatus::Completed), "{recording} {:?}", kinds(&events));
        let is_childs = |event: &UniversalEvent| match &event.data {
            EventData::ItemStarted(started) => started.item.parent_id.is_some(),
            _ => false,
        };
        assert!(events.iter().any(is_childs), "{recording} {:?}", kinds(&events));
        end(&cast, 1).await;
    }
}

#[tokio::test]
async fn a_server_that_dies_fails_the_turn_and_the_next_message_resumes_the_thread() {
    let cast = codex("kill_mid_turn_resume").created().await;
    cast.stage.send("start").await.unwrap();
    cast.stage.until(nth("item.started", 2)).await;
    kill_process(cast.starts()[0].0, Signal::KILL).unwrap();
    let events = cast.stage.until(is_turn_end).await;
    assert_eq!(status(&events), Some(TurnStatus::Failed));
    let native = cast.stage.session("s").await.native_session_id;
    let next = cast.stage.turn("go on").await;
    assert_eq!(status(&next), Some(TurnStatus::Completed), "{:?}", kinds(&next));
    assert_eq!(cast.stage.session("s").await.native_session_id, native);
    let agents = cast.stage.runtime.agents();
    let server = agents.into_iter().find(|agent| agent.id == "codex").unwrap().server.unwrap();
    assert_eq!(server.restart_count, 1);
    assert!(server.last_error.unwrap().contains("Codex left"));
    end(&cast, 2).await;
}

#[tokio::test]
async fn a_session_goes_on_after_the_server_was_restarted() {
    let cast = codex("kill_mid_turn_resume").baked().created().await;
    cast.stage.send("start").await.unwrap();
    cast.stage.until(nth("item.started", 2)).await;
    let cast = cast.restarted().await;
    let next = cast.stage.turn("go on").await;
    assert_eq!(status(&next), Some(TurnStatus::Completed), "{:?}", kinds(&next));
    end(&cast, 2).await;
}

#[tokio::test]
async fn all_sessions_with_a_turn_learn_that_the_server_died() {
    let cast = codex("two_threads").always_from_the_start().fault("die-after=20:9");
    create_both(&cast).await;
    for events in both_turns(&cast).await {
        assert_eq!(status(&events), Some(TurnStatus::Failed), "{:?}", kinds(&events));
        assert!(!failures(&events).is_empty());
        assert_rules(&events);
    }
    end(&cast, 1).await;
}

#[tokio::test]
async fn what_codex_cannot_honour_is_refused() {
    let cast = codex("text_deltas");
    let refused = |create: CreateSession| cast.stage.runtime.create("s".into(), create);
    let mode = cast.session().agent_mode("custom".to_owned());
    assert!(matches!(refused(mode).await, Err(RuntimeError::ModeNotSupported { .. })));
    let mcp: McpServers = serde_json::from_str(r#"{"far":{"type":"sse","url":"http://127.0.0.1:1"}}"#).unwrap();
    let sse = cast.session().mcp(mcp);
    assert!(matches!(refused(sse).await, Err(RuntimeError::InvalidRequest(_))));
}

#[tokio::test]
async fn secrets_of_mcp_servers_stay_out_of_the_stream() {
    let cast = codex("text_deltas");
    let mcp: McpServers = serde_json::from_str(r#"{"tiny":{"command":"tiny","env":{"KEY":"s3cret"}}}"#).unwrap();
    let create = cast.session().mcp(mcp);
    let cast = cast.created_as(create).await;
    cast.stage.turn("one").await;
    let all = serde_json::to_string(&end(&cast, 1).await).unwrap();
    assert!(!all.contains("s3cret"));
}
