//! What a play makes of hosts that do not say what the recorded one said.

use serde_json::{Value, json};

use super::*;
use crate::{Agent, Recording};

/// A play of the lines `> host` and `< agent`.
fn play(agent: Agent, lines: &[&str]) -> Play {
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
    Play::new(Script::new(&recording, process), 0, Ids::default())
}

/// Says something, and what the agent says until it waits or is over.
fn say(play: &mut Play, agent: Agent, line: &str) -> Vec<String> {
    play.hear(agent.heard(line));
    until_wait(play, agent)
}

fn until_wait(play: &mut Play, agent: Agent) -> Vec<String> {
    let mut said = Vec::new();
    loop {
        let next = play.next();
        if !done(play, agent, next, &mut said) {
            return said;
        }
    }
}

fn done(play: &Play, agent: Agent, next: Next, said: &mut Vec<String>) -> bool {
    match next {
        Next::Say { step, to } => {
            let Act::Say(line) = &play.step(step).act else { panic!("step {step} says nothing") };
            let text = play.ids().rewrite(&line.text);
            said.push(to.map_or_else(|| text.to_string(), |to| agent.readdress(&text, &to)));
        }
        Next::Extra(extras) => said.extend(extras.into_iter().map(|extra| match extra {
            Extra::Line(line) | Extra::Answer { body: line, .. } | Extra::Death { line, .. } => line,
        })),
        Next::Heard { .. } | Next::Passed => {}
        Next::Wait { .. } | Next::Exit(_) | Next::Over => return false,
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

/// A play of `CODEX` that has come to its first turn's approval.
fn at_the_approval() -> Play {
    let mut play = play(Agent::Codex, CODEX);
    say(&mut play, Agent::Codex, r#"{"id":"i","method":"initialize"}"#);
    say(&mut play, Agent::Codex, r#"{"method":"initialized"}"#);
    say(&mut play, Agent::Codex, r#"{"id":"s","method":"thread/start","params":{"cwd":"/elsewhere"}}"#);
    let said = say(&mut play, Agent::Codex, CODEX_TURN);
    assert_eq!(said.len(), 3, "{said:?}");
    assert_eq!(said[0], r#"{"id":"t1","result":{"turn":{"id":"turn-1"}}}"#);
    play
}

#[test]
fn an_answer_carries_the_hosts_id_and_is_otherwise_the_recorded_one() {
    let mut play = play(Agent::Codex, CODEX);
    let said = say(&mut play, Agent::Codex, r#"{"params":{}, "id": "mine", "method":"initialize"}"#);
    assert_eq!(said, [r#"{"id":"mine","result":{"userAgent":"x"}}"#]);
}

#[test]
fn what_a_host_may_leave_out_is_passed_over_with_its_answer() {
    let mut play = play(Agent::Codex, CODEX);
    say(&mut play, Agent::Codex, r#"{"id":1,"method":"initialize"}"#);
    let said = say(&mut play, Agent::Codex, r#"{"id":2,"method":"thread/start","params":{}}"#);
    assert_eq!(said, [r#"{"id":2,"result":{"thread":{"id":"thread-aaaaaaaaaa"}}}"#]);
    // It still knows the answer when the host comes back to it.
    let said = say(&mut play, Agent::Codex, r#"{"id":3,"method":"hooks/list"}"#);
    assert_eq!(said, [r#"{"id":3,"result":{"hooks":["one"]}}"#]);
}

#[test]
fn an_aside_before_its_time_is_answered_at_once() {
    let mut play = play(Agent::Codex, CODEX);
    let said = say(&mut play, Agent::Codex, r#"{"id":7,"method":"hooks/list"}"#);
    assert_eq!(said, [r#"{"id":7,"result":{"hooks":["one"]}}"#]);
    let said = say(&mut play, Agent::Codex, r#"{"id":8,"method":"initialize"}"#);
    assert_eq!(said, [r#"{"id":8,"result":{"userAgent":"x"}}"#]);
}

#[test]
fn a_permission_is_waited_for_whatever_else_is_said() {
    let mut play = at_the_approval();
    let said = say(&mut play, Agent::Codex, r#"{"id":9,"method":"model/list"}"#);
    assert_eq!(said, [r#"{"id":9,"result":{"data":[],"nextCursor":null}}"#]);
    assert_eq!(play.next(), Next::Wait { briefly: false });
    let said = say(&mut play, Agent::Codex, r#"{"id":0,"result":{"decision":"decline"}}"#);
    assert_eq!(values(&said)[0]["method"], "turn/completed");
}

#[test]
fn a_request_that_was_never_answered_gets_an_error_and_a_known_one_its_answer() {
    let mut play = at_the_approval();
    let said = say(&mut play, Agent::Codex, r#"{"id":9,"method":"thread/start"}"#);
    let error = &values(&said)[0];
    assert_eq!((&error["id"], &error["error"]["code"]), (&json!(9), &json!(-32600)));
    assert!(error["error"]["message"].as_str().unwrap().contains("thread/start"), "{error}");
    let resume = r#"{"id":10,"method":"thread/resume","params":{"threadId":"thread-aaaaaaaaaa"}}"#;
    assert_eq!(say(&mut play, Agent::Codex, resume), [r#"{"id":10,"result":{"thread":{"id":"thread-aaaaaaaaaa"}}}"#]);
}

#[test]
fn an_unexpected_interrupt_ends_the_turn_and_the_next_one_plays() {
    let mut play = at_the_approval();
    let interrupt =
        r#"{"id":"x","method":"turn/interrupt","params":{"threadId":"thread-aaaaaaaaaa","turnId":"turn-1"}}"#;
    let said = values(&say(&mut play, Agent::Codex, interrupt));
    assert_eq!(said[0], json!({"id": "x", "result": {}}));
    let end = &said[2];
    assert_eq!((&end["method"], &end["params"]["turn"]["status"]), (&json!("turn/completed"), &json!("interrupted")));
    assert_eq!(end["params"]["turn"]["id"], "turn-1");
    assert_eq!(said[3]["method"], "serverRequest/resolved");
    let said = values(&say(&mut play, Agent::Codex, CODEX_TURN));
    assert_eq!(said[0]["result"]["turn"]["id"], "turn-2");
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(play.next(), Next::Over);
}

#[test]
fn an_interrupt_leaves_other_threads_alone() {
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
    let mut play = play(Agent::Codex, &lines);
    say(&mut play, Agent::Codex, &lines[0][2..]);
    say(&mut play, Agent::Codex, &lines[1][2..]);
    let interrupt = r#"{"id":7,"method":"turn/interrupt","params":{"threadId":"thread-aaaaaaaaaa"}}"#;
    say(&mut play, Agent::Codex, interrupt);
    let said = values(&say(&mut play, Agent::Codex, r#"{"method":"fs/watch","id":8}"#));
    let threads: Vec<&Value> =
        said.iter().filter(|line| line["method"] != "x").map(|l| &l["params"]["threadId"]).collect();
    assert!(threads.iter().all(|thread| **thread == other || thread.is_null()), "{said:?}");
    assert_eq!(said.iter().filter(|line| line["params"]["threadId"] == other).count(), 2);
}

#[test]
fn a_thread_that_the_host_calls_otherwise_is_called_so_from_then_on() {
    let lines = [
        r#"> {"method":"thread/resume","id":1,"params":{"threadId":"thread-aaaaaaaaaa"}}"#,
        r#"< {"id":1,"result":{"thread":{"id":"thread-aaaaaaaaaa"}}}"#,
        r#"> {"method":"turn/start","id":2,"params":{"threadId":"thread-aaaaaaaaaa"}}"#,
        r#"< {"method":"turn/started","params":{"threadId":"thread-aaaaaaaaaa","turn":{"id":"t"}}}"#,
    ];
    let mut play = play(Agent::Codex, &lines);
    let resume = r#"{"method":"thread/resume","id":1,"params":{"threadId":"thread-of-the-host"}}"#;
    assert_eq!(say(&mut play, Agent::Codex, resume), [r#"{"id":1,"result":{"thread":{"id":"thread-of-the-host"}}}"#]);
    let turn = r#"{"method":"turn/start","id":2,"params":{"threadId":"thread-of-the-host"}}"#;
    let said = say(&mut play, Agent::Codex, turn);
    assert_eq!(said, [r#"{"method":"turn/started","params":{"threadId":"thread-of-the-host","turn":{"id":"t"}}}"#]);
}

#[test]
fn a_turn_of_another_known_thread_is_not_taken_for_this_one() {
    let lines = [
        r#"> {"method":"turn/start","id":1,"params":{"threadId":"thread-aaaaaaaaaa"}}"#,
        r#"< {"id":1,"result":{"turn":"a"}}"#,
        r#"> {"method":"turn/start","id":2,"params":{"threadId":"thread-bbbbbbbbbb"}}"#,
        r#"< {"id":2,"result":{"turn":"b"}}"#,
    ];
    let mut play = play(Agent::Codex, &lines);
    assert_eq!(say(&mut play, Agent::Codex, &lines[2][2..]), [""; 0]);
    assert_eq!(play.next(), Next::Wait { briefly: true });
    let said = say(&mut play, Agent::Codex, &lines[0][2..]);
    assert_eq!(said, [&lines[1][2..], &lines[3][2..]]);
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
fn a_message_by_another_uuid_is_spoken_of_by_that_uuid() {
    let mut play = play(Agent::Claude, CLAUDE);
    let said = say(&mut play, Agent::Claude, CLAUDE_MESSAGE);
    assert_eq!(said[1], r#"{"type":"command_lifecycle","command_uuid":"33333333-3333-4333-8333-333333333333"}"#);
    // The answer to the `initialize` that this host left out is not given.
    assert_eq!(said.len(), 3, "{said:?}");
}

#[test]
fn a_control_request_that_the_recording_lacks_succeeds() {
    let mut play = play(Agent::Claude, CLAUDE);
    say(&mut play, Agent::Claude, CLAUDE_MESSAGE);
    let request = r#"{"type":"control_request","request_id":"m","request":{"subtype":"set_model","model":"x"}}"#;
    let said = values(&say(&mut play, Agent::Claude, request));
    assert_eq!(said[0]["response"], json!({"subtype": "success", "request_id": "m", "response": {}}));
}

#[test]
fn an_unexpected_interrupt_takes_back_what_was_asked_and_ends_the_turn() {
    let mut play = play(Agent::Claude, CLAUDE);
    say(&mut play, Agent::Claude, CLAUDE_MESSAGE);
    let interrupt = r#"{"type":"control_request","request_id":"stop","request":{"subtype":"interrupt"}}"#;
    let said = values(&say(&mut play, Agent::Claude, interrupt));
    assert_eq!(said[0], json!({"type": "control_cancel_request", "request_id": "ask-1"}));
    assert_eq!(said[1]["response"]["request_id"], "stop");
    let end = said.last().unwrap();
    assert_eq!((&end["type"], &end["subtype"]), (&json!("result"), &json!("error_during_execution")));
    assert_eq!(end["session_id"], "22222222-2222-4222-8222-222222222222");
    let said = values(&say(&mut play, Agent::Claude, r#"{"type":"user","message":{}}"#));
    assert_eq!(said[0]["num_turns"], 2);
    play.end_input();
    assert_eq!(until_wait(&mut play, Agent::Claude), [""; 0]);
    assert_eq!(play.next(), Next::Exit(None));
}

#[test]
fn an_interrupt_when_nothing_runs_is_only_answered() {
    let mut play = play(Agent::Claude, CLAUDE);
    let interrupt = r#"{"type":"control_request","request_id":"stop","request":{"subtype":"interrupt"}}"#;
    let said = values(&say(&mut play, Agent::Claude, interrupt));
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(said[0]["response"]["subtype"], "success");
}

#[test]
fn a_message_after_the_last_recorded_turn_fails_as_a_turn() {
    let mut play = play(Agent::Claude, &CLAUDE[2..4]);
    say(&mut play, Agent::Claude, CLAUDE_MESSAGE);
    let said = values(&say(&mut play, Agent::Claude, CLAUDE_MESSAGE));
    assert_eq!((&said[0]["type"], &said[0]["is_error"]), (&json!("result"), &json!(true)));
}

#[test]
fn a_host_that_leaves_gets_what_the_agent_did_when_it_was_left() {
    let mut play = play(Agent::Claude, CLAUDE);
    say(&mut play, Agent::Claude, CLAUDE_MESSAGE);
    play.end_input();
    assert_eq!(until_wait(&mut play, Agent::Claude), [""; 0]);
    assert_eq!(play.next(), Next::Exit(None));
}

#[test]
fn a_silent_host_gets_the_answer_that_is_due_but_no_permission_is_assumed() {
    let lines = [
        r#"> {"type":"control_request","request_id":"c1","request":{"subtype":"get_context_usage"}}"#,
        r#"> {"type":"user","message":{}}"#,
        r#"< {"type":"control_response","response":{"request_id":"c1","response":{"tokens":5}}}"#,
        r#"< {"type":"result"}"#,
    ];
    let mut play = play(Agent::Claude, &lines);
    assert_eq!(say(&mut play, Agent::Claude, &lines[0][2..]), [""; 0]);
    assert_eq!(play.next(), Next::Wait { briefly: true });
    let next = play.give_up().unwrap();
    let mut said = Vec::new();
    assert!(done(&play, Agent::Claude, next, &mut said));
    assert_eq!(said, [&lines[2][2..]]);
    assert_eq!(play.next(), Next::Wait { briefly: false });
    assert_eq!(play.give_up(), None);
}

#[test]
fn an_answer_to_what_was_taken_back_is_not_waited_for() {
    let lines = [
        r#"> {"method":"turn/start","id":1,"params":{"threadId":"thread-aaaaaaaaaa"}}"#,
        r#"< {"method":"item/fileChange/requestApproval","id":0,"params":{"threadId":"thread-aaaaaaaaaa"}}"#,
        r#"< {"method":"serverRequest/resolved","params":{"threadId":"thread-aaaaaaaaaa","requestId":0}}"#,
        r#"> {"id":0,"result":{"decision":"accept"}}"#,
        r#"> {"method":"turn/start","id":2,"params":{"threadId":"thread-aaaaaaaaaa"}}"#,
        r#"< {"id":2,"result":{"turn":"second"}}"#,
    ];
    let mut play = play(Agent::Codex, &lines);
    say(&mut play, Agent::Codex, &lines[0][2..]);
    assert_eq!(say(&mut play, Agent::Codex, &lines[4][2..]), [&lines[5][2..]]);
}
