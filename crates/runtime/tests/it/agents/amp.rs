//! Amp, as it was recorded.

use interlingua_schema::TurnStatus;

use crate::cast::{Cast, failures};
use crate::stage::{nth, said, status};

fn amp(recording: &str) -> Cast {
    Cast::playing("amp", recording).variable("AMP_API_KEY", "dummy")
}

#[tokio::test]
async fn every_turn_is_a_process_and_the_next_continues_the_thread() {
    let cast = amp("text").always_from_the_start().created().await;
    let first = cast.stage.turn("say hello").await;
    assert_eq!(status(&first), Some(TurnStatus::Completed));
    assert_eq!(said(&first)[0], "say hello");
    let thread = cast.stage.session("s").await.native_session_id.unwrap();
    let second = cast.stage.turn("go on").await;
    assert_eq!(status(&second), Some(TurnStatus::Completed));
    cast.stage.runtime.terminate(&"s".into()).await.unwrap();
    cast.assert_over(2).await;
    let starts = cast.starts();
    assert!(!starts[0].1.contains("threads"), "{starts:?}");
    assert!(starts[1].1.contains(&format!("threads continue {thread} -x --stream-json")), "{starts:?}");
}

#[tokio::test]
async fn it_is_told_only_what_it_lists() {
    let cast = amp("text");
    let create = cast.session().agent_mode("low".to_owned()).permission_mode("bypass".to_owned());
    let cast = cast.created_as(create).await;
    cast.stage.turn("say hello").await;
    let flags = "--no-ide --no-notifications --dangerously-allow-all --mode low -x --stream-json --stream-json-input \
                 --stream-json-thinking";
    assert_eq!(cast.starts()[0].1, flags);
}

#[tokio::test]
async fn an_interrupt_ends_the_turn() {
    let cast = amp("text").fault("hang-after=2").created().await;
    cast.stage.send("say hello").await.unwrap();
    cast.stage.until(nth("turn.started", 1)).await;
    cast.stage.runtime.interrupt(&"s".into()).await.unwrap();
    assert_eq!(status(&cast.stage.events().await), Some(TurnStatus::Interrupted));
    cast.stage.runtime.terminate(&"s".into()).await.unwrap();
    cast.assert_over(1).await;
}

#[tokio::test]
async fn a_failure_before_the_thread_is_there_is_told_in_its_words() {
    let cast = amp("invalid-api-key").created().await;
    let events = cast.stage.turn("x").await;
    assert_eq!(status(&events), Some(TurnStatus::Failed));
    assert!(!failures(&events).is_empty());
    cast.stage.runtime.shutdown().await;
    cast.assert_over(1).await;
}

#[tokio::test]
async fn without_a_key_it_is_not_even_started() {
    let cast = Cast::playing("amp", "text").created().await;
    let events = cast.stage.turn("say hello").await;
    assert_eq!(status(&events), Some(TurnStatus::Failed));
    assert!(failures(&events)[0].contains("AMP_API_KEY"), "{:?}", failures(&events));
    cast.assert_over(0).await;
}

#[tokio::test]
async fn what_it_cannot_honour_is_refused() {
    let cast = amp("text");
    let wrong = [
        cast.session().agent_mode("plan".to_owned()),
        cast.session().permission_mode("acceptEdits".to_owned()),
        cast.session().model("opus".to_owned()),
    ];
    for create in wrong {
        assert!(cast.stage.runtime.create("s".into(), create.clone()).await.is_err(), "{create:?}");
    }
}
