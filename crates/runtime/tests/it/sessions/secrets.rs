//! Sessions that were created with `env` or MCP secrets, and a server that forgets the values.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use interlingua_convert::Converter;
use interlingua_runtime::driver::{
    BoxFuture, CommandReceiver, Driver, InstallProgress, OutputSender, ServeError, ServeOutcome, SessionSpec,
};
use interlingua_runtime::mock::MockDriver;
use interlingua_runtime::{
    AgentStatus, Environment, InstallOptions, McpSecrets, McpServers, Mode, Models, Refusal, Runtime, RuntimeError,
    SessionSecrets, SessionState, SessionStatus,
};
use interlingua_schema::{EventData, NativeSessionId, SessionId, TurnStatus};
use tempfile::TempDir;

use super::restart::{message, new_tokio_runtime, run_until_killed, wait_for_event};
use crate::test_runtime::{
    TestRuntime, assert_no_violations, event_types, is_nth, mock, permission_ids, texts, turn_status,
};

const SECRET: &str = "s3cret-value-0123456789";

fn env(values: &[(&str, &str)]) -> Environment {
    values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn secrets(values: &[(&str, &str)]) -> SessionSecrets {
    SessionSecrets::default().env(env(values))
}

async fn status(test: &TestRuntime) -> SessionStatus {
    test.runtime.status(&test.session("s").await)
}

#[track_caller]
fn assert_not_on_disk(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        assert!(!bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()), "{}", path.display());
    }
}

/// The agent of these tests: the mock, which takes MCP servers and keeps the specs that it was started with.
#[derive(Clone, Default)]
struct RecordingDriver {
    mock: Arc<MockDriver>,
    specs: Arc<Mutex<Vec<SessionSpec>>>,
    idle_timeout: Duration,
}

impl Driver for RecordingDriver {
    fn id(&self) -> &'static str {
        self.mock.id()
    }
    fn converter(&self) -> Box<dyn Converter> {
        self.mock.converter()
    }
    fn status(&self) -> AgentStatus {
        self.mock.status()
    }
    fn check(&self, _spec: &SessionSpec) -> Result<(), Refusal> {
        Ok(())
    }
    fn choose_native_session_id(&self, session: &SessionId) -> Option<NativeSessionId> {
        self.mock.choose_native_session_id(session)
    }
    fn modes(self: Arc<Self>) -> BoxFuture<Result<Vec<Mode>, ServeError>> {
        Arc::clone(&self.mock).modes()
    }
    fn models(self: Arc<Self>) -> BoxFuture<Result<Models, ServeError>> {
        Arc::clone(&self.mock).models()
    }
    fn install(self: Arc<Self>, options: InstallOptions, progress: InstallProgress) -> BoxFuture<Result<(), String>> {
        Arc::clone(&self.mock).install(options, progress)
    }
    fn idle_timeout(&self) -> Duration {
        self.idle_timeout
    }
    fn serve(
        self: Arc<Self>,
        mut spec: SessionSpec,
        commands: CommandReceiver,
        output: OutputSender,
    ) -> BoxFuture<Result<ServeOutcome, ServeError>> {
        self.specs.lock().unwrap().push(spec.clone());
        spec.mcp = McpServers::default();
        Arc::clone(&self.mock).serve(spec, commands, output)
    }
}

/// Leaves a session with the variables `A` and `B`, a turn that waits for the user, and two queued messages behind it.
fn leave_session_with_queue(folder: &Path) {
    run_until_killed(folder, MockDriver::new(), |runtime: Runtime, store| async move {
        runtime.create("s".into(), mock().env(env(&[("A", SECRET), ("B", SECRET)]))).await.unwrap();
        for text in ["permission", "echo one", "echo two"] {
            runtime.send(&"s".into(), message(text)).await.unwrap();
        }
        wait_for_event(&store, is_nth("permission.requested", 2)).await;
    });
}

#[test]
fn the_queue_waits_until_all_values_are_handed_in() {
    let folder = TempDir::new().unwrap();
    leave_session_with_queue(folder.path());
    assert_not_on_disk(folder.path());
    new_tokio_runtime().block_on(async {
        let test = TestRuntime::in_folder(folder, vec![Arc::new(MockDriver::new())]);
        // The interrupted turn is closed, and no other one starts.
        let before = test.wait_for(is_nth("turn.ended", 1)).await;
        assert_eq!(turn_status(&before), Some(TurnStatus::Failed));
        let state = status(&test).await;
        assert_eq!((state.state, state.secrets_missing), (SessionState::NeedsSecrets, vec!["A".into(), "B".into()]));

        test.send("echo three").await.unwrap();
        test.runtime.set_secrets(&"s".into(), secrets(&[("A", SECRET)])).await.unwrap();
        let state = status(&test).await;
        assert_eq!((state.state, state.secrets_missing), (SessionState::NeedsSecrets, vec!["B".into()]));
        let error = test.runtime.set_secrets(&"s".into(), secrets(&[("C", SECRET)])).await.unwrap_err();
        assert!(matches!(&error, RuntimeError::InvalidRequest(invalid) if invalid.field == Some("env")), "{error:?}");
        assert!(error.to_string().contains("A, B") && !error.to_string().contains(SECRET), "{error}");
        assert_eq!(test.events().await.len(), before.len(), "no message was sent to the agent");

        test.runtime.set_secrets(&"s".into(), secrets(&[("B", SECRET)])).await.unwrap();
        let events = test.wait_for(is_nth("turn.ended", 4)).await;
        assert_no_violations(&events);
        let queued = &events[before.len()..];
        assert_eq!(texts(queued), ["echo one", "one", "echo two", "two", "echo three", "three"]);
        assert!(!queued.iter().any(|event| matches!(event.data, EventData::Error(_))));
        let state = status(&test).await;
        assert_eq!((state.state, state.secrets_missing), (SessionState::Idle, vec![]));
        assert_not_on_disk(test.folder.path());
    });
}

#[test]
fn a_caller_that_waits_for_its_turn_waits_for_the_values_too() {
    let folder = TempDir::new().unwrap();
    leave_session_with_queue(folder.path());
    new_tokio_runtime().block_on(async {
        let test = TestRuntime::in_folder(folder, vec![Arc::new(MockDriver::new())]);
        let sent = test.send("echo three").await.unwrap();
        test.runtime.set_secrets(&"s".into(), secrets(&[("A", "1"), ("B", "2")])).await.unwrap();
        let after = sent.wait_for_turn().await.unwrap();
        let turn = test.wait_for_after(after, |event| event.data.kind() == "turn.ended").await;
        assert_eq!(texts(&turn), ["echo three", "three"]);
    });
}

#[test]
fn a_session_that_waits_for_values_can_be_terminated_and_deleted() {
    let folder = TempDir::new().unwrap();
    leave_session_with_queue(folder.path());
    new_tokio_runtime().block_on(async {
        let test = TestRuntime::in_folder(folder, vec![Arc::new(MockDriver::new())]);
        test.runtime.interrupt(&"s".into()).await.unwrap();
        test.runtime.terminate(&"s".into()).await.unwrap();
        let state = status(&test).await;
        assert_eq!((state.state, state.secrets_missing), (SessionState::Ended, vec![]));
        let refused = test.runtime.set_secrets(&"s".into(), secrets(&[("A", "1")])).await;
        assert_eq!(refused, Err(RuntimeError::SessionEnded("s".into())));
        assert_no_violations(&test.events().await);
        test.runtime.delete(&"s".into()).await.unwrap();
        let refused = test.runtime.set_secrets(&"s".into(), secrets(&[("A", "1")])).await;
        assert_eq!(refused, Err(RuntimeError::SessionNotFound("s".into())));
    });
}

#[test]
fn secrets_of_mcp_servers_reach_the_agent_after_they_are_handed_in() {
    let mcp = r#"{"tool":{"command":["run","it"],"env":{"KEY":"1"}},"docs":{"type":"sse","url":"http://x","headers":{"Auth":"2"}},"plain":{"command":"p"}}"#;
    let servers: McpServers = serde_json::from_str(mcp).unwrap();
    let folder = TempDir::new().unwrap();
    let given = servers.clone();
    run_until_killed(folder.path(), RecordingDriver::default(), |runtime, _| async move {
        runtime.create("s".into(), mock().mcp(given)).await.unwrap();
    });
    new_tokio_runtime().block_on(async {
        let driver = RecordingDriver::default();
        let test = TestRuntime::in_folder(folder, vec![Arc::new(driver.clone())]);
        assert_eq!(status(&test).await.secrets_missing, ["mcp.tool.env.KEY", "mcp.docs.headers.Auth"]);
        let sent = test.send("echo hello").await.unwrap();
        let values: BTreeMap<String, McpSecrets> =
            serde_json::from_str(r#"{"tool":{"env":{"KEY":"1"}},"docs":{"headers":{"Auth":"2"}}}"#).unwrap();
        test.runtime.set_secrets(&"s".into(), SessionSecrets::default().mcp(values)).await.unwrap();
        sent.wait_for_turn().await.unwrap();
        let specs = driver.specs.lock().unwrap();
        assert_eq!(specs.iter().map(|spec| &spec.mcp).collect::<Vec<_>>(), [&servers]);
    });
}

#[tokio::test]
async fn replaced_values_are_used_from_the_next_turn_on() {
    let driver = RecordingDriver { idle_timeout: Duration::from_secs(60), ..RecordingDriver::default() };
    let specs = Arc::clone(&driver.specs);
    let test = TestRuntime::in_folder(TempDir::new().unwrap(), vec![Arc::new(driver)]);
    test.runtime.create("s".into(), mock().env(env(&[("A", "old"), ("B", "kept")]))).await.unwrap();
    test.send("permission").await.unwrap();
    let events = test.wait_for(is_nth("permission.requested", 2)).await;
    test.runtime.set_secrets(&"s".into(), secrets(&[("A", "new")])).await.unwrap();
    for id in permission_ids(&events) {
        let once = interlingua_runtime::PermissionReply::Once;
        test.runtime.reply_permission(&"s".into(), &id, once).await.unwrap();
    }
    let first = test.wait_for(is_nth("turn.ended", 1)).await;
    assert_eq!(turn_status(&first), Some(TurnStatus::Completed), "{:?}", event_types(&first));
    test.run_turn("echo second").await;
    test.run_turn("echo third").await;
    test.assert_no_violations().await;
    let specs = specs.lock().unwrap();
    let used: Vec<_> = specs.iter().map(|spec| (spec.env.get("A"), spec.env.get("B"))).collect();
    assert_eq!(used, [(Some("old"), Some("kept")), (Some("new"), Some("kept"))]);
}
