//! The driver of agents that speak the Agent Client Protocol, against recordings and against scripted agents.

use interlingua_agents::AcpProfile;
use interlingua_runtime::mock::MockDriver;
use interlingua_runtime::{CreateSession, LaunchConfig, PermissionReply, drivers};
use interlingua_schema::{PermissionStatus, TurnStatus};
use tempfile::TempDir;

use crate::stand_in::{StandIn, error_messages, supervisor};
use crate::test_runtime::{
    TestRuntime, is_nth, is_turn_end, permission_ids, permission_statuses, question_ids, texts, turn_status,
};

fn claude(recording: &str) -> StandIn {
    StandIn::replaying_acp("claude-acp", &format!("claude-0.99.1/{recording}"))
}

#[tokio::test]
async fn two_turns_use_one_process() {
    for (agent, folder) in [
        ("claude-acp", "claude-0.99.1"),
        ("codex-acp", "codex-2.6.0"),
        ("copilot", "copilot-1.0.102"),
        ("gemini", "gemini-0.61.0"),
        ("opencode-acp", "opencode-1.18.34"),
    ] {
        let stand_in = StandIn::replaying_acp(agent, &format!("{folder}/text_two_turns")).with_session().await;
        let first = stand_in.test.run_turn("hello").await;
        let second = stand_in.test.run_turn("again").await;
        let statuses = [turn_status(&first), turn_status(&second)];
        assert_eq!(statuses, [Some(TurnStatus::Completed), Some(TurnStatus::Completed)], "{agent}: {second:#?}");
        assert_eq!(texts(&second)[0], "again", "{agent}");
        stand_in.test.runtime.shutdown().await;
        let events = stand_in.assert_processes_ended(1).await;
        let started = serde_json::to_value(&events[0]).unwrap();
        assert_eq!(started["data"]["metadata"]["agent"], agent);
    }
}

/// Runs the turn of a recording with one permission request.
async fn answer(agent: &'static str, recording: &str, reply: PermissionReply) -> (Vec<PermissionStatus>, TurnStatus) {
    let stand_in = StandIn::replaying_acp(agent, recording).with_session().await;
    stand_in.test.send("run").await.unwrap();
    let requested = stand_in.test.wait_for(is_nth("permission.requested", 1)).await;
    let id = &permission_ids(&requested)[0];
    stand_in.test.runtime.reply_permission(&"s".into(), id, reply).await.unwrap();
    let events = stand_in.test.wait_for(is_turn_end).await;
    stand_in.test.assert_no_violations().await;
    stand_in.test.runtime.terminate(&"s".into()).await.unwrap();
    (permission_statuses(&events), turn_status(&events).unwrap())
}

#[tokio::test]
async fn a_rejected_tool_is_denied() {
    for (agent, recording) in [("claude-acp", "claude-0.99.1/tool_rejected"), ("gemini", "gemini-0.61.0/tool_rejected")]
    {
        let (permissions, status) = answer(agent, recording, PermissionReply::Reject).await;
        assert_eq!((permissions, status), (vec![PermissionStatus::Denied], TurnStatus::Completed), "{agent}");
    }
}

#[tokio::test]
async fn allowed_tools_run() {
    let stand_in = claude("tool_allowed").with_session().await;
    stand_in.test.send("run").await.unwrap();
    for number in 1..=2 {
        let requested = stand_in.test.wait_for(is_nth("permission.requested", number)).await;
        let id = permission_ids(&requested)[number - 1].clone();
        stand_in.test.runtime.reply_permission(&"s".into(), &id, PermissionReply::Once).await.unwrap();
    }
    let events = stand_in.test.wait_for(is_turn_end).await;
    assert_eq!(permission_statuses(&events), [PermissionStatus::Approved, PermissionStatus::Approved]);
    assert_eq!(turn_status(&events), Some(TurnStatus::Completed));
    stand_in.test.assert_no_violations().await;
}

#[tokio::test]
async fn an_interrupted_turn_ends_and_the_session_continues() {
    let stand_in = claude("cancel_streaming").with_session().await;
    stand_in.test.send("long").await.unwrap();
    stand_in.test.wait_for(is_nth("item.delta", 4)).await;
    stand_in.test.runtime.interrupt(&"s".into()).await.unwrap();
    assert_eq!(turn_status(&stand_in.test.events().await), Some(TurnStatus::Interrupted));
    assert_eq!(turn_status(&stand_in.test.run_turn("go on").await), Some(TurnStatus::Completed));
    stand_in.test.runtime.terminate(&"s".into()).await.unwrap();
    stand_in.assert_processes_ended(1).await;
}

#[tokio::test]
async fn a_model_error_fails_the_turn_and_the_session_continues() {
    let stand_in = StandIn::replaying_acp("gemini", "gemini-0.61.0/model_error_400").with_session().await;
    let failed = stand_in.test.run_turn("fail").await;
    assert_eq!(turn_status(&failed), Some(TurnStatus::Failed));
    assert!(error_messages(&failed)[0].contains("scripted 400"), "{:?}", error_messages(&failed));
    assert_eq!(turn_status(&stand_in.test.run_turn("again").await), Some(TurnStatus::Completed));
    stand_in.test.assert_no_violations().await;
}

#[tokio::test]
async fn an_agent_that_dies_fails_its_turn() {
    let stand_in = claude("text_two_turns").with_fault("die-after=10:7").with_session().await;
    let events = stand_in.test.run_turn("hello").await;
    assert_eq!(turn_status(&events), Some(TurnStatus::Failed));
    stand_in.test.assert_no_violations().await;
}

/// A runtime with one agent: a shell script that speaks the protocol.
async fn scripted(script: &str, create: impl FnOnce(CreateSession) -> CreateSession) -> TestRuntime {
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("agent.sh");
    std::fs::write(&program, script).unwrap();
    let arguments = vec![program.to_str().unwrap().to_owned()];
    let profile = AcpProfile::custom("toy".to_owned(), "/bin/sh".to_owned(), arguments, Vec::new());
    let config = LaunchConfig::new(supervisor(), folder.path()).acp_agents(vec![profile]);
    let directory = folder.path().join("work");
    std::fs::create_dir(&directory).unwrap();
    let session = CreateSession::new("toy").directory(directory.to_str().unwrap().to_owned());
    let test = TestRuntime::in_folder(folder, drivers(&config, MockDriver::new()));
    test.runtime.create("s".into(), create(session)).await.unwrap();
    test
}

/// The start of a scripted agent: answers `initialize` and `session/new`, and reads the first prompt.
const PROLOGUE: &str = r#"
say() { printf '%s\n' "$1"; }
read line; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}'
read line; case "$line" in *session/load*) say '{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"no such session"}}';;
*) say '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"n"}}';; esac
read line
"#;

/// Reports what the host has answered as a message, and ends the turn.
const EPILOGUE: &str = r#"
text=$(printf '%s' "$line" | tr -d '"\\')
say "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"n\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"$text\"}}}}"
say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'
read line
"#;

#[tokio::test]
async fn commands_of_the_agent_run_in_terminals() {
    let script = format!(
        r#"{PROLOGUE}
say '{{"jsonrpc":"2.0","id":0,"method":"terminal/create","params":{{"sessionId":"n","command":"sh","args":["-c","echo out; echo err >&2; exit 3"]}}}}'
read line
say '{{"jsonrpc":"2.0","id":1,"method":"terminal/wait_for_exit","params":{{"sessionId":"n","terminalId":"term_1"}}}}'
read line; first=$line
say '{{"jsonrpc":"2.0","id":2,"method":"terminal/output","params":{{"sessionId":"n","terminalId":"term_1"}}}}'
read line; line="$first $line"
{EPILOGUE}"#
    );
    let test = scripted(&script, |session| session).await;
    let events = test.run_turn("go").await;
    let said = texts(&events).join(" ");
    assert!(said.contains("exitCode:3") && said.contains("outn") && said.contains("errn"), "{said}");
    test.runtime.shutdown().await;
    test.assert_no_violations().await;
}

#[tokio::test]
async fn files_of_the_agent_stay_in_the_directory_of_the_session() {
    let script = format!(
        r#"{PROLOGUE}
say "{{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"fs/write_text_file\",\"params\":{{\"sessionId\":\"n\",\"path\":\"$PWD/new/a.txt\",\"content\":\"kiwi\"}}}}"
read line; first=$line
say '{{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{{"sessionId":"n","path":"/etc/passwd"}}}}'
read line; line="$first $line"
{EPILOGUE}"#
    );
    let test = scripted(&script, |session| session).await;
    let said = texts(&test.run_turn("go").await).join(" ");
    assert!(said.contains("result") && said.contains("outside of the session"), "{said}");
    let written = std::fs::read_to_string(test.folder.path().join("work/new/a.txt")).unwrap();
    assert_eq!(written, "kiwi");
    test.runtime.shutdown().await;
}

#[tokio::test]
async fn a_form_of_the_agent_is_a_question() {
    let script = format!(
        r#"{PROLOGUE}
say '{{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{{"mode":"form","sessionId":"n","message":"Which?","requestedSchema":{{"type":"object","properties":{{"fruit":{{"type":"string"}}}}}}}}}}'
read line
{EPILOGUE}"#
    );
    let test = scripted(&script, |session| session).await;
    test.send("go").await.unwrap();
    let asked = test.wait_for(is_nth("question.requested", 1)).await;
    test.runtime.reply_question(&"s".into(), &question_ids(&asked)[0], vec!["kiwi".into()]).await.unwrap();
    let events = test.wait_for(is_turn_end).await;
    assert!(texts(&events).join(" ").contains("fruit:kiwi"), "{:?}", texts(&events));
    test.assert_no_violations().await;
}

#[tokio::test]
async fn a_required_login_is_said_with_its_remedy() {
    let script = r#"
read line; printf '%s\n' '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"authMethods":[{"id":"a","name":"Log in","description":"Run toy login"}]}}'
read line; printf '%s\n' '{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"Authentication required"}}'
read line
"#;
    let test = scripted(script, |session| session).await;
    let events = test.run_turn("go").await;
    assert_eq!(turn_status(&events), Some(TurnStatus::Failed));
    let message = error_messages(&events).join(" ");
    assert!(message.contains("requires authentication") && message.contains("Run toy login"), "{message}");
    let json = serde_json::to_string(&events).unwrap();
    assert!(json.contains(r#""code":"auth""#), "{json}");
}

#[tokio::test]
async fn a_session_that_the_agent_has_forgotten_ends() {
    let script = format!("{PROLOGUE}{EPILOGUE}");
    let test = scripted(&script, |session| session).await;
    test.run_turn("go").await;
    let TestRuntime { runtime, store, folder } = test;
    runtime.shutdown().await;
    drop((runtime, store));
    let program = folder.path().join("agent.sh").to_str().unwrap().to_owned();
    let profile = AcpProfile::custom("toy".to_owned(), "/bin/sh".to_owned(), vec![program], Vec::new());
    let config = LaunchConfig::new(supervisor(), folder.path()).acp_agents(vec![profile]);
    let test = TestRuntime::in_folder(folder, drivers(&config, MockDriver::new()));
    test.send("again").await.unwrap();
    let events = test.wait_for(is_nth("session.ended", 1)).await;
    let json = serde_json::to_string(&events).unwrap();
    assert!(json.contains("does not know the session `n` any more"), "{json}");
}

#[tokio::test]
async fn options_that_the_agent_lacks_are_refused_or_fail_the_turn() {
    let folder = TempDir::new().unwrap();
    let config = LaunchConfig::new(supervisor(), folder.path());
    let test = TestRuntime::in_folder(folder, drivers(&config, MockDriver::new()));
    let bypass = CreateSession::new("copilot").permission_mode("bypass".to_owned());
    assert!(test.runtime.create("s".into(), bypass).await.is_err());

    let script = format!("{PROLOGUE}{EPILOGUE}");
    let test = scripted(&script, |session| session.model("huge".to_owned())).await;
    let events = test.run_turn("go").await;
    let message = error_messages(&events).join(" ");
    assert!(message.contains("offers no choice of a model, found `huge`"), "{message}");
}
