//! Permissions, questions and other requests of the agent.

use interlingua_schema::{ItemKind, ItemStatus};
use serde_json::{Value, json};

use super::talk::{Talk, command};

#[test]
fn a_denied_command_is_failed() {
    for (answer, status) in [
        (json!({"result": {"decision": "accept"}}), "approved"),
        (json!({"result": {"decision": "acceptForSession"}}), "approved"),
        (
            json!({"result": {"decision": {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["rm"]}}}}),
            "approved",
        ),
        (json!({"result": {"decision": "decline"}}), "denied"),
        (json!({"result": {"decision": "cancel"}}), "denied"),
        (json!({"result": {"decision": "sureWhyNot"}}), "denied"),
        (json!({"result": {}}), "denied"),
        (json!({"error": {"code": -1, "message": "no user here"}}), "denied"),
    ] {
        let mut talk = Talk::in_turn();
        talk.begin(command("inProgress", json!({})));
        talk.agent(json!({"method": "item/commandExecution/requestApproval", "id": 0,
            "params": {"threadId": "t", "turnId": "1", "itemId": "c"}}));
        let mut answer = answer.clone();
        answer.as_object_mut().unwrap().insert("id".to_owned(), 0.into());
        talk.host(answer);
        talk.tell("serverRequest/resolved", json!({"requestId": 0}));
        talk.end(command(if status == "denied" { "declined" } else { "completed" }, json!({})));
        talk.end_turn("1", "completed");
        // The request itself may leave the command to the item.
        assert_eq!(talk.of_type("permission.requested")[0]["action"], "Run rm a");
        assert_eq!(talk.of_type("permission.resolved")[0]["status"], status);
        let result = talk.items().pop().unwrap();
        assert_eq!(result.2 == ItemStatus::Failed, status == "denied");
    }
}

#[test]
fn a_request_for_a_command_that_is_not_known_yet_begins_its_call() {
    for decision in ["accept", "decline"] {
        let mut talk = Talk::in_turn();
        talk.agent(json!({"method": "item/commandExecution/requestApproval", "id": 0,
            "params": {"threadId": "t", "turnId": "1", "itemId": "c", "command": "rm a", "cwd": "/w"}}));
        assert_eq!(talk.items().last().unwrap().0, ItemKind::ToolCall);
        let called = talk.of_type("item.completed").pop().unwrap();
        talk.host(json!({"id": 0, "result": {"decision": decision}}));
        if decision == "accept" {
            talk.begin(command("inProgress", json!({"cwd": "/w"})));
            talk.end(command("completed", json!({"cwd": "/w"})));
        } else {
            talk.end(command("declined", json!({"cwd": "/w"})));
        }
        talk.end_turn("1", "completed");
        let calls = talk.items().into_iter().filter(|item| item.0 == ItemKind::ToolCall);
        assert_eq!(calls.count(), 1);
        // It is what the item alone would have been.
        let mut usual = Talk::in_turn();
        usual.begin(command("inProgress", json!({"cwd": "/w"})));
        assert_eq!(usual.of_type("item.completed").pop().unwrap()["item"]["content"], called["item"]["content"]);
    }
}

#[test]
fn a_request_that_nobody_answered_is_withdrawn() {
    let mut talk = Talk::in_turn();
    talk.agent(
        json!({"method": "item/fileChange/requestApproval", "id": 0, "params": {"threadId": "t", "itemId": "f"}}),
    );
    talk.tell("serverRequest/resolved", json!({"requestId": 0}));
    talk.host(json!({"id": 0, "result": {"decision": "accept"}}));
    let resolved = talk.of_type("permission.resolved");
    assert_eq!(resolved.len(), 1);
    assert_eq!(resolved[0]["status"], "denied");
}

#[test]
fn ids_of_both_directions_are_kept_apart() {
    let mut talk = Talk::in_turn();
    talk.agent(json!({"method": "execCommandApproval", "id": 4, "params": {"conversationId": "t", "command": ["ls"]}}));
    talk.host(json!({"id": 4, "method": "turn/interrupt", "params": {"threadId": "t", "turnId": "1"}}));
    talk.agent(json!({"id": 4, "result": {}}));
    assert_eq!(talk.of_type("permission.resolved").len(), 0);
    talk.host(json!({"id": 4, "result": {"decision": "approved"}}));
    assert_eq!(talk.of_type("permission.resolved")[0]["status"], "approved");
}

#[test]
fn permissions_that_grant_nothing_are_denied() {
    for (granted, status) in [(json!({}), "denied"), (json!({"network": {"enabled": true}}), "approved")] {
        let mut talk = Talk::in_turn();
        talk.agent(
            json!({"method": "item/permissions/requestApproval", "id": 0, "params": {"threadId": "t", "itemId": "p"}}),
        );
        talk.host(json!({"id": 0, "result": {"permissions": granted, "scope": "session"}}));
        assert_eq!(talk.of_type("permission.resolved")[0]["status"], status);
    }
}

#[test]
fn several_questions_are_answered_one_by_one() {
    let mut talk = Talk::in_turn();
    let questions = json!([{"id": "a", "question": "A?", "options": [{"label": "x", "description": "d"}]}, {"id": "b", "question": "B?"}]);
    talk.agent(json!({"method": "item/tool/requestUserInput", "id": 0,
        "params": {"threadId": "t", "itemId": "q", "questions": questions}}));
    talk.host(json!({"id": 0, "result": {"answers": {"a": {"answers": ["x", "y"]}}}}));
    let resolved = talk.of_type("question.resolved");
    assert_eq!((&resolved[0]["question_id"], &resolved[0]["response"]), (&json!("0:0"), &json!("x, y")));
    assert_eq!(resolved[1]["status"], "rejected");
}

#[test]
fn a_tool_of_the_hosts_that_is_no_item_is_told_by_its_request() {
    let mut talk = Talk::in_turn();
    talk.agent(json!({"method": "item/tool/call", "id": 0,
        "params": {"threadId": "t", "callId": "d", "tool": "look", "arguments": {"a": 1}}}));
    talk.host(json!({"id": 0, "result": {"success": true, "contentItems": [{"type": "inputText", "text": "seen"}]}}));
    assert_eq!(talk.texts(), ["hello", "look", "seen"]);
    talk.agent(
        json!({"method": "item/tool/call", "id": 1, "params": {"threadId": "t", "callId": "e", "tool": "look"}}),
    );
    talk.host(json!({"id": 1, "error": {"code": -1, "message": "nothing to see"}}));
    let result = talk.items().pop().unwrap();
    assert_eq!((result.2, result.3.as_str()), (ItemStatus::Failed, "nothing to see"));
}

#[test]
fn a_patch_is_asked_for_with_the_changes_of_its_item() {
    let mut talk = Talk::in_turn();
    let changes = json!([{"path": "/w/a", "kind": {"type": "add"}, "diff": "a\n"}]);
    talk.begin(json!({"type": "fileChange", "id": "p", "changes": changes, "status": "inProgress"}));
    let params = json!({"threadId": "t", "turnId": "1", "itemId": "p"});
    talk.agent(json!({"id": 0, "method": "item/fileChange/requestApproval", "params": params}));
    talk.host(json!({"id": 0, "result": {"decision": "cancel"}}));
    // A patch that was cancelled never ends by itself.
    talk.end_turn("1", "interrupted");
    let asked = talk.of_type("permission.requested");
    assert!(asked[0]["metadata"].to_string().contains("/w/a"), "{asked:?}");
    assert_eq!(talk.of_type("permission.resolved")[0]["status"], "denied");
    let items = talk.items();
    assert_eq!((items[2].0.clone(), items[2].2.clone()), (ItemKind::ToolResult, ItemStatus::Failed), "{items:?}");
}

#[test]
fn an_elicitation_that_stands_for_an_approval_is_a_permission() {
    let mut talk = Talk::in_turn();
    let elicit = |meta: Value| {
        json!({"threadId": "t", "turnId": "1", "serverName": "tiny", "mode": "form",
        "message": "May it?", "requestedSchema": {"type": "object", "properties": {}}, "_meta": meta})
    };
    let approval = json!({"codex_approval_kind": "mcp_tool_call"});
    for (id, meta) in [(0, approval.clone()), (1, approval), (2, json!(null))] {
        talk.agent(json!({"id": id, "method": "mcpServer/elicitation/request", "params": elicit(meta)}));
        let action = if id == 1 { "decline" } else { "accept" };
        talk.host(json!({"id": id, "result": {"action": action, "content": {}}}));
    }
    let decisions: Vec<Value> =
        talk.of_type("permission.resolved").into_iter().map(|data| data["status"].clone()).collect();
    assert_eq!(decisions, ["approved", "denied"]);
    assert_eq!(talk.of_type("question.requested").len(), 1);
}

/// An elicitation of the server `tiny` that stands for an approval.
fn approval(id: u64, message: &str, meta: Value) -> Value {
    let mut meta = meta;
    meta["codex_approval_kind"] = "mcp_tool_call".into();
    json!({"id": id, "method": "mcpServer/elicitation/request", "params": {"threadId": "t", "turnId": "1",
        "serverName": "tiny", "mode": "form", "message": message, "requestedSchema": {"type": "object"}, "_meta": meta}})
}

fn mcp_call(id: &str, tool: &str, arguments: Value) -> Value {
    json!({"type": "mcpToolCall", "id": id, "server": "tiny", "tool": tool, "arguments": arguments,
        "status": "inProgress"})
}

#[test]
fn the_approval_of_an_mcp_tool_names_its_call() {
    let words = "Allow the tiny MCP server to run tool \"wipe\"?";
    for (message, meta, expected) in [
        // Newer releases name the tool, older ones only in words.
        ("Sure?", json!({"tool_name": "wipe"}), "b"),
        (words, json!({}), "b"),
        // Of two calls of the same tool, the arguments tell which.
        ("Sure?", json!({"tool_name": "add", "tool_params": {"a": 2}}), "c"),
    ] {
        let mut talk = Talk::in_turn();
        talk.begin(mcp_call("a", "add", json!({"a": 1})));
        talk.begin(mcp_call("b", "wipe", json!({})));
        talk.begin(mcp_call("c", "add", json!({"a": 2})));
        talk.agent(approval(0, message, meta));
        let asked = &talk.of_type("permission.requested")[0];
        assert_eq!((&asked["metadata"]["call_id"], &asked["metadata"]["tool_kind"]), (&json!(expected), &json!("mcp")));
    }
    // Where not even the words name the tool, it is the only call of the server.
    let mut talk = Talk::in_turn();
    talk.begin(mcp_call("b", "wipe", json!({"all": true})));
    talk.agent(approval(0, "Sure?", json!({"persist": ["session", "always"]})));
    talk.host(json!({"id": 0, "result": {"action": "accept", "_meta": {"persist": "session"}}}));
    let asked = &talk.of_type("permission.resolved")[0];
    let input = json!({"server": "tiny", "tool": "wipe", "arguments": {"all": true}});
    assert_eq!(asked["action"], "tiny: wipe");
    assert_eq!((&asked["metadata"]["call_id"], &asked["metadata"]["input"]), (&json!("b"), &input));
    assert_eq!(asked["metadata"]["scopes"], json!(["once", "session", "always"]));
    assert_eq!(asked["metadata"]["scope"], "session");
}

#[test]
fn an_approval_of_something_else_is_about_no_call() {
    let mut talk = Talk::in_turn();
    talk.begin(mcp_call("a", "add", json!({})));
    let mut suggestion = approval(0, "Install the plugin?", json!({}));
    suggestion["params"]["_meta"]["codex_approval_kind"] = "tool_suggestion".into();
    talk.agent(suggestion);
    let asked = &talk.of_type("permission.requested")[0];
    assert_eq!(asked["action"], "Install the plugin?");
    assert_eq!((&asked["metadata"]["call_id"], &asked["metadata"]["tool_kind"]), (&json!(null), &json!("other")));
}

#[test]
fn calls_of_the_same_tool_are_asked_for_one_by_one() {
    let mut talk = Talk::in_turn();
    talk.begin(mcp_call("a", "wipe", json!({})));
    talk.begin(mcp_call("b", "wipe", json!({})));
    talk.agent(approval(0, "Sure?", json!({"tool_name": "wipe"})));
    talk.agent(approval(1, "Sure?", json!({"tool_name": "wipe"})));
    let asked = talk.of_type("permission.requested").into_iter().map(|data| data["metadata"]["call_id"].clone());
    assert_eq!(asked.collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn an_elicitation_that_is_no_approval_is_a_question() {
    let mut talk = Talk::in_turn();
    talk.begin(mcp_call("a", "ask", json!({})));
    let mut elicit = |id: u64, properties: Value| {
        let schema = json!({"type": "object", "properties": properties});
        talk.agent(json!({"id": id, "method": "mcpServer/elicitation/request", "params": {"threadId": "t",
            "serverName": "tiny", "mode": "form", "message": "Which?", "requestedSchema": schema, "_meta": null}}));
        talk.of_type("question.requested").pop().unwrap()
    };
    let one = elicit(
        0,
        json!({"colour": {"type": "string", "title": "Colour", "oneOf": [{"const": "red", "title": "Red"}]}}),
    );
    assert_eq!(one["options"], json!(["red"]));
    let metadata = &one["metadata"];
    assert_eq!(metadata["options"], json!([{"label": "red", "description": "Red"}]));
    assert_eq!((&metadata["header"], &metadata["call_id"]), (&json!("Colour"), &json!("a")));
    assert_eq!((&metadata["free_text"], &metadata["multi_select"]), (&json!(false), &json!(false)));
    let several = elicit(1, json!({"colours": {"type": "array", "items": {"enum": ["red", "blue"]}}}));
    assert_eq!((&several["options"], &several["metadata"]["multi_select"]), (&json!(["red", "blue"]), &json!(true)));
    let free = elicit(2, json!({"name": {"type": "string"}}));
    assert_eq!((&free["options"], &free["metadata"]["free_text"]), (&json!([]), &json!(true)));
}

#[test]
fn a_permission_offers_what_an_approval_may_mean() {
    let rule = json!({"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["rm"]}});
    for (params, scopes) in [
        (json!({}), json!(["once", "session"])),
        (json!({"proposedExecpolicyAmendment": ["rm"]}), json!(["once", "session", "always"])),
        (json!({"availableDecisions": ["accept", rule]}), json!(["once", "session", "always"])),
    ] {
        let mut talk = Talk::in_turn();
        talk.begin(command("inProgress", json!({})));
        let mut params = params;
        params["threadId"] = "t".into();
        params["itemId"] = "c".into();
        params["reason"] = "May I?".into();
        talk.agent(json!({"method": "item/commandExecution/requestApproval", "id": 0, "params": params}));
        let metadata = &talk.of_type("permission.requested")[0]["metadata"];
        assert_eq!(metadata["scopes"], scopes);
        assert_eq!((&metadata["call_id"], &metadata["reason"]), (&json!("c"), &json!("May I?")));
        assert_eq!((&metadata["tool_kind"], &metadata["input"]["command"]), (&json!("command"), &json!("rm a")));
    }
}

#[test]
fn an_approval_reaches_as_far_as_the_host_says() {
    for (decision, scope) in [
        (json!("accept"), "once"),
        (json!("acceptForSession"), "session"),
        (json!({"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["rm"]}}), "always"),
    ] {
        let mut talk = Talk::in_turn();
        talk.begin(command("inProgress", json!({})));
        talk.agent(json!({"method": "item/commandExecution/requestApproval", "id": 0,
            "params": {"threadId": "t", "itemId": "c"}}));
        talk.host(json!({"id": 0, "result": {"decision": decision}}));
        assert_eq!(talk.of_type("permission.resolved")[0]["metadata"]["scope"], scope);
    }
}

#[test]
fn wider_permissions_are_asked_for_in_a_line() {
    let mut talk = Talk::in_turn();
    let wanted = json!({"network": {"enabled": true}, "fileSystem": {"write": ["/etc"]}});
    talk.agent(json!({"method": "item/permissions/requestApproval", "id": 0,
        "params": {"threadId": "t", "itemId": "p", "reason": "to fetch", "permissions": wanted}}));
    let asked = &talk.of_type("permission.requested")[0];
    assert_eq!(asked["action"], "Allow to use the network, write /etc");
    let metadata = &asked["metadata"];
    assert_eq!((&metadata["tool_kind"], &metadata["call_id"]), (&json!("other"), &json!(null)));
    assert_eq!((&metadata["reason"], &metadata["scopes"]), (&json!("to fetch"), &json!(["once", "session"])));
}

#[test]
fn an_older_request_for_a_patch_begins_its_call() {
    let mut talk = Talk::in_turn();
    let changes = json!({"/w/a": {"type": "add", "content": "a\n"}});
    talk.agent(json!({"method": "applyPatchApproval", "id": 0,
        "params": {"conversationId": "t", "callId": "p", "fileChanges": changes}}));
    let asked = &talk.of_type("permission.requested")[0];
    assert_eq!((&asked["action"], &asked["metadata"]["call_id"]), (&json!("Edit /w/a"), &json!("p")));
    assert_eq!(asked["metadata"]["input"]["changes"][0]["change"], "create");
}

#[test]
fn a_question_has_all_that_the_agent_says_of_it() {
    let mut talk = Talk::in_turn();
    let questions = json!([
        {"id": "a", "header": "Day", "question": "Which day?", "isOther": true, "isSecret": false,
            "options": [{"label": "Friday", "description": "Take Friday"}, {"label": "Monday", "description": ""}]},
        {"id": "b", "question": "The key?", "isSecret": true},
        {"id": "c", "question": "Sure?", "isOther": false, "options": [{"label": "Yes"}]},
    ]);
    talk.agent(json!({"method": "item/tool/requestUserInput", "id": 0,
        "params": {"threadId": "t", "itemId": "q", "questions": questions}}));
    let asked: Vec<Value> =
        talk.of_type("question.requested").into_iter().map(|data| data["metadata"].clone()).collect();
    assert_eq!(
        asked,
        [
            json!({"header": "Day", "options": [{"label": "Friday", "description": "Take Friday"}, {"label": "Monday"}],
                "multi_select": false, "free_text": true, "secret": false, "native": {"id": "a"}}),
            json!({"options": [], "multi_select": false, "free_text": true, "secret": true, "native": {"id": "b"}}),
            json!({"options": [{"label": "Yes"}], "multi_select": false, "free_text": false, "secret": false,
                "native": {"id": "c"}}),
        ]
    );
}
