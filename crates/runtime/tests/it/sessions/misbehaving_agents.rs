//! Agents and drivers that misbehave.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use interlingua_convert::{
    Converter, Drafts, Failure, Input, InputRef, MessageDraft, MessageEnd, PromptDraft, TurnEnd,
};
use interlingua_runtime::driver::{
    BoxFuture, CommandReceiver, Driver, DriverCommand, InstallProgress, OutputSender, ServeError, ServeOutcome,
    SessionSpec,
};
use interlingua_runtime::{AgentStatus, CreateSession, InstallOptions, Mode, Models, Refusal, RuntimeError};
use interlingua_schema::{ErrorCode, EventData, NativeSessionId, TurnStatus};
use tempfile::TempDir;

use crate::test_runtime::{TestRuntime, is_nth, is_turn_end, texts, turn_status};

/// What the driver does in the n-th call of `serve`, from 0.
type ServeScript = fn(usize, SessionSpec, CommandReceiver, OutputSender) -> BoxFuture<Result<ServeOutcome, ServeError>>;

/// A driver that runs a script. Every line of its agent is a message; the line `done` ends the turn.
struct ScriptedDriver {
    script: ServeScript,
    serve_calls: AtomicUsize,
    installed: bool,
}

#[derive(Default)]
struct LineConverter {
    messages: u64,
}

impl Converter for LineConverter {
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

impl Driver for ScriptedDriver {
    fn id(&self) -> &'static str {
        "odd"
    }

    fn converter(&self) -> Box<dyn Converter> {
        Box::new(LineConverter::default())
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

    fn install(self: Arc<Self>, _options: InstallOptions, _: InstallProgress) -> BoxFuture<Result<(), String>> {
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
        (self.script)(self.serve_calls.fetch_add(1, Ordering::SeqCst), spec, commands, output)
    }
}

async fn run_with(script: ServeScript) -> TestRuntime {
    let driver = ScriptedDriver { script, serve_calls: AtomicUsize::new(0), installed: true };
    let test = TestRuntime::in_folder(TempDir::new().unwrap(), vec![Arc::new(driver)]);
    test.runtime.create("s".into(), new_session()).await.unwrap();
    test
}

fn new_session() -> CreateSession {
    CreateSession::new("odd")
}

fn message_text(command: Option<DriverCommand>) -> String {
    match command {
        Some(DriverCommand::SendMessage(message)) => message.text,
        other => panic!("expected a message, found {other:?}"),
    }
}

/// Answers one message and waits until the session closes the connection.
async fn answer_one(mut commands: CommandReceiver, output: OutputSender) -> Result<ServeOutcome, ServeError> {
    output.send(Input::Sent(message_text(commands.next().await))).await;
    output.send(Input::Received("fine".into())).await;
    output.send(Input::Received("done".into())).await;
    while commands.next().await.is_some() {}
    Ok(ServeOutcome::Stopped)
}

#[tokio::test]
async fn an_agent_that_cannot_be_started_fails_the_turn_and_is_tried_again() {
    let test = run_with(|call, _, commands, output| {
        Box::pin(async move {
            if call == 0 {
                return Err(ServeError::Unavailable("no such file".to_owned()));
            }
            answer_one(commands, output).await
        })
    })
    .await;
    let failed = test.run_turn("one").await;
    assert_eq!((texts(&failed), turn_status(&failed)), (vec!["one".to_owned()], Some(TurnStatus::Failed)));
    let errors =
        failed.iter().filter(|event| matches!(&event.data, EventData::Error(error) if error.message == "no such file"));
    assert_eq!(errors.count(), 1);
    assert_eq!(texts(&test.run_turn("two").await), ["two", "fine"]);
    test.assert_no_violations().await;
}

#[tokio::test]
async fn a_session_that_cannot_be_resumed_ends_with_an_error() {
    let test = run_with(|_, _, mut commands, output| {
        Box::pin(async move {
            output.send(Input::Stderr("session unknown".into())).await;
            output.send(Input::Sent(message_text(commands.next().await))).await;
            Err(ServeError::SessionLost("the agent does not know the session any more".to_owned()))
        })
    })
    .await;
    test.send("one").await.unwrap();
    let events = test.wait_for(is_nth("session.ended", 1)).await;
    assert_eq!(turn_status(&events), Some(TurnStatus::Failed));
    let ended = serde_json::to_value(events.last().unwrap()).unwrap();
    assert_eq!(ended["data"]["reason"], "error");
    assert_eq!(ended["data"]["message"], "the agent does not know the session any more");
    assert_eq!(ended["data"]["stderr"]["head"], "session unknown");
    test.assert_no_violations().await;
}

#[tokio::test]
async fn an_agent_that_dies_before_it_gets_the_message_fails_the_turn() {
    let test = run_with(|_, _, _orders, output| {
        Box::pin(async move {
            output.send_launch(interlingua_convert::Launch::default()).await;
            output.send(Input::Stderr("bad flag".into())).await;
            output.send(Input::Exit { code: Some(2) }).await;
            Ok(ServeOutcome::Stopped)
        })
    })
    .await;
    let turn = test.run_turn("one").await;
    assert_eq!((texts(&turn), turn_status(&turn)), (vec!["one".to_owned()], Some(TurnStatus::Failed)));
    assert!(turn.iter().any(
        |event| matches!(&event.data, EventData::Error(error) if error.message == "the agent exited with code 2")
    ));
    test.assert_no_violations().await;
}

#[tokio::test]
async fn a_message_to_a_stopping_driver_is_sent_again() {
    let test = run_with(|call, _, commands, output| {
        Box::pin(async move {
            if call == 0 {
                return Ok(ServeOutcome::Stopped);
            }
            answer_one(commands, output).await
        })
    })
    .await;
    assert_eq!(texts(&test.run_turn("one").await), ["one", "fine"]);
}

#[tokio::test]
async fn a_driver_that_always_stops_fails_the_turn() {
    let test = run_with(|_, _, _, _| Box::pin(async { Ok(ServeOutcome::Stopped) })).await;
    let turn = test.run_turn("one").await;
    assert_eq!(turn_status(&turn), Some(TurnStatus::Failed));
    test.assert_no_violations().await;
}

#[tokio::test]
async fn a_driver_that_panics_fails_the_turn() {
    let test = run_with(|_, _, _, _| Box::pin(async { panic!("a bug in the driver") })).await;
    assert_eq!(turn_status(&test.run_turn("one").await), Some(TurnStatus::Failed));
    test.assert_no_violations().await;
}

#[tokio::test]
async fn a_refused_message_fails_its_turn_and_the_next_one_runs() {
    let test = run_with(|_, _, mut commands, output| {
        Box::pin(async move {
            output.send(Input::Sent(message_text(commands.next().await))).await;
            output.send_failure(Failure::new(ErrorCode::InvalidRequest, "too long")).await;
            answer_one(commands, output).await
        })
    })
    .await;
    let refused = test.run_turn("one").await;
    assert_eq!((texts(&refused), turn_status(&refused)), (vec!["one".to_owned()], Some(TurnStatus::Failed)));
    assert_eq!(texts(&test.run_turn("two").await), ["two", "fine"]);
    test.assert_no_violations().await;
}

#[tokio::test]
async fn unreadable_bytes_are_unparsed_and_the_turn_continues() {
    let test = run_with(|_, _, mut commands, output| {
        Box::pin(async move {
            output.send(Input::Sent(message_text(commands.next().await))).await;
            output.send(Input::Unreadable { bytes: vec![0xff, 0xfe], error: "expected UTF-8".into() }).await;
            output.send(Input::Received("fine".into())).await;
            output.send(Input::Received("done".into())).await;
            while commands.next().await.is_some() {}
            Ok(ServeOutcome::Stopped)
        })
    })
    .await;
    test.run_turn("one").await;
    let events = test.events().await;
    assert!(events.iter().any(|event| event.data.kind() == "agent.unparsed"));
    assert_eq!(turn_status(&events), Some(TurnStatus::Completed));
    test.assert_no_violations().await;
}

#[tokio::test]
async fn a_session_is_resumed_by_its_native_id() {
    let test = run_with(|call, spec, mut commands, output| {
        Box::pin(async move {
            assert_eq!(spec.native_session_id.as_ref().map(NativeSessionId::as_str), (call > 0).then_some("odd-1"));
            output.send(Input::Sent(message_text(commands.next().await))).await;
            output.send(Input::Received("fine".into())).await;
            output.send(Input::Received("done".into())).await;
            output.send(Input::Exit { code: Some(0) }).await;
            Ok(ServeOutcome::Stopped)
        })
    })
    .await;
    test.run_turn("one").await;
    assert_eq!(turn_status(&test.run_turn("two").await), Some(TurnStatus::Completed));
    assert_eq!(test.session("s").await.native_session_id.unwrap().as_str(), "odd-1");
    test.assert_no_violations().await;
}

#[tokio::test]
async fn an_agent_may_start_a_turn_by_itself() {
    let test = run_with(|_, _, mut commands, output| {
        Box::pin(async move {
            output.send(Input::Sent(message_text(commands.next().await))).await;
            output.send(Input::Received("fine".into())).await;
            output.send(Input::Received("done".into())).await;
            output.send(Input::Received("by the way".into())).await;
            answer_one(commands, output).await
        })
    })
    .await;
    test.run_turn("one").await;
    test.wait_for(|event| texts(std::slice::from_ref(event)) == ["by the way"]).await;
    let sent = test.send("two").await.unwrap();
    let turn = test.wait_for_after(sent.wait_for_turn().await.unwrap(), is_turn_end).await;
    assert_eq!(texts(&turn), ["two", "fine"]);
    test.assert_no_violations().await;
}

#[tokio::test]
async fn the_error_for_a_missing_agent_has_the_install_command() {
    let driver = ScriptedDriver {
        script: |_, _, _, _| Box::pin(async { Ok(ServeOutcome::Stopped) }),
        serve_calls: AtomicUsize::new(0),
        installed: false,
    };
    let test = TestRuntime::in_folder(TempDir::new().unwrap(), vec![Arc::new(driver)]);
    let error = test.runtime.create("s".into(), new_session()).await.unwrap_err();
    assert_eq!(error.to_string(), "odd is not installed; run `interlingua agents install odd`");
    let error = test.runtime.install("odd", InstallOptions::default()).await.unwrap_err();
    assert!(matches!(error, RuntimeError::InstallFailed { .. }), "{error:?}");
    let error = test.runtime.models("odd").await.unwrap_err();
    assert!(matches!(error, RuntimeError::AgentProcessExited { .. }), "{error:?}");
}

#[tokio::test]
async fn attachments_are_refused_by_an_agent_that_takes_none() {
    let test = run_with(|_, _, commands, output| Box::pin(answer_one(commands, output))).await;
    let file = test.folder.path().join("note.txt");
    std::fs::write(&file, "x").unwrap();
    let attachment = interlingua_schema::Attachment::new(file.to_str().unwrap());
    let message = interlingua_schema::Message::new("look").attachments(vec![attachment]);
    let refused = test.runtime.send(&"s".into(), message).await.unwrap_err();
    assert!(matches!(refused, RuntimeError::InvalidRequest(_)), "{refused:?}");
}
