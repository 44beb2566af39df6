//! The driver of Amp, against recordings.

use interlingua_schema::TurnStatus;

use crate::stand_in::{StandIn, error_messages};
use crate::test_runtime::{is_nth, texts, turn_status};

fn amp(recording: &str) -> StandIn {
    StandIn::replaying("amp", recording).with_variable("AMP_API_KEY", "dummy")
}

#[tokio::test]
async fn every_turn_has_its_own_process_and_continues_the_thread() {
    let stand_in = amp("text").replay_from_start().with_session().await;
    let first = stand_in.test.run_turn("say hello").await;
    assert_eq!(turn_status(&first), Some(TurnStatus::Completed));
    assert_eq!(texts(&first)[0], "say hello");
    let thread = stand_in.test.session("s").await.native_session_id.unwrap();
    let second = stand_in.test.run_turn("go on").await;
    assert_eq!(turn_status(&second), Some(TurnStatus::Completed));
    stand_in.test.runtime.terminate(&"s".into()).await.unwrap();
    stand_in.assert_processes_ended(2).await;
    let starts = stand_in.process_starts();
    assert!(!starts[0].1.contains("threads"), "{starts:?}");
    assert!(starts[1].1.contains(&format!("threads continue {thread} -x --stream-json")), "{starts:?}");
}

#[tokio::test]
async fn only_supported_flags_are_used() {
    let stand_in = amp("text");
    let create = stand_in.session().agent_mode("low".to_owned()).permission_mode("bypass".to_owned());
    let stand_in = stand_in.with_session_options(create).await;
    stand_in.test.run_turn("say hello").await;
    let flags = "--no-ide --no-notifications --dangerously-allow-all --mode low -x --stream-json --stream-json-input \
                 --stream-json-thinking";
    assert_eq!(stand_in.process_starts()[0].1, flags);
}

#[tokio::test]
async fn an_interrupt_ends_the_turn() {
    let stand_in = amp("text").with_fault("hang-after=2").with_session().await;
    stand_in.test.send("say hello").await.unwrap();
    stand_in.test.wait_for(is_nth("turn.started", 1)).await;
    stand_in.test.runtime.interrupt(&"s".into()).await.unwrap();
    assert_eq!(turn_status(&stand_in.test.events().await), Some(TurnStatus::Interrupted));
    stand_in.test.runtime.terminate(&"s".into()).await.unwrap();
    stand_in.assert_processes_ended(1).await;
}

#[tokio::test]
async fn an_error_before_the_thread_exists_fails_the_turn() {
    let stand_in = amp("invalid-api-key").with_session().await;
    let events = stand_in.test.run_turn("x").await;
    assert_eq!(turn_status(&events), Some(TurnStatus::Failed));
    assert!(!error_messages(&events).is_empty());
    stand_in.test.runtime.shutdown().await;
    stand_in.assert_processes_ended(1).await;
}

#[tokio::test]
async fn without_an_api_key_no_process_is_started() {
    let stand_in = StandIn::replaying("amp", "text").with_session().await;
    let events = stand_in.test.run_turn("say hello").await;
    assert_eq!(turn_status(&events), Some(TurnStatus::Failed));
    assert!(error_messages(&events)[0].contains("AMP_API_KEY"), "{:?}", error_messages(&events));
    stand_in.assert_processes_ended(0).await;
}

#[tokio::test]
async fn unsupported_options_are_refused() {
    let stand_in = amp("text");
    let wrong = [
        stand_in.session().agent_mode("plan".to_owned()),
        stand_in.session().permission_mode("acceptEdits".to_owned()),
        stand_in.session().model("opus".to_owned()),
    ];
    for create in wrong {
        assert!(stand_in.test.runtime.create("s".into(), create.clone()).await.is_err(), "{create:?}");
    }
}
