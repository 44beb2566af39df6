//! Actions of a client in any order: the stream has no violations, and every turn ends.

use std::sync::Arc;
use std::time::Duration;

use interlingua_runtime::mock::{MockDriver, MockScenario};
use interlingua_runtime::{PermissionReply, Runtime, RuntimeOptions};
use interlingua_schema::{EventData, Message, PermissionStatus, QuestionStatus, SessionId, UniversalEvent};
use interlingua_store::{RawPayloads, Store};
use proptest::prelude::*;
use tempfile::TempDir;
use tokio::time::timeout;

use crate::test_runtime::{assert_no_violations, events, mock, open_store};

#[derive(Clone, Debug)]
enum Action {
    Send(&'static str),
    ReplyPermission(usize, PermissionReply),
    ReplyQuestion(usize),
    RejectQuestion(usize),
    Interrupt,
    /// Gives the agent time to work.
    Wait,
    Restart,
}

fn any_action() -> impl Strategy<Value = Action> {
    let commands = prop::sample::select(vec![
        "hello",
        "markdown",
        "tool",
        "status",
        "image",
        "reasoning",
        "unknown",
        "permission",
        "question",
        "error",
        "unparsed",
        "crash",
        "hang",
        "several",
    ]);
    prop_oneof![
        6 => commands.prop_map(Action::Send),
        2 => (0..4_usize, prop::sample::select(vec![PermissionReply::Once, PermissionReply::Always, PermissionReply::Reject]))
            .prop_map(|(index, reply)| Action::ReplyPermission(index, reply)),
        2 => (0..4_usize).prop_map(Action::ReplyQuestion),
        1 => (0..4_usize).prop_map(Action::RejectQuestion),
        2 => Just(Action::Interrupt),
        4 => Just(Action::Wait),
        1 => Just(Action::Restart),
    ]
}

const SCENARIO: &str = r#"
    [[turn]]
    on = "crash"
    step = [{ say = "I go." }, { tool = { name = "t", output = "o" } }, { stderr = "boom" }, { exit = 3 }]

    [[turn]]
    on = "hang"
    step = [{ say = "I wait." }, { hang = true }]

    [[turn]]
    on = "several"
    step = [{ ask = [[{ prompt = "a" }, { prompt = "b" }], [{ prompt = "c" }]] }, { say = "Thanks." }]
"#;

struct TestServer {
    folder: TempDir,
    store: Store,
    runtime: Runtime,
}

fn start(folder: &TempDir) -> (Store, Runtime) {
    let store = open_store(folder.path());
    let file = folder.path().join("scenario.toml");
    std::fs::write(&file, SCENARIO).unwrap();
    let mock = MockDriver::new().scenario(MockScenario::read(&file).unwrap());
    let options = RuntimeOptions::default().interrupt_grace(Duration::from_millis(30));
    let runtime = Runtime::start(store.clone(), vec![Arc::new(mock)], options);
    (store, runtime)
}

/// The ids of pending permission requests and questions.
fn pending(events: &[UniversalEvent]) -> (Vec<String>, Vec<String>) {
    let (mut permissions, mut questions) = (Vec::new(), Vec::new());
    for event in events {
        match &event.data {
            EventData::PermissionRequested(permission) => permissions.push(permission.permission_id.clone()),
            EventData::PermissionResolved(permission) => {
                assert_ne!(permission.status, PermissionStatus::Requested);
                permissions.retain(|id| *id != permission.permission_id);
            }
            EventData::QuestionRequested(question) => questions.push(question.question_id.clone()),
            EventData::QuestionResolved(question) => {
                assert_ne!(question.status, QuestionStatus::Requested);
                questions.retain(|id| *id != question.question_id);
            }
            _ => {}
        }
    }
    (permissions, questions)
}

impl TestServer {
    async fn execute(self, action: Action) -> Self {
        let id = SessionId::from("s");
        let (permissions, questions) = pending(&events(&self.store, "s").await);
        // Refusals are fine: the client acts at random.
        match action {
            Action::Send(text) => {
                let message = Message::new(text);
                self.runtime.send(&id, message).await.unwrap();
            }
            Action::ReplyPermission(index, reply) => {
                if let Some(permission) = permissions.get(index) {
                    let _ = self.runtime.reply_permission(&id, permission, reply).await;
                }
            }
            Action::ReplyQuestion(index) => {
                if let Some(question) = questions.get(index) {
                    let _ = self.runtime.reply_question(&id, question, vec!["x".to_owned()]).await;
                }
            }
            Action::RejectQuestion(index) => {
                if let Some(question) = questions.get(index) {
                    let _ = self.runtime.reject_question(&id, question).await;
                }
            }
            Action::Interrupt => self.runtime.interrupt(&id).await.unwrap(),
            Action::Wait => tokio::time::sleep(Duration::from_millis(1)).await,
            Action::Restart => {
                let Self { folder, store, runtime } = self;
                runtime.shutdown().await;
                drop((store, runtime));
                let (store, runtime) = start(&folder);
                return Self { folder, store, runtime };
            }
        }
        self
    }

    /// Sends a last message and interrupts the turns before it, until its own turn has ended.
    async fn run_last_turn(&self) {
        let id = SessionId::from("s");
        let message = Message::new("echo the last message");
        let mut last = Box::pin(self.runtime.send(&id, message).await.unwrap().wait_for_turn());
        let after = loop {
            tokio::select! {
                after = &mut last => break after.unwrap(),
                () = tokio::time::sleep(Duration::from_millis(5)) => self.runtime.interrupt(&id).await.unwrap(),
            }
        };
        let key = self.store.session(&id).await.unwrap().unwrap().key;
        let mut reader = self.store.reader(key, after, RawPayloads::Omit);
        while let Some(batch) = reader.next().await.unwrap() {
            if batch.iter().any(|(_, json)| json.contains(r#""type":"turn.ended""#)) {
                return;
            }
        }
    }
}

async fn run_actions(actions: Vec<Action>) {
    let folder = TempDir::new().unwrap();
    let (store, runtime) = start(&folder);
    let mut server = TestServer { folder, store, runtime };
    server.runtime.create("s".into(), mock()).await.unwrap();
    for action in actions {
        server = server.execute(action).await;
    }
    server.run_last_turn().await;
    let all = events(&server.store, "s").await;
    let count = |kind: &str| all.iter().filter(|event| event.data.kind() == kind).count();
    assert_eq!(count("turn.started"), count("turn.ended"));
    server.runtime.terminate(&"s".into()).await.unwrap();
    assert_no_violations(&events(&server.store, "s").await);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_actions_has_no_violations_and_every_turn_ends(actions in prop::collection::vec(any_action(), 0..24)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            timeout(Duration::from_secs(60), run_actions(actions)).await.expect("a session hangs");
        });
    }
}
