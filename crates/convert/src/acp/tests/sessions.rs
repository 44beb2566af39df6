//! Tests of sessions, turns, settings and usage.

use interlingua_schema::TurnStatus;
use serde_json::{Value, json};

use super::harness::{Harness, data_of, items, turn_statuses};

fn kinds(events: &[interlingua_schema::UniversalEvent]) -> Vec<String> {
    events.iter().map(|event| serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_turn_starts_with_its_prompt() {
    let mut acp = Harness::in_turn();
    acp.update("plan", json!({ "entries": [{ "content": "look", "status": "pending", "priority": "high" }] }));
    acp.end_turn();
    let events = acp.finish();
    assert_eq!(kinds(&events)[1..4], ["turn.started", "item.started", "item.delta"]);
    assert_eq!(items(&events), ["user: hello", "note: 0 of 1 done|…"]);
}

#[test]
fn a_prompt_that_waits_has_a_turn_of_its_own() {
    let mut acp = Harness::in_turn();
    acp.chunk("one", Some("a"));
    acp.prompt("second");
    acp.chunk("more", Some("a"));
    acp.receive(&json!({ "jsonrpc": "2.0", "id": 3, "result": { "stopReason": "end_turn" } }));
    acp.chunk("two", Some("b"));
    acp.end_turn();
    let events = acp.finish();
    assert_eq!(items(&events), ["user: hello", "agent: onemore", "user: second", "agent: two"]);
    assert_eq!(turn_statuses(&events), [TurnStatus::Completed, TurnStatus::Completed]);
}

#[test]
fn a_prompt_that_the_agent_refuses_does_not_end_the_running_turn() {
    let mut acp = Harness::in_turn();
    acp.chunk("one", None);
    acp.prompt("second");
    acp.refuse(-32600, "a turn is running");
    acp.chunk(" more", None);
    acp.receive(&json!({ "jsonrpc": "2.0", "id": 3, "result": { "stopReason": "end_turn" } }));
    let events = acp.finish();
    assert_eq!(items(&events), ["user: hello", "agent: one more"]);
    assert_eq!(turn_statuses(&events), [TurnStatus::Completed]);
    assert_eq!(data_of(&events, "error").len(), 1);
}

#[test]
fn every_message_of_a_repeated_history_has_its_turn_and_its_usage() {
    let mut acp = Harness::new();
    acp.request("session/load", json!({ "sessionId": "s", "cwd": "/w", "mcpServers": [] }));
    for number in 1..=2_u64 {
        acp.update("user_message_chunk", json!({ "content": { "type": "text", "text": format!("user {number}") } }));
        let usage = json!({ "usage": { "inputTokens": number, "outputTokens": 1 } });
        acp.update("agent_message_chunk", json!({ "content": { "type": "text", "text": "" }, "_meta": usage }));
        acp.chunk(&format!("answer {number}"), None);
    }
    let models = json!({ "currentModelId": "big", "availableModels": [] });
    acp.answer(json!({ "modes": { "currentModeId": "plan", "availableModes": [] }, "models": models }));
    acp.prompt("new");
    acp.chunk("fresh", None);
    acp.end_turn();
    let events = acp.finish();
    let expected = ["user: user 1", "agent: answer 1", "user: user 2", "agent: answer 2", "user: new", "agent: fresh"];
    assert_eq!(items(&events), expected);
    let usages: Vec<Value> =
        data_of(&events, "turn.ended").into_iter().map(|data| data["usage"]["input_tokens"].clone()).collect();
    assert_eq!(usages, [json!(1), json!(2), json!(null)]);
    let turn = &data_of(&events, "turn.started")[2]["metadata"];
    assert_eq!((&turn["model"], &turn["permission_mode"]), (&json!("big"), &json!("plan")));
    assert_eq!(data_of(&events, "session.started")[0]["metadata"]["native"]["implementation"], "toy");
}

#[test]
fn modes_have_the_names_of_permission_modes() {
    for (agent, mode, metadata) in [
        ("@agentclientprotocol/claude-agent-acp", "bypassPermissions", json!({ "permission_mode": "bypass" })),
        ("@agentclientprotocol/claude-agent-acp", "auto", json!({ "permission_mode": "auto" })),
        ("@agentclientprotocol/codex-acp", "workspace-write", json!({ "permission_mode": "default" })),
        (
            "Copilot",
            "https://agentclientprotocol.com/protocol/session-modes#plan",
            json!({ "permission_mode": "plan" }),
        ),
        ("OpenCode", "plan", json!({ "agent_mode": "plan" })),
        ("toy", "auto-edit", json!({ "permission_mode": "acceptEdits" })),
        ("toy", "https://example.com/modes#YOLO", json!({ "permission_mode": "bypass" })),
        ("toy", "code", json!({ "agent_mode": "code" })),
    ] {
        let mut acp = Harness::with_agent(agent);
        acp.request("session/new", json!({ "cwd": "/w", "mcpServers": [] }));
        acp.answer(json!({ "sessionId": "s", "modes": { "currentModeId": mode, "availableModes": [] } }));
        let started = data_of(&acp.finish(), "session.started")[0]["metadata"].clone();
        let mut modes = json!({});
        for key in ["permission_mode", "agent_mode"] {
            if let Some(value) = started.get(key) {
                modes[key] = value.clone();
            }
        }
        assert_eq!(modes, metadata, "{agent} {mode}");
    }
}

#[test]
fn a_model_that_is_an_option_does_not_change_with_the_older_state() {
    let mut acp = Harness::with_agent("@agentclientprotocol/codex-acp");
    let option = |id: &str, category: &str, value: &str| json!({ "id": id, "name": id, "category": category, "type": "select", "currentValue": value, "options": [] });
    acp.request("session/new", json!({ "cwd": "/w", "mcpServers": [] }));
    let options = json!([option("model", "model", "gpt-5.5"), option("effort", "thought_level", "medium")]);
    let models = json!({ "currentModelId": "gpt-5.5[medium]", "availableModels": [] });
    acp.answer(json!({ "sessionId": "s", "models": models, "configOptions": options }));
    acp.request("session/set_model", json!({ "sessionId": "s", "modelId": "gpt-5.5[xhigh]" }));
    let options = json!([option("model", "model", "gpt-5.5"), option("effort", "thought_level", "xhigh")]);
    acp.update("config_option_update", json!({ "configOptions": options }));
    acp.answer(json!({}));
    assert_eq!(items(&acp.finish()), ["note: effort changed from medium to xhigh"]);
}

#[test]
fn a_message_that_is_cut_off_by_a_cancellation_is_failed() {
    let mut acp = Harness::in_turn();
    acp.chunk("half", None);
    acp.send(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": "s" } }));
    acp.refuse(-32800, "Request cancelled");
    let events = acp.finish();
    assert_eq!(items(&events), ["user: hello", "!agent: half"]);
    assert_eq!(turn_statuses(&events), [TurnStatus::Interrupted]);
}

#[test]
fn a_missing_login_says_what_to_do() {
    let mut acp = Harness::in_turn_with("gemini-cli");
    acp.refuse(-32000, "Authentication required");
    let error = data_of(&acp.finish(), "error")[0].clone();
    let message =
        "Authentication required: set GEMINI_API_KEY or GOOGLE_API_KEY, or run `interlingua agents login gemini`";
    assert_eq!((&error["code"], &error["message"]), (&json!("auth"), &json!(message)));
}

#[test]
fn a_turn_without_tokens_has_no_usage() {
    let mut acp = Harness::in_turn();
    acp.update("usage_update", json!({ "used": 1, "size": 2, "cost": { "amount": 0.5, "currency": "EUR" } }));
    acp.refuse(-32603, "no");
    acp.prompt("again");
    let zero = json!({ "inputTokens": 0, "outputTokens": 0, "totalTokens": 0 });
    acp.answer(json!({ "stopReason": "cancelled", "usage": zero }));
    let ended = data_of(&acp.finish(), "turn.ended");
    assert_eq!((&ended[0]["usage"], &ended[1]["usage"]), (&json!(null), &json!(null)));
    assert_eq!(ended[0]["metadata"]["native"]["cost"], json!({ "amount": 0.5, "currency": "EUR" }));
}

#[test]
fn the_payload_of_a_message_has_its_words() {
    let mut acp = Harness::in_turn();
    acp.chunk("one ", None);
    acp.chunk("two", None);
    acp.end_turn();
    let events = acp.finish();
    let events: Vec<Value> = events.iter().map(|event| serde_json::to_value(event).unwrap()).collect();
    let message =
        events.iter().find(|event| event["type"] == "item.completed" && event["data"]["item"]["role"] == "assistant");
    let message = message.unwrap();
    assert_eq!(
        (&message["synthetic"], &message["raw"]["params"]["update"]["content"]["text"]),
        (&json!(true), &json!("two"))
    );
}

#[test]
fn a_form_of_claude_code_has_a_question_with_own_words() {
    let mut acp = Harness::in_turn_with("@agentclientprotocol/claude-agent-acp");
    let choices =
        json!([{ "const": "Red", "title": "Red", "description": "warm" }, { "const": "Blue", "title": "Blue" }]);
    let schema = json!({ "type": "object", "properties": {
        "question_0": { "type": "string", "title": "Colour", "oneOf": choices },
        "question_0_custom": { "type": "string", "title": "Other", "description": "Type your own answer." },
    } });
    for (id, content) in
        [(4, json!({ "question_0": "Red", "question_0_custom": "kiwi" })), (5, json!({ "question_0_custom": "Green" }))]
    {
        let params = json!({ "mode": "form", "sessionId": "s", "message": "Which colour?", "requestedSchema": schema });
        acp.receive(&json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params }));
        acp.send(&json!({ "jsonrpc": "2.0", "id": id, "result": { "action": "accept", "content": content } }));
    }
    acp.end_turn();
    let events = acp.finish();
    let asked = data_of(&events, "question.requested");
    assert_eq!(
        (asked.len(), &asked[0]["prompt"], &asked[0]["metadata"]["header"]),
        (2, &json!("Which colour?"), &json!("Colour"))
    );
    assert_eq!(asked[0]["metadata"]["free_text"], true);
    assert_eq!(asked[0]["metadata"]["options"][0], json!({ "label": "Red", "description": "warm" }));
    let answers: Vec<Value> =
        data_of(&events, "question.resolved").into_iter().map(|data| data["response"].clone()).collect();
    assert_eq!(answers, ["Red, kiwi", "Green"]);
}

#[test]
fn a_form_of_codex_has_the_question_as_the_title() {
    let mut acp = Harness::in_turn_with("@agentclientprotocol/codex-acp");
    let schema = json!({ "type": "object", "properties": {
        "colour": { "type": "string", "title": "Which colour?", "description": "Colour", "_meta": { "codex": { "isSecret": true } } },
    } });
    let params = json!({ "mode": "form", "sessionId": "s", "message": "Codex needs your input to continue.", "requestedSchema": schema });
    acp.receive(&json!({ "jsonrpc": "2.0", "id": 4, "method": "elicitation/create", "params": params }));
    acp.end_turn();
    let asked = data_of(&acp.finish(), "question.requested")[0].clone();
    assert_eq!((&asked["prompt"], &asked["metadata"]["header"]), (&json!("Which colour?"), &json!("Colour")));
    assert_eq!((&asked["metadata"]["secret"], &asked["metadata"]["free_text"]), (&json!(true), &json!(true)));
}
