//! Reactions to hosts that do not send what the recorded host sent.

use serde_json::{Value, json};

use super::*;
use crate::{Agent, Recording};

/// A replay of the lines `> host` and `< agent`.
fn replay(agent: Agent, lines: &[&str]) -> ReplayState {
    let mut log = format!("{{\"wirelog\":1,\"agent\":\"{agent}\",\"version\":\"1.2.3\"}}\n");
    for line in lines {
        let record = match line.split_at(2) {
            ("> ", line) => json!({"t": 0, "dir": "send", "line": line}),
            ("< ", line) => json!({"t": 0, "dir": "recv", "line": line}),
            _ => json!({"t": 0, "dir": line}),
        };
        log.push_str(&record.to_string());
        log.push('\n');
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), log).unwrap();
    let recording = Recording::open(file.path()).unwrap();
    let process = recording.processes().remove(0);
    ReplayState::new(Script::new(&recording, process), 0, IdMap::default())
}

/// Sends a line of the host, and returns what the agent sends until it waits, exits or has finished.
fn send(state: &mut ReplayState, agent: Agent, line: &str) -> Vec<String> {
    state.push(agent.parse_host_line(line));
    run_until_wait(state, agent)
}

fn run_until_wait(state: &mut ReplayState, agent: Agent) -> Vec<String> {
    let mut sent = Vec::new();
    loop {
        let next = state.next();
        if !collect(state, agent, next, &mut sent) {
            return sent;
        }
    }
}

fn collect(state: &ReplayState, agent: Agent, next: Next, sent: &mut Vec<String>) -> bool {
    match next {
        Next::Send { step, to } => {
            let Action::Send(line) = &state.step(step).action else { panic!("step {step} sends nothing") };
            let text = state.ids().rewrite(&line.text);
            sent.push(to.map_or_else(|| text.to_string(), |to| agent.set_answer_key(&text, &to)));
        }
        Next::SendSynthetic(outputs) => sent.extend(outputs.into_iter().map(|output| match output {
            SyntheticOutput::Line(line)
            | SyntheticOutput::Answer { body: line, .. }
            | SyntheticOutput::Exit { stderr: line, .. } => line,
        })),
        Next::Received { .. } | Next::Skipped => {}
        Next::Wait { .. } | Next::Exit(_) | Next::Finished => return false,
    }
    true
}

fn values(lines: &[String]) -> Vec<Value> {
    lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const CODEX: &[&str] = &[
    r#"> {"method":"initialize","id":1,"params":{}}"#,
    r#"< {"id":1,"result":{"userAgent":"x"}}"#,
    r#"> {"method":"initialized"}"#,
    r#"> {"method":"hooks/list","id":2,"params":{}}"#,
    r#"< {"id":2,"result":{"hooks":["one"]}}"#,
    r#"> {"method":"thread/start","id":3,"params":{"cwd":"/workspace"}}"#,
    r#"< {"id":3,"result":{"thread":{"id":"thread-aaaaaaaaaa"}}}"#,
    r#"> {"method":"turn/start","id":4,"params":{"threadId":"thread-aaaaaaaaaa","input":[]}}"#,
    r#"< {"id":4,"result":{"turn":{"id":"turn-1"}}}"#,
    r#"< {"method":"turn/started","params":{"threadId":"thread-aaaaaaaaaa","turn":{"id":"turn-1"}}}"#,
    r#"< {"method":"item/commandExecution/requestApproval","id":0,"params":{"threadId":"thread-aaaaaaaaaa"}}"#,
    r#"> {"id":0,"result":{"decision":"accept"}}"#,
    r#"< {"method":"turn/completed","params":{"threadId":"thread-aaaaaaaaaa","turn":{"id":"turn-1"}}}"#,
    r#"> {"method":"turn/start","id":5,"params":{"threadId":"thread-aaaaaaaaaa","input":[]}}"#,
    r#"< {"id":5,"result":{"turn":{"id":"turn-2"}}}"#,
    r#"< {"method":"turn/completed","params":{"threadId":"thread-aaaaaaaaaa","turn":{"id":"turn-2"}}}"#,
];

const CODEX_TURN: &str = r#"{"params":{"input":[{"type":"text","text":"other"}],"threadId":"thread-aaaaaaaaaa"},"id":"t1","method":"turn/start"}"#;

/// A replay of `CODEX` that waits for the approval in its first turn.
fn at_approval() -> ReplayState {
    let mut state = replay(Agent::Codex, CODEX);
    send(&mut state, Agent::Codex, r#"{"id":"i","method":"initialize"}"#);
    send(&mut state, Agent::Codex, r#"{"method":"initialized"}"#);
    send(&mut state, Agent::Codex, r#"{"id":"s","method":"thread/start","params":{"cwd":"/elsewhere"}}"#);
    let sent = send(&mut state, Agent::Codex, CODEX_TURN);
    assert_eq!(sent.len(), 3, "{sent:?}");
    assert_eq!(sent[0], r#"{"id":"t1","result":{"turn":{"id":"turn-1"}}}"#);
    state
}

#[test]
fn an_answer_is_the_recorded_one_with_the_hosts_id() {
    let mut state = replay(Agent::Codex, CODEX);
    let sent = send(&mut state, Agent::Codex, r#"{"params":{}, "id": "mine", "method":"initialize"}"#);
    assert_eq!(sent, [r#"{"id":"mine","result":{"userAgent":"x"}}"#]);
}

#[test]
fn an_omitted_optional_message_is_skipped_with_its_answer() {
    let mut state = replay(Agent::Codex, CODEX);
    send(&mut state, Agent::Codex, r#"{"id":1,"method":"initialize"}"#);
    let sent = send(&mut state, Agent::Codex, r#"{"id":2,"method":"thread/start","params":{}}"#);
    assert_eq!(sent, [r#"{"id":2,"result":{"thread":{"id":"thread-aaaaaaaaaa"}}}"#]);
    // The answer is still sent when the host makes the request later.
    let sent = send(&mut state, Agent::Codex, r#"{"id":3,"method":"hooks/list"}"#);
    assert_eq!(sent, [r#"{"id":3,"result":{"hooks":["one"]}}"#]);
}

#[test]
fn an_early_optional_message_is_answered_at_once() {
    let mut state = replay(Agent::Codex, CODEX);
    let sent = send(&mut state, Agent::Codex, r#"{"id":7,"method":"hooks/list"}"#);
    assert_eq!(sent, [r#"{"id":7,"result":{"hooks":["one"]}}"#]);
    let sent = send(&mut state, Agent::Codex, r#"{"id":8,"method":"initialize"}"#);
    assert_eq!(sent, [r#"{"id":8,"result":{"userAgent":"x"}}"#]);
}

#[test]
fn a_permission_is_waited_for_whatever_else_is_said() {
    let mut state = at_approval();
    let sent = send(&mut state, Agent::Codex, r#"{"id":9,"method":"model/list"}"#);
    assert_eq!(sent, [r#"{"id":9,"result":{"data":[],"nextCursor":null}}"#]);
    assert_eq!(state.next(), Next::Wait { may_time_out: false });
    let sent = send(&mut state, Agent::Codex, r#"{"id":0,"result":{"decision":"decline"}}"#);
    assert_eq!(values(&sent)[0]["method"], "turn/completed");
}

#[test]
fn an_unrecorded_request_gets_an_error_and_a_recorded_one_its_answer() {
    let mut state = at_approval();
    let sent = send(&mut state, Agent::Codex, r#"{"id":9,"method":"thread/start"}"#);
    let error = &values(&sent)[0];
    assert_eq!((&error["id"], &error["error"]["code"]), (&json!(9), &json!(-32600)));
    assert!(error["error"]["message"].as_str().unwrap().contains("thread/start"), "{error}");
    let resume = r#"{"id":10,"method":"thread/resume","params":{"threadId":"thread-aaaaaaaaaa"}}"#;
    assert_eq!(send(&mut state, Agent::Codex, resume), [r#"{"id":10,"result":{"thread":{"id":"thread-aaaaaaaaaa"}}}"#]);
}

#[test]
fn an_unexpected_interrupt_ends_the_turn_and_the_next_turn_plays() {
    let mut state = at_approval();
    let interrupt =
        r#"{"id":"x","method":"turn/interrupt","params":{"threadId":"thread-aaaaaaaaaa","turnId":"turn-1"}}"#;
    let sent = values(&send(&mut state, Agent::Codex, interrupt));
    assert_eq!(sent[0], json!({"id": "x", "result": {}}));
    let end = &sent[2];
    assert_eq!((&end["method"], &end["params"]["turn"]["status"]), (&json!("turn/completed"), &json!("interrupted")));
    assert_eq!(end["params"]["turn"]["id"], "turn-1");
    assert_eq!(sent[3]["method"], "serverRequest/resolved");
    let sent = values(&send(&mut state, Agent::Codex, CODEX_TURN));
    assert_eq!(sent[0]["result"]["turn"]["id"], "turn-2");
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert_eq!(state.next(), Next::Finished);
}

#[test]
fn an_interrupt_does_not_affect_other_threads() {
    let other = "thread-bbbbbbbbbb";
    let lines = [
        r#"> {"method":"turn/start","id":4,"params":{"threadId":"thread-aaaaaaaaaa"}}"#,
        r#"> {"method":"turn/start","id":5,"params":{"threadId":"thread-bbbbbbbbbb"}}"#,
        r#"> {"method":"fs/watch","id":6}"#,
        r#"< {"method":"item/started","params":{"threadId":"thread-aaaaaaaaaa"}}"#,
        r#"< {"method":"item/started","params":{"threadId":"thread-bbbbbbbbbb"}}"#,
        r#"< {"method":"turn/completed","params":{"threadId":"thread-aaaaaaaaaa","turn":{}}}"#,
        r#"< {"method":"turn/completed","params":{"threadId":"thread-bbbbbbbbbb","turn":{}}}"#,
    ];
    let mut state = replay(Agent::Codex, &lines);
    send(&mut state, Agent::Codex, &lines[0][2..]);
    send(&mut state, Agent::Codex, &lines[1][2..]);
    let interrupt = r#"{"id":7,"method":"turn/interrupt","params":{"threadId":"thread-aaaaaaaaaa"}}"#;
    send(&mut state, Agent::Codex, interrupt);
    let sent = values(&send(&mut state, Agent::Codex, r#"{"method":"fs/watch","id":8}"#));
    let threads: Vec<&Value> =
        sent.iter().filter(|line| line["method"] != "x").map(|l| &l["params"]["threadId"]).collect();
    assert!(threads.iter().all(|thread| **thread == other || thread.is_null()), "{sent:?}");
    assert_eq!(sent.iter().filter(|line| line["params"]["threadId"] == other).count(), 2);
}

#[test]
fn a_thread_id_of_the_host_replaces_the_recorded_one() {
    let lines = [
        r#"> {"method":"thread/resume","id":1,"params":{"threadId":"thread-aaaaaaaaaa"}}"#,
        r#"< {"id":1,"result":{"thread":{"id":"thread-aaaaaaaaaa"}}}"#,
        r#"> {"method":"turn/start","id":2,"params":{"threadId":"thread-aaaaaaaaaa"}}"#,
        r#"< {"method":"turn/started","params":{"threadId":"thread-aaaaaaaaaa","turn":{"id":"t"}}}"#,
    ];
    let mut state = replay(Agent::Codex, &lines);
    let resume = r#"{"method":"thread/resume","id":1,"params":{"threadId":"thread-of-the-host"}}"#;
    assert_eq!(send(&mut state, Agent::Codex, resume), [r#"{"id":1,"result":{"thread":{"id":"thread-of-the-host"}}}"#]);
    let turn = r#"{"method":"turn/start","id":2,"params":{"threadId":"thread-of-the-host"}}"#;
    let sent = send(&mut state, Agent::Codex, turn);
    assert_eq!(sent, [r#"{"method":"turn/started","params":{"threadId":"thread-of-the-host","turn":{"id":"t"}}}"#]);
}

#[test]
fn a_turn_of_another_known_thread_does_not_match() {
    let lines = [
        r#"> {"method":"turn/start","id":1,"params":{"threadId":"thread-aaaaaaaaaa"}}"#,
        r#"< {"id":1,"result":{"turn":"a"}}"#,
        r#"> {"method":"turn/start","id":2,"params":{"threadId":"thread-bbbbbbbbbb"}}"#,
        r#"< {"id":2,"result":{"turn":"b"}}"#,
    ];
    let mut state = replay(Agent::Codex, &lines);
    assert_eq!(send(&mut state, Agent::Codex, &lines[2][2..]), [""; 0]);
    assert_eq!(state.next(), Next::Wait { may_time_out: true });
    let sent = send(&mut state, Agent::Codex, &lines[0][2..]);
    assert_eq!(sent, [&lines[1][2..], &lines[3][2..]]);
}

const CLAUDE: &[&str] = &[
    r#"> {"type":"control_request","request_id":"init-1","request":{"subtype":"initialize"}}"#,
    r#"< {"type":"control_response","response":{"subtype":"success","request_id":"init-1","response":{"pid":1}}}"#,
    r#"> {"type":"user","message":{"role":"user","content":"go"},"uuid":"11111111-1111-4111-8111-111111111111"}"#,
    r#"< {"type":"system","subtype":"init","session_id":"22222222-2222-4222-8222-222222222222"}"#,
    r#"< {"type":"command_lifecycle","command_uuid":"11111111-1111-4111-8111-111111111111"}"#,
    r#"< {"type":"control_request","request_id":"ask-1","request":{"subtype":"can_use_tool"}}"#,
    r#"> {"type":"control_response","response":{"subtype":"success","request_id":"ask-1","response":{"behavior":"allow"}}}"#,
    r#"< {"type":"result","subtype":"success","session_id":"22222222-2222-4222-8222-222222222222"}"#,
    r#"> {"type":"user","message":{"role":"user","content":"again"}}"#,
    r#"< {"type":"result","subtype":"success","session_id":"22222222-2222-4222-8222-222222222222","num_turns":2}"#,
    "close",
    "exit",
];

const CLAUDE_MESSAGE: &str = r#"{"message":{"content":[{"type":"text","text":"other"}],"role":"user"},"uuid":"33333333-3333-4333-8333-333333333333","type":"user"}"#;

#[test]
fn a_message_uuid_of_the_host_replaces_the_recorded_one() {
    let mut state = replay(Agent::Claude, CLAUDE);
    let sent = send(&mut state, Agent::Claude, CLAUDE_MESSAGE);
    assert_eq!(sent[1], r#"{"type":"command_lifecycle","command_uuid":"33333333-3333-4333-8333-333333333333"}"#);
    // The answer to `initialize` is not sent, because this host did not make that request.
    assert_eq!(sent.len(), 3, "{sent:?}");
}

#[test]
fn an_unrecorded_control_request_succeeds() {
    let mut state = replay(Agent::Claude, CLAUDE);
    send(&mut state, Agent::Claude, CLAUDE_MESSAGE);
    let request = r#"{"type":"control_request","request_id":"m","request":{"subtype":"set_model","model":"x"}}"#;
    let sent = values(&send(&mut state, Agent::Claude, request));
    assert_eq!(sent[0]["response"], json!({"subtype": "success", "request_id": "m", "response": {}}));
}

#[test]
fn an_unexpected_interrupt_withdraws_open_requests_and_ends_the_turn() {
    let mut state = replay(Agent::Claude, CLAUDE);
    send(&mut state, Agent::Claude, CLAUDE_MESSAGE);
    let interrupt = r#"{"type":"control_request","request_id":"stop","request":{"subtype":"interrupt"}}"#;
    let sent = values(&send(&mut state, Agent::Claude, interrupt));
    assert_eq!(sent[0], json!({"type": "control_cancel_request", "request_id": "ask-1"}));
    assert_eq!(sent[1]["response"]["request_id"], "stop");
    let end = sent.last().unwrap();
    assert_eq!((&end["type"], &end["subtype"]), (&json!("result"), &json!("error_during_execution")));
    assert_eq!(end["session_id"], "22222222-2222-4222-8222-222222222222");
    let sent = values(&send(&mut state, Agent::Claude, r#"{"type":"user","message":{}}"#));
    assert_eq!(sent[0]["num_turns"], 2);
    state.end_input();
    assert_eq!(run_until_wait(&mut state, Agent::Claude), [""; 0]);
    assert_eq!(state.next(), Next::Exit(None));
}

#[test]
fn an_interrupt_without_a_running_turn_is_only_answered() {
    let mut state = replay(Agent::Claude, CLAUDE);
    let interrupt = r#"{"type":"control_request","request_id":"stop","request":{"subtype":"interrupt"}}"#;
    let sent = values(&send(&mut state, Agent::Claude, interrupt));
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!(sent[0]["response"]["subtype"], "success");
}

#[test]
fn a_prompt_after_the_last_recorded_turn_is_a_failed_turn() {
    let mut state = replay(Agent::Claude, &CLAUDE[2..4]);
    send(&mut state, Agent::Claude, CLAUDE_MESSAGE);
    let sent = values(&send(&mut state, Agent::Claude, CLAUDE_MESSAGE));
    assert_eq!((&sent[0]["type"], &sent[0]["is_error"]), (&json!("result"), &json!(true)));
}

#[test]
fn closing_the_input_early_skips_to_the_recorded_exit() {
    let mut state = replay(Agent::Claude, CLAUDE);
    send(&mut state, Agent::Claude, CLAUDE_MESSAGE);
    state.end_input();
    assert_eq!(run_until_wait(&mut state, Agent::Claude), [""; 0]);
    assert_eq!(state.next(), Next::Exit(None));
}

#[test]
fn a_silent_host_gets_due_answers_but_the_replay_still_waits_for_its_prompt() {
    let lines = [
        r#"> {"type":"control_request","request_id":"c1","request":{"subtype":"get_context_usage"}}"#,
        r#"> {"type":"user","message":{}}"#,
        r#"< {"type":"control_response","response":{"request_id":"c1","response":{"tokens":5}}}"#,
        r#"< {"type":"result"}"#,
    ];
    let mut state = replay(Agent::Claude, &lines);
    assert_eq!(send(&mut state, Agent::Claude, &lines[0][2..]), [""; 0]);
    assert_eq!(state.next(), Next::Wait { may_time_out: true });
    let next = state.time_out().unwrap();
    let mut sent = Vec::new();
    assert!(collect(&state, Agent::Claude, next, &mut sent));
    assert_eq!(sent, [&lines[2][2..]]);
    assert_eq!(state.next(), Next::Wait { may_time_out: false });
    assert_eq!(state.time_out(), None);
}

#[test]
fn the_replay_does_not_wait_for_an_answer_to_a_withdrawn_request() {
    let lines = [
        r#"> {"method":"turn/start","id":1,"params":{"threadId":"thread-aaaaaaaaaa"}}"#,
        r#"< {"method":"item/fileChange/requestApproval","id":0,"params":{"threadId":"thread-aaaaaaaaaa"}}"#,
        r#"< {"method":"serverRequest/resolved","params":{"threadId":"thread-aaaaaaaaaa","requestId":0}}"#,
        r#"> {"id":0,"result":{"decision":"accept"}}"#,
        r#"> {"method":"turn/start","id":2,"params":{"threadId":"thread-aaaaaaaaaa"}}"#,
        r#"< {"id":2,"result":{"turn":"second"}}"#,
    ];
    let mut state = replay(Agent::Codex, &lines);
    send(&mut state, Agent::Codex, &lines[0][2..]);
    assert_eq!(send(&mut state, Agent::Codex, &lines[4][2..]), [&lines[5][2..]]);
}
