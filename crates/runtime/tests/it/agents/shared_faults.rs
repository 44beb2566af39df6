//! Shared servers that die, hang and print garbage. In every case, turns end and no process is left.

use interlingua_schema::{EventData, TurnStatus, UniversalEvent};

use crate::stand_in::{StandIn, error_messages};
use crate::test_runtime::{event_types, is_nth, texts, turn_status};

/// An agent, a recording, and the number of lines of it until the first turn has started.
const AGENTS: [(&str, &str, usize); 2] = [("codex", "text_deltas", 12), ("opencode", "text_deltas", 12)];

fn count_unparsed(events: &[UniversalEvent]) -> usize {
    events.iter().filter(|event| matches!(event.data, EventData::AgentUnparsed(_))).count()
}

async fn shutdown(stand_in: &StandIn, count: usize) -> Vec<UniversalEvent> {
    stand_in.test.runtime.shutdown().await;
    stand_in.assert_processes_ended(count).await
}

#[tokio::test]
async fn a_server_that_dies_fails_the_turn_and_is_restarted() {
    for (agent, recording, lines) in AGENTS {
        let stand_in =
            StandIn::replaying(agent, recording).replay_from_start().with_fault(&format!("die-after={lines}:7"));
        let stand_in = stand_in.with_session().await;
        let events = stand_in.test.run_turn("one").await;
        assert_eq!(turn_status(&events), Some(TurnStatus::Failed), "{agent}: {:?}", event_types(&events));
        assert!(error_messages(&events).join("\n").contains('7'), "{agent}: {:?}", error_messages(&events));
        let next = stand_in.test.run_turn("two").await;
        assert_eq!(turn_status(&next), Some(TurnStatus::Failed), "{agent}: {:?}", event_types(&next));
        shutdown(&stand_in, 2).await;
    }
}

#[tokio::test]
async fn a_server_that_exits_at_its_start_fails_the_turn_with_the_reason() {
    for (agent, recording, _) in AGENTS {
        let stand_in =
            StandIn::replaying(agent, recording).replay_from_start().with_fault("exit-at-start:3").with_session().await;
        let events = stand_in.test.run_turn("one").await;
        assert_eq!(
            (turn_status(&events), texts(&events)),
            (Some(TurnStatus::Failed), vec!["one".to_owned()]),
            "{agent}"
        );
        let message = error_messages(&events).join("\n");
        assert!(message.contains("code 3") && message.contains("fault"), "{agent}: {message}");
        shutdown(&stand_in, 1).await;
    }
}

#[tokio::test]
async fn a_server_that_hangs_is_ended_by_an_interrupt() {
    for (agent, recording, lines) in AGENTS {
        for deaf in ["", ":deaf"] {
            let fault = format!("hang-after={lines}{deaf}");
            let stand_in =
                StandIn::replaying(agent, recording).replay_from_start().with_fault(&fault).with_session().await;
            stand_in.test.send("one").await.unwrap();
            stand_in.test.wait_for(is_nth("turn.started", 1)).await;
            stand_in.test.runtime.interrupt(&"s".into()).await.unwrap();
            let events = stand_in.test.events().await;
            assert_eq!(
                turn_status(&events),
                Some(TurnStatus::Interrupted),
                "{agent} {fault}: {:?}",
                event_types(&events)
            );
            shutdown(&stand_in, 1).await;
        }
    }
}

#[tokio::test]
async fn garbage_is_reported_and_the_turn_continues() {
    for (agent, recording, lines) in AGENTS {
        for fault in ["garbage", "invalid-utf8", "long-line"] {
            let fault = format!("{fault}-after={lines}");
            let stand_in =
                StandIn::replaying(agent, recording).replay_from_start().with_fault(&fault).with_session().await;
            let events = stand_in.test.run_turn("one").await;
            assert_eq!(
                turn_status(&events),
                Some(TurnStatus::Completed),
                "{agent} {fault}: {:?}",
                event_types(&events)
            );
            assert_eq!(count_unparsed(&events), 1, "{agent} {fault}: {:?}", event_types(&events));
            shutdown(&stand_in, 1).await;
        }
    }
}

#[tokio::test]
async fn terminate_ends_a_server_that_ignores_everything() {
    for (agent, recording, lines) in AGENTS {
        let fault = format!("hang-after={lines}:deaf");
        let stand_in = StandIn::replaying(agent, recording).replay_from_start().with_fault(&fault).with_session().await;
        stand_in.test.send("one").await.unwrap();
        stand_in.test.wait_for(is_nth("turn.started", 1)).await;
        stand_in.test.runtime.terminate(&"s".into()).await.unwrap();
        let events = shutdown(&stand_in, 1).await;
        assert_eq!(event_types(&events).last(), Some(&"session.ended"), "{agent}");
    }
}

/// An app server whose answer to `thread/start` is longer than the limit of a line.
const LONG_ANSWER: &str = r#"#!/bin/sh
if [ "$*" = --version ]; then echo 1.0.0; exit; fi
echo "$$ $*" >> "$STARTS"
while read -r line; do
  case $line in
    *'"method":"initialize"'*) echo '{"id":0,"result":{}}' ;;
    *'"method":"thread/start"'*)
      id=$(printf %s "$line" | sed 's/^{"id":\([0-9]*\),.*/\1/')
      printf '{"id":%s,"result":{"thread":{"id":"t","preview":"' "$id"
      head -c 67108864 /dev/zero | tr '\000' x
      echo '"}}}' ;;
  esac
done
"#;

#[tokio::test]
async fn a_too_long_answer_fails_the_turn_that_waits_for_it() {
    let stand_in = StandIn::replaying("codex", "text_deltas").with_script(LONG_ANSWER).with_session().await;
    let events = stand_in.test.run_turn("one").await;
    assert_eq!(turn_status(&events), Some(TurnStatus::Failed), "{:?}", event_types(&events));
    let message = error_messages(&events).join("\n");
    assert!(message.contains("at most 67108864 bytes, found one of 671089"), "{message}");
    let all = shutdown(&stand_in, 1).await;
    assert_eq!(count_unparsed(&all), 1, "{:?}", event_types(&all));
}

/// An app server whose answer to `thread/start` has no thread.
const NAMELESS_THREAD: &str = r#"#!/bin/sh
if [ "$*" = --version ]; then echo 1.0.0; exit; fi
echo "$$ $*" >> "$STARTS"
while read -r line; do
  case $line in
    *'"method":"initialize"'*) echo '{"id":0,"result":{}}' ;;
    *'"method":"thread/start"'*)
      id=$(printf %s "$line" | sed 's/^{"id":\([0-9]*\),.*/\1/')
      echo "{\"id\":$id,\"result\":{}}" ;;
  esac
done
"#;

#[tokio::test]
async fn an_answer_without_a_thread_fails_the_turn() {
    let stand_in = StandIn::replaying("codex", "text_deltas").with_script(NAMELESS_THREAD).with_session().await;
    let events = stand_in.test.run_turn("one").await;
    assert_eq!(turn_status(&events), Some(TurnStatus::Failed), "{:?}", event_types(&events));
    let message = error_messages(&events).join("\n");
    assert!(message.contains("lacks `thread`"), "{message}");
    shutdown(&stand_in, 1).await;
}
