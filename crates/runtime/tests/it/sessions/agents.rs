//! Agents that misbehave.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use interlingua_convert::{
    Converter, Drafts, Failure, Input, InputRef, MessageDraft, MessageEnd, PromptDraft, TurnEnd,
};
use interlingua_runtime::driver::{
    BoxFuture, CommandReceiver, Driver, DriverCommand, OutputSender, ServeError, ServeOutcome, SessionSpec,
};
use interlingua_runtime::{AgentStatus, CreateSession, InstallOptions, Mode, Models, Refusal, RuntimeError};
use interlingua_schema::{ErrorCode, EventData, NativeSessionId, TurnStatus};
use tempfile::TempDir;

use crate::stage::{Stage, is_turn_end, nth, said, status};

/// What an agent does when it is served for the first time, the second time, ….
type Play = fn(usize, SessionSpec, CommandReceiver, OutputSender) -> BoxFuture<Result<ServeOutcome, ServeError>>;

/// An agent whose lines are what it says, and which ends a turn with `done`.
struct Odd {
    play: Play,
    served: AtomicUsize,
    installed: bool,
}

#[derive(Default)]
struct Plain {
    messages: u64,
}

impl Converter for Plain {
    fn agent(&self) -> &'static str {
        "odd"
    }

    fn push(&mut self, input: InputRef<'_>, out: &mut Drafts) {
        let mut session = out.session("odd-1");
        match input {
            Input::Sent(line) => session.prompt_sent(PromptDraft::text(line)),
            Input::Received("done") => session.turn_ended(TurnEnd::new()),
            Input::Received(line) => {
                self.messages += 1;
                session.message_finished(self.messages.to_string(), MessageDraft::assistant(), MessageEnd::text(line));
            }
            _ => {}
        }
    }
}

impl Driver for Odd {
    fn id(&self) -> &'static str {
        "odd"
    }

    fn converter(&self) -> Box<dyn Converter> {
        Box::new(Plain::default())
    }

    fn status(&self) -> AgentStatus {
        AgentStatus::new("odd", self.installed)
    }

    fn check(&self, _spec: &SessionSpec) -> Result<(), Refusal> {
        Ok(())
    }

    fn modes(self: Arc<Self>) -> BoxFuture<Result<Vec<Mode>, ServeError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn models(self: Arc<Self>) -> BoxFuture<Result<Models, ServeError>> {
        Box::pin(std::future::ready(Err(ServeError::Unavailable("no answer".to_owned()))))
    }

    fn install(self: Arc<Self>, _install: InstallOptions) -> BoxFuture<Result<(), String>> {
        Box::pin(std::future::ready(Err("no network".to_owned())))
    }

    fn idle_timeout(&self) -> Duration {
        Duration::from_secs(60)
    }

    fn serve(
        self: Arc<Self>,
        spec: SessionSpec,
        commands: CommandReceiver,
        output: OutputSender,
    ) -> BoxFuture<Result<ServeOutcome, ServeError>> {
        (self.play)(self.served.fetch_add(1, Ordering::SeqCst), spec, commands, output)
    }
}

async fn stage(play: Play) -> Stage {
    let odd = Odd { play, served: AtomicUsize::new(0), installed: true };
    let stage = Stage::in_folder(TempDir::new().unwrap(), vec![Arc::new(odd)]);
    stage.runtime.create("s".into(), odd_session()).await.unwrap();
    stage
}

fn odd_session() -> CreateSession {
    CreateSession::new("odd")
}

fn message(command: Option<DriverCommand>) -> String {
    match command {
        Some(DriverCommand::SendMessage(message)) => message.text,
        other => panic!("expected a message, found {other:?}"),
    }
}

/// Answers one message and waits for the end.
async fn answer_one(mut commands: CommandReceiver, output: OutputSender) -> Result<ServeOutcome, ServeError> {
    output.send(Input::Sent(message(commands.next().await))).await;
    output.send(Input::Received("fine".into())).await;
    output.send(Input::Received("done".into())).await;
    while commands.next().await.is_some() {}
    Ok(ServeOutcome::Stopped)
}

#[tokio::test]
async fn an_agent_that_cannot_be_started_fails_the_turn_and_is_tried_again() {
    let stage = stage(|time, _, commands, output| {
        Box::pin(async move {
            if time == 0 {
                return Err(ServeError::Unavailable("no such file".to_owned()));
            }
            answer_one(commands, output).await
        })
    })
    .await;
    let failed = stage.turn("one").await;
    assert_eq!((said(&failed), status(&failed)), (vec!["one".to_owned()], Some(TurnStatus::Failed)));
    let errors =
        failed.iter().filter(|event| matches!(&event.data, EventData::Error(error) if error.message == "no such file"));
    assert_eq!(errors.count(), 1);
    assert_eq!(said(&stage.turn("two").await), ["two", "fine"]);
    stage.assert_rules().await;
}

#[tokio::test]
async fn a_session_that_cannot_be_brought_back_ends_with_an_error() {
    let stage = stage(|_, _, mut commands, output| {
        Box::pin(async move {
            output.send(Input::Stderr("session unknown".into())).await;
            output.send(Input::Sent(message(commands.next().await))).await;
            Err(ServeError::SessionLost("the agent does not know the session any more".to_owned()))
        })
    })
    .await;
    stage.send("one").await.unwrap();
    let events = stage.until(nth("session.ended", 1)).await;
    assert_eq!(status(&events), Some(TurnStatus::Failed));
    let ended = serde_json::to_value(events.last().unwrap()).unwrap();
    assert_eq!(ended["data"]["reason"], "error");
    assert_eq!(ended["data"]["message"], "the agent does not know the session any more");
    assert_eq!(ended["data"]["stderr"]["head"], "session unknown");
    stage.assert_rules().await;
}

#[tokio::test]
async fn an_agent_that_dies_before_it_hears_the_message_fails_the_turn() {
    let stage = stage(|_, _, _orders, output| {
        Box::pin(async move {
            output.send_launch(interlingua_convert::Launch::default()).await;
            output.send(Input::Stderr("bad flag".into())).await;
            output.send(Input::Exit { code: Some(2) }).await;
            Ok(ServeOutcome::Stopped)
        })
    })
    .await;
    let turn = stage.turn("one").await;
    assert_eq!((said(&turn), status(&turn)), (vec!["one".to_owned()], Some(TurnStatus::Failed)));
    assert!(turn.iter().any(
        |event| matches!(&event.data, EventData::Error(error) if error.message == "the agent exited with code 2")
    ));
    stage.assert_rules().await;
}

#[tokio::test]
async fn a_message_that_finds_its_agent_leaving_is_given_to_the_next_one() {
    let stage = stage(|time, _, commands, output| {
        Box::pin(async move {
            if time == 0 {
                return Ok(ServeOutcome::Stopped);
            }
            answer_one(commands, output).await
        })
    })
    .await;
    assert_eq!(said(&stage.turn("one").await), ["one", "fine"]);
}

#[tokio::test]
async fn an_agent_that_never_stays_fails_the_turn() {
    let stage = stage(|_, _, _, _| Box::pin(async { Ok(ServeOutcome::Stopped) })).await;
    let turn = stage.turn("one").await;
    assert_eq!(status(&turn), Some(TurnStatus::Failed));
    stage.assert_rules().await;
}

#[tokio::test]
async fn a_driver_that_panics_fails_the_turn() {
    let stage = stage(|_, _, _, _| Box::pin(async { panic!("a driver's bug") })).await;
    assert_eq!(status(&stage.turn("one").await), Some(TurnStatus::Failed));
    stage.assert_rules().await;
}

#[tokio::test]
async fn a_message_that_the_agent_refuses_fails_its_turn_and_the_next_is_heard() {
    let stage = stage(|_, _, mut commands, output| {
        Box::pin(async move {
            output.send(Input::Sent(message(commands.next().await))).await;
            output.send_failure(Failure::new(ErrorCode::InvalidRequest, "too long")).await;
            answer_one(commands, output).await
        })
    })
    .await;
    let refused = stage.turn("one").await;
    assert_eq!((said(&refused), status(&refused)), (vec!["one".to_owned()], Some(TurnStatus::Failed)));
    assert_eq!(said(&stage.turn("two").await), ["two", "fine"]);
    stage.assert_rules().await;
}

#[tokio::test]
async fn rubbish_is_unparsed_and_the_turn_goes_on() {
    let stage = stage(|_, _, mut commands, output| {
        Box::pin(async move {
            output.send(Input::Sent(message(commands.next().await))).await;
            output.send(Input::Unreadable { bytes: vec![0xff, 0xfe], error: "expected UTF-8".into() }).await;
            output.send(Input::Received("fine".into())).await;
            output.send(Input::Received("done".into())).await;
            while commands.next().await.is_some() {}
            Ok(ServeOutcome::Stopped)
        })
    })
    .await;
    stage.turn("one").await;
    let events = stage.events().await;
    assert!(events.iter().any(|event| event.data.kind() == "agent.unparsed"));
    assert_eq!(status(&events), Some(TurnStatus::Completed));
    stage.assert_rules().await;
}

#[tokio::test]
async fn an_agent_learns_its_native_id_and_is_resumed_by_it() {
    let stage = stage(|time, spec, mut commands, output| {
        Box::pin(async move {
            assert_eq!(spec.native_session_id.as_ref().map(NativeSessionId::as_str), (time > 0).then_some("odd-1"));
            output.send(Input::Sent(message(commands.next().await))).await;
            output.send(Input::Received("fine".into())).await;
            output.send(Input::Received("done".into())).await;
            output.send(Input::Exit { code: Some(0) }).await;
            Ok(ServeOutcome::Stopped)
        })
    })
    .await;
    stage.turn("one").await;
    assert_eq!(status(&stage.turn("two").await), Some(TurnStatus::Completed));
    assert_eq!(stage.session("s").await.native_session_id.unwrap().as_str(), "odd-1");
    stage.assert_rules().await;
}

#[tokio::test]
async fn an_agent_may_have_a_turn_of_its_own() {
    let stage = stage(|_, _, mut commands, output| {
        Box::pin(async move {
            output.send(Input::Sent(message(commands.next().await))).await;
            output.send(Input::Received("fine".into())).await;
            output.send(Input::Received("done".into())).await;
            output.send(Input::Received("by the way".into())).await;
            answer_one(commands, output).await
        })
    })
    .await;
    stage.turn("one").await;
    stage.until(|event| said(std::slice::from_ref(event)) == ["by the way"]).await;
    let sent = stage.send("two").await.unwrap();
    let turn = stage.until_after(sent.wait_for_turn().await.unwrap(), is_turn_end).await;
    assert_eq!(said(&turn), ["two", "fine"]);
    stage.assert_rules().await;
}

#[tokio::test]
async fn an_agent_that_is_not_installed_is_named_with_the_command_that_installs_it() {
    let odd = Odd {
        play: |_, _, _, _| Box::pin(async { Ok(ServeOutcome::Stopped) }),
        served: AtomicUsize::new(0),
        installed: false,
    };
    let stage = Stage::in_folder(TempDir::new().unwrap(), vec![Arc::new(odd)]);
    let error = stage.runtime.create("s".into(), odd_session()).await.unwrap_err();
    assert_eq!(error.to_string(), "odd is not installed: `interlingua agents install odd` installs it");
    let error = stage.runtime.install("odd", InstallOptions::default()).await.unwrap_err();
    assert!(matches!(error, RuntimeError::InstallFailed { .. }), "{error:?}");
    let error = stage.runtime.models("odd").await.unwrap_err();
    assert!(matches!(error, RuntimeError::AgentProcessExited { .. }), "{error:?}");
}

#[tokio::test]
async fn an_agent_that_takes_no_attachments_refuses_them() {
    let stage = stage(|_, _, commands, output| Box::pin(answer_one(commands, output))).await;
    let file = stage.folder.path().join("note.txt");
    std::fs::write(&file, "x").unwrap();
    let attachment = interlingua_schema::Attachment::new(file.to_str().unwrap());
    let message = interlingua_schema::Message::new("look").attachments(vec![attachment]);
    let refused = stage.runtime.send(&"s".into(), message).await.unwrap_err();
    assert!(matches!(refused, RuntimeError::InvalidRequest(_)), "{refused:?}");
}
