//! Whatever a client does, in whatever order: the stream keeps the rules, and every turn ends.

use std::sync::Arc;
use std::time::Duration;

use interlingua_runtime::mock::{MockDriver, MockScenario};
use interlingua_runtime::{PermissionReply, Runtime, RuntimeOptions};
use interlingua_schema::{EventData, Message, PermissionStatus, QuestionStatus, SessionId, UniversalEvent};
use interlingua_store::{RawPayloads, Store};
use proptest::prelude::*;
use tempfile::TempDir;
use tokio::time::timeout;

use crate::stage::{assert_rules, events, mock, open};

#[derive(Clone, Debug)]
enum Act {
    Send(&'static str),
    ReplyPermission(usize, PermissionReply),
    ReplyQuestion(usize),
    RejectQuestion(usize),
    Interrupt,
    /// Lets the agent get somewhere.
    Breathe,
    Restart,
}

fn act() -> impl Strategy<Value = Act> {
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
        6 => commands.prop_map(Act::Send),
        2 => (0..4_usize, prop::sample::select(vec![PermissionReply::Once, PermissionReply::Always, PermissionReply::Reject]))
            .prop_map(|(which, reply)| Act::ReplyPermission(which, reply)),
        2 => (0..4_usize).prop_map(Act::ReplyQuestion),
        1 => (0..4_usize).prop_map(Act::RejectQuestion),
        2 => Just(Act::Interrupt),
        4 => Just(Act::Breathe),
        1 => Just(Act::Restart),
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

struct World {
    folder: TempDir,
    store: Store,
    runtime: Runtime,
}

fn start(folder: &TempDir) -> (Store, Runtime) {
    let store = open(folder.path());
    let file = folder.path().join("scenario.toml");
    std::fs::write(&file, SCENARIO).unwrap();
    let mock = MockDriver::new().scenario(MockScenario::read(&file).unwrap());
    let options = RuntimeOptions::default().interrupt_grace(Duration::from_millis(30));
    let runtime = Runtime::start(store.clone(), vec![Arc::new(mock)], options);
    (store, runtime)
}

/// Permissions and questions that wait for an answer.
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

impl World {
    async fn act(self, act: Act) -> Self {
        let id = SessionId::from("s");
        let (permissions, questions) = pending(&events(&self.store, "s").await);
        // Refusals are fine: the client does not know what it does.
        match act {
            Act::Send(text) => {
                let message = Message::new(text);
                self.runtime.send(&id, message).await.unwrap();
            }
            Act::ReplyPermission(which, reply) => {
                if let Some(permission) = permissions.get(which) {
                    let _ = self.runtime.reply_permission(&id, permission, reply).await;
                }
            }
            Act::ReplyQuestion(which) => {
                if let Some(question) = questions.get(which) {
                    let _ = self.runtime.reply_question(&id, question, vec!["x".to_owned()]).await;
                }
            }
            Act::RejectQuestion(which) => {
                if let Some(question) = questions.get(which) {
                    let _ = self.runtime.reject_question(&id, question).await;
                }
            }
            Act::Interrupt => self.runtime.interrupt(&id).await.unwrap(),
            Act::Breathe => tokio::time::sleep(Duration::from_millis(1)).await,
            Act::Restart => {
                let Self { folder, store, runtime } = self;
                runtime.shutdown().await;
                drop((store, runtime));
                let (store, runtime) = start(&folder);
                return Self { folder, store, runtime };
            }
        }
        self
    }

    /// Sends a last word and interrupts whatever is in its way, until its turn has ended.
    async fn come_to_rest(&self) {
        let id = SessionId::from("s");
        let message = Message::new("echo the last word");
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

async fn play(acts: Vec<Act>) {
    let folder = TempDir::new().unwrap();
    let (store, runtime) = start(&folder);
    let mut world = World { folder, store, runtime };
    world.runtime.create("s".into(), mock()).await.unwrap();
    for act in acts {
        world = world.act(act).await;
    }
    world.come_to_rest().await;
    let all = events(&world.store, "s").await;
    let count = |kind: &str| all.iter().filter(|event| event.data.kind() == kind).count();
    assert_eq!(count("turn.started"), count("turn.ended"));
    world.runtime.terminate(&"s".into()).await.unwrap();
    assert_rules(&events(&world.store, "s").await);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_stream_keeps_the_rules_and_every_turn_ends(acts in prop::collection::vec(act(), 0..24)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            timeout(Duration::from_secs(60), play(acts)).await.expect("a session hangs");
        });
    }
}
