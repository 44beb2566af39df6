//! Servers that sessions share and that die, hang and talk rubbish. Whatever they do, turns end and no process stays.

use interlingua_schema::{EventData, TurnStatus, UniversalEvent};

use crate::cast::{Cast, failures};
use crate::stage::{kinds, nth, said, status};

/// Both agents, a recording, and how much of it is said when its first turn has begun.
const AGENTS: [(&str, &str, usize); 2] = [("codex", "text_deltas", 12), ("opencode", "text_deltas", 12)];

fn unparsed(events: &[UniversalEvent]) -> usize {
    events.iter().filter(|event| matches!(event.data, EventData::AgentUnparsed(_))).count()
}

async fn end(cast: &Cast, count: usize) -> Vec<UniversalEvent> {
    cast.stage.runtime.shutdown().await;
    cast.assert_over(count).await
}

#[tokio::test]
async fn a_server_that_dies_fails_the_turn_and_is_started_again() {
    for (agent, recording, lines) in AGENTS {
        let cast = Cast::playing(agent, recording).always_from_the_start().fault(&format!("die-after={lines}:7"));
        let cast = cast.created().await;
        let events = cast.stage.turn("one").await;
        assert_eq!(status(&events), Some(TurnStatus::Failed), "{agent}: {:?}", kinds(&events));
        assert!(failures(&events).join("\n").contains('7'), "{agent}: {:?}", failures(&events));
        let next = cast.stage.turn("two").await;
        assert_eq!(status(&next), Some(TurnStatus::Failed), "{agent}: {:?}", kinds(&next));
        end(&cast, 2).await;
    }
}

#[tokio::test]
async fn a_server_that_leaves_before_it_starts_fails_the_turn_with_its_reason() {
    for (agent, recording, _) in AGENTS {
        let cast = Cast::playing(agent, recording).always_from_the_start().fault("exit-at-start:3").created().await;
        let events = cast.stage.turn("one").await;
        assert_eq!((status(&events), said(&events)), (Some(TurnStatus::Failed), vec!["one".to_owned()]), "{agent}");
        let why = failures(&events).join("\n");
        assert!(why.contains("exit code 3") && why.contains("fault"), "{agent}: {why}");
        end(&cast, 1).await;
    }
}

#[tokio::test]
async fn a_server_that_hangs_is_ended_by_an_interrupt() {
    for (agent, recording, lines) in AGENTS {
        for deaf in ["", ":deaf"] {
            let fault = format!("hang-after={lines}{deaf}");
            let cast = Cast::playing(agent, recording).always_from_the_start().fault(&fault).created().await;
            cast.stage.send("one").await.unwrap();
            cast.stage.until(nth("turn.started", 1)).await;
            cast.stage.runtime.interrupt(&"s".into()).await.unwrap();
            let events = cast.stage.events().await;
            assert_eq!(status(&events), Some(TurnStatus::Interrupted), "{agent} {fault}: {:?}", kinds(&events));
            end(&cast, 1).await;
        }
    }
}

#[tokio::test]
async fn rubbish_is_told_and_the_turn_goes_on() {
    for (agent, recording, lines) in AGENTS {
        for fault in ["garbage", "invalid-utf8", "long-line"] {
            let fault = format!("{fault}-after={lines}");
            let cast = Cast::playing(agent, recording).always_from_the_start().fault(&fault).created().await;
            let events = cast.stage.turn("one").await;
            assert_eq!(status(&events), Some(TurnStatus::Completed), "{agent} {fault}: {:?}", kinds(&events));
            assert_eq!(unparsed(&events), 1, "{agent} {fault}: {:?}", kinds(&events));
            end(&cast, 1).await;
        }
    }
}

#[tokio::test]
async fn terminate_ends_a_server_that_heeds_nothing() {
    for (agent, recording, lines) in AGENTS {
        let fault = format!("hang-after={lines}:deaf");
        let cast = Cast::playing(agent, recording).always_from_the_start().fault(&fault).created().await;
        cast.stage.send("one").await.unwrap();
        cast.stage.until(nth("turn.started", 1)).await;
        cast.stage.runtime.terminate(&"s".into()).await.unwrap();
        let events = end(&cast, 1).await;
        assert_eq!(kinds(&events).last(), Some(&"session.ended"), "{agent}");
    }
}

/// An app server whose answer to `thread/start` is longer than any line may be.
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
async fn an_answer_that_is_too_long_fails_the_turn_that_waits_for_it() {
    let cast = Cast::playing("codex", "text_deltas").scripted(LONG_ANSWER).created().await;
    let events = cast.stage.turn("one").await;
    assert_eq!(status(&events), Some(TurnStatus::Failed), "{:?}", kinds(&events));
    let why = failures(&events).join("\n");
    assert!(why.contains("at most 67108864 bytes, found one of 671089"), "{why}");
    let all = end(&cast, 1).await;
    assert_eq!(unparsed(&all), 1, "{:?}", kinds(&all));
}
