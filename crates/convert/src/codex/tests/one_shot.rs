//! `codex exec --json`.

use interlingua_schema::TurnStatus;
use serde_json::json;

use super::talk::Talk;
use crate::{End, Input, Launch};

#[test]
fn a_one_shot_run_has_its_prompt_from_the_command_line() {
    let mut talk = Talk::new();
    let argv = ["codex", "exec", "--json", "say hi"].map(str::to_owned).to_vec();
    talk.stream.launch(None, &Launch { argv, ..Launch::default() }, &mut talk.events);
    talk.agent(json!({"type": "thread.started", "thread_id": "t"}));
    talk.agent(json!({"type": "turn.started"}));
    talk.agent(json!({"type": "error", "message": "Reconnecting... 1/5 (stream disconnected)"}));
    talk.push(Input::Received(
        r#"{"type":"item.completed","item":{"id":"item_1","type":"web_search","id":"ws_1","query":"q"}}"#,
    ));
    talk.agent(json!({"type": "item.completed", "item": {"id": "item_2", "type": "agent_message", "text": "hi"}}));
    talk.agent(json!({"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 1}}));
    talk.stream.finish(None, End::Log, &mut talk.events);
    assert_eq!(talk.texts(), ["say hi", "retry Reconnecting... 1/5 (stream disconnected)", "web_search", "", "hi"]);
    assert_eq!(talk.of_type("turn.ended")[0]["usage"]["input_tokens"], 5);
    assert_eq!(talk.tally().unparsed, 0);
}

#[test]
fn a_one_shot_run_that_fails_says_so_once() {
    let mut talk = Talk::new();
    talk.agent(json!({"type": "thread.started", "thread_id": "t"}));
    talk.agent(json!({"type": "turn.started"}));
    talk.agent(json!({"type": "error", "message": "unexpected status 401 Unauthorized"}));
    talk.agent(json!({"type": "turn.failed", "error": {"message": "unexpected status 401 Unauthorized"}}));
    assert_eq!(talk.of_type("error").len(), 1);
    assert_eq!(talk.of_type("error")[0]["code"], "auth");
    assert_eq!(talk.of_type("turn.ended")[0]["status"], serde_json::to_value(TurnStatus::Failed).unwrap());
}

#[test]
fn a_sub_agents_turn_in_a_one_shot_run_is_no_turn() {
    let mut talk = Talk::new();
    talk.agent(json!({"type": "thread.started", "thread_id": "t"}));
    talk.agent(json!({"type": "turn.started"}));
    talk.agent(json!({"type": "turn.started"}));
    talk.agent(json!({"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "child"}}));
    talk.agent(json!({"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 1}}));
    assert_eq!(talk.of_type("turn.started").len(), 1);
    assert_eq!(talk.of_type("turn.ended")[0]["usage"]["input_tokens"], 5);
    assert_eq!(talk.tally().unaccounted, 0);
}

#[test]
fn a_one_shot_run_that_stops_in_its_turn_has_died() {
    let mut talk = Talk::new();
    talk.agent(json!({"type": "thread.started", "thread_id": "t"}));
    talk.agent(json!({"type": "turn.started"}));
    talk.agent(json!({"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "so"}}));
    talk.push(Input::Exit { code: Some(0) });
    assert_eq!(talk.of_type("error")[0]["code"], "agent_error");
    assert_eq!(talk.of_type("turn.ended")[0]["status"], "failed");
}

#[test]
fn a_second_run_counts_and_plans_for_itself() {
    let mut talk = Talk::new();
    let argv = ["codex", "exec", "--json", "go"].map(str::to_owned).to_vec();
    talk.stream.launch(None, &Launch { argv, ..Launch::default() }, &mut talk.events);
    for thread in ["a", "b"] {
        talk.agent(json!({"type": "thread.started", "thread_id": thread}));
        talk.agent(json!({"type": "turn.started"}));
        let plan = json!({"id": "item_0", "type": "todo_list", "items": [{"text": "look", "completed": false}]});
        talk.agent(json!({"type": "item.started", "item": plan}));
        talk.agent(json!({"type": "item.completed", "item": plan}));
        talk.agent(json!({"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 1}}));
        talk.push(Input::Exit { code: Some(0) });
    }
    let used = talk.of_type("turn.ended").into_iter().map(|data| data["usage"]["input_tokens"].clone());
    assert_eq!(used.collect::<Vec<_>>(), [5, 5]);
    assert_eq!(talk.texts(), ["go", "plan 0 of 1 done", "plan 0 of 1 done"]);
}
