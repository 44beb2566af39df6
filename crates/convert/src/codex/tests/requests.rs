//! Permissions, questions and other requests of the agent.

use interlingua_schema::{ItemKind, ItemStatus};
use serde_json::{Value, json};

use super::harness::{Harness, command};

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
        let mut codex = Harness::in_turn();
        codex.start_item(command("inProgress", json!({})));
        codex.receive(json!({"method": "item/commandExecution/requestApproval", "id": 0,
            "params": {"threadId": "t", "turnId": "1", "itemId": "c"}}));
        let mut answer = answer.clone();
        answer.as_object_mut().unwrap().insert("id".to_owned(), 0.into());
        codex.send(answer);
        codex.notify("serverRequest/resolved", json!({"requestId": 0}));
        codex.complete_item(command(if status == "denied" { "declined" } else { "completed" }, json!({})));
        codex.complete_turn("1", "completed");
        // The request has no command; it comes from the item.
        assert_eq!(codex.data_of("permission.requested")[0]["action"], "Run rm a");
        assert_eq!(codex.data_of("permission.resolved")[0]["status"], status);
        let result = codex.items().pop().unwrap();
        assert_eq!(result.2 == ItemStatus::Failed, status == "denied");
    }
}

#[test]
fn an_approval_request_starts_the_call_of_an_unknown_command() {
    for decision in ["accept", "decline"] {
        let mut codex = Harness::in_turn();
        codex.receive(json!({"method": "item/commandExecution/requestApproval", "id": 0,
            "params": {"threadId": "t", "turnId": "1", "itemId": "c", "command": "rm a", "cwd": "/w"}}));
        assert_eq!(codex.items().last().unwrap().0, ItemKind::ToolCall);
        let called = codex.data_of("item.completed").pop().unwrap();
        codex.send(json!({"id": 0, "result": {"decision": decision}}));
        if decision == "accept" {
            codex.start_item(command("inProgress", json!({"cwd": "/w"})));
            codex.complete_item(command("completed", json!({"cwd": "/w"})));
        } else {
            codex.complete_item(command("declined", json!({"cwd": "/w"})));
        }
        codex.complete_turn("1", "completed");
        let calls = codex.items().into_iter().filter(|item| item.0 == ItemKind::ToolCall);
        assert_eq!(calls.count(), 1);
        // The item alone would have led to the same call.
        let mut usual = Harness::in_turn();
        usual.start_item(command("inProgress", json!({"cwd": "/w"})));
        assert_eq!(usual.data_of("item.completed").pop().unwrap()["item"]["content"], called["item"]["content"]);
    }
}

#[test]
fn a_request_resolved_without_a_response_is_denied() {
    let mut codex = Harness::in_turn();
    codex.receive(
        json!({"method": "item/fileChange/requestApproval", "id": 0, "params": {"threadId": "t", "itemId": "f"}}),
    );
    codex.notify("serverRequest/resolved", json!({"requestId": 0}));
    codex.send(json!({"id": 0, "result": {"decision": "accept"}}));
    let resolved = codex.data_of("permission.resolved");
    assert_eq!(resolved.len(), 1);
    assert_eq!(resolved[0]["status"], "denied");
}

#[test]
fn ids_of_both_directions_are_kept_apart() {
    let mut codex = Harness::in_turn();
    codex.receive(
        json!({"method": "execCommandApproval", "id": 4, "params": {"conversationId": "t", "command": ["ls"]}}),
    );
    codex.send(json!({"id": 4, "method": "turn/interrupt", "params": {"threadId": "t", "turnId": "1"}}));
    codex.receive(json!({"id": 4, "result": {}}));
    assert_eq!(codex.data_of("permission.resolved").len(), 0);
    codex.send(json!({"id": 4, "result": {"decision": "approved"}}));
    assert_eq!(codex.data_of("permission.resolved")[0]["status"], "approved");
}

#[test]
fn permissions_that_grant_nothing_are_denied() {
    for (granted, status) in [(json!({}), "denied"), (json!({"network": {"enabled": true}}), "approved")] {
        let mut codex = Harness::in_turn();
        codex.receive(
            json!({"method": "item/permissions/requestApproval", "id": 0, "params": {"threadId": "t", "itemId": "p"}}),
        );
        codex.send(json!({"id": 0, "result": {"permissions": granted, "scope": "session"}}));
        assert_eq!(codex.data_of("permission.resolved")[0]["status"], status);
    }
}

#[test]
fn each_of_several_questions_has_its_own_answer() {
    let mut codex = Harness::in_turn();
    let questions = json!([{"id": "a", "question": "A?", "options": [{"label": "x", "description": "d"}]}, {"id": "b", "question": "B?"}]);
    codex.receive(json!({"method": "item/tool/requestUserInput", "id": 0,
        "params": {"threadId": "t", "itemId": "q", "questions": questions}}));
    codex.send(json!({"id": 0, "result": {"answers": {"a": {"answers": ["x", "y"]}}}}));
    let resolved = codex.data_of("question.resolved");
    assert_eq!((&resolved[0]["question_id"], &resolved[0]["response"]), (&json!("0:0"), &json!("x, y")));
    assert_eq!(resolved[1]["status"], "rejected");
}

#[test]
fn a_host_tool_without_an_item_is_converted_from_its_request() {
    let mut codex = Harness::in_turn();
    codex.receive(json!({"method": "item/tool/call", "id": 0,
        "params": {"threadId": "t", "callId": "d", "tool": "look", "arguments": {"a": 1}}}));
    codex.send(json!({"id": 0, "result": {"success": true, "contentItems": [{"type": "inputText", "text": "seen"}]}}));
    assert_eq!(codex.texts(), ["hello", "look", "seen"]);
    codex.receive(
        json!({"method": "item/tool/call", "id": 1, "params": {"threadId": "t", "callId": "e", "tool": "look"}}),
    );
    codex.send(json!({"id": 1, "error": {"code": -1, "message": "nothing to see"}}));
    let result = codex.items().pop().unwrap();
    assert_eq!((result.2, result.3.as_str()), (ItemStatus::Failed, "nothing to see"));
}

#[test]
fn a_patch_approval_has_the_changes_of_its_item() {
    let mut codex = Harness::in_turn();
    let changes = json!([{"path": "/w/a", "kind": {"type": "add"}, "diff": "a\n"}]);
    codex.start_item(json!({"type": "fileChange", "id": "p", "changes": changes, "status": "inProgress"}));
    let params = json!({"threadId": "t", "turnId": "1", "itemId": "p"});
    codex.receive(json!({"id": 0, "method": "item/fileChange/requestApproval", "params": params}));
    codex.send(json!({"id": 0, "result": {"decision": "cancel"}}));
    // The item of a cancelled patch never completes.
    codex.complete_turn("1", "interrupted");
    let requested = codex.data_of("permission.requested");
    assert!(requested[0]["metadata"].to_string().contains("/w/a"), "{requested:?}");
    assert_eq!(codex.data_of("permission.resolved")[0]["status"], "denied");
    let items = codex.items();
    assert_eq!((items[2].0.clone(), items[2].2.clone()), (ItemKind::ToolResult, ItemStatus::Failed), "{items:?}");
}

#[test]
fn an_elicitation_with_an_approval_kind_is_a_permission() {
    let mut codex = Harness::in_turn();
    let elicit = |meta: Value| {
        json!({"threadId": "t", "turnId": "1", "serverName": "tiny", "mode": "form",
        "message": "May it?", "requestedSchema": {"type": "object", "properties": {}}, "_meta": meta})
    };
    let approval = json!({"codex_approval_kind": "mcp_tool_call"});
    for (id, meta) in [(0, approval.clone()), (1, approval), (2, json!(null))] {
        codex.receive(json!({"id": id, "method": "mcpServer/elicitation/request", "params": elicit(meta)}));
        let action = if id == 1 { "decline" } else { "accept" };
        codex.send(json!({"id": id, "result": {"action": action, "content": {}}}));
    }
    let decisions: Vec<Value> =
        codex.data_of("permission.resolved").into_iter().map(|data| data["status"].clone()).collect();
    assert_eq!(decisions, ["approved", "denied"]);
    assert_eq!(codex.data_of("question.requested").len(), 1);
}

/// Elicitation of the server `tiny` with an approval kind.
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
fn the_approval_of_an_mcp_tool_is_matched_to_its_call() {
    let question = "Allow the tiny MCP server to run tool \"wipe\"?";
    for (message, meta, expected) in [
        // Newer releases name the tool in `_meta`, older ones only in the message.
        ("Sure?", json!({"tool_name": "wipe"}), "b"),
        (question, json!({}), "b"),
        // The arguments distinguish two calls of the same tool.
        ("Sure?", json!({"tool_name": "add", "tool_params": {"a": 2}}), "c"),
    ] {
        let mut codex = Harness::in_turn();
        codex.start_item(mcp_call("a", "add", json!({"a": 1})));
        codex.start_item(mcp_call("b", "wipe", json!({})));
        codex.start_item(mcp_call("c", "add", json!({"a": 2})));
        codex.receive(approval(0, message, meta));
        let requested = &codex.data_of("permission.requested")[0];
        assert_eq!(
            (&requested["metadata"]["call_id"], &requested["metadata"]["tool_kind"]),
            (&json!(expected), &json!("mcp"))
        );
    }
    // Without a tool name, the only open call of the server is meant.
    let mut codex = Harness::in_turn();
    codex.start_item(mcp_call("b", "wipe", json!({"all": true})));
    codex.receive(approval(0, "Sure?", json!({"persist": ["session", "always"]})));
    codex.send(json!({"id": 0, "result": {"action": "accept", "_meta": {"persist": "session"}}}));
    let resolved = &codex.data_of("permission.resolved")[0];
    let input = json!({"server": "tiny", "tool": "wipe", "arguments": {"all": true}});
    assert_eq!(resolved["action"], "tiny: wipe");
    assert_eq!((&resolved["metadata"]["call_id"], &resolved["metadata"]["input"]), (&json!("b"), &input));
    assert_eq!(resolved["metadata"]["scopes"], json!(["once", "session", "always"]));
    assert_eq!(resolved["metadata"]["scope"], "session");
}

#[test]
fn an_approval_of_anything_else_has_no_call() {
    let mut codex = Harness::in_turn();
    codex.start_item(mcp_call("a", "add", json!({})));
    let mut suggestion = approval(0, "Install the plugin?", json!({}));
    suggestion["params"]["_meta"]["codex_approval_kind"] = "tool_suggestion".into();
    codex.receive(suggestion);
    let requested = &codex.data_of("permission.requested")[0];
    assert_eq!(requested["action"], "Install the plugin?");
    assert_eq!(
        (&requested["metadata"]["call_id"], &requested["metadata"]["tool_kind"]),
        (&json!(null), &json!("other"))
    );
}

#[test]
fn approvals_of_the_same_tool_are_matched_to_different_calls() {
    let mut codex = Harness::in_turn();
    codex.start_item(mcp_call("a", "wipe", json!({})));
    codex.start_item(mcp_call("b", "wipe", json!({})));
    codex.receive(approval(0, "Sure?", json!({"tool_name": "wipe"})));
    codex.receive(approval(1, "Sure?", json!({"tool_name": "wipe"})));
    let requested = codex.data_of("permission.requested").into_iter().map(|data| data["metadata"]["call_id"].clone());
    assert_eq!(requested.collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn an_elicitation_without_an_approval_kind_is_a_question() {
    let mut codex = Harness::in_turn();
    codex.start_item(mcp_call("a", "ask", json!({})));
    let mut elicit = |id: u64, properties: Value| {
        let schema = json!({"type": "object", "properties": properties});
        codex.receive(json!({"id": id, "method": "mcpServer/elicitation/request", "params": {"threadId": "t",
            "serverName": "tiny", "mode": "form", "message": "Which?", "requestedSchema": schema, "_meta": null}}));
        codex.data_of("question.requested").pop().unwrap()
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
fn a_permission_lists_the_possible_scopes() {
    let rule = json!({"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["rm"]}});
    for (params, scopes) in [
        (json!({}), json!(["once", "session"])),
        (json!({"proposedExecpolicyAmendment": ["rm"]}), json!(["once", "session", "always"])),
        (json!({"availableDecisions": ["accept", rule]}), json!(["once", "session", "always"])),
    ] {
        let mut codex = Harness::in_turn();
        codex.start_item(command("inProgress", json!({})));
        let mut params = params;
        params["threadId"] = "t".into();
        params["itemId"] = "c".into();
        params["reason"] = "May I?".into();
        codex.receive(json!({"method": "item/commandExecution/requestApproval", "id": 0, "params": params}));
        let metadata = &codex.data_of("permission.requested")[0]["metadata"];
        assert_eq!(metadata["scopes"], scopes);
        assert_eq!((&metadata["call_id"], &metadata["reason"]), (&json!("c"), &json!("May I?")));
        assert_eq!((&metadata["tool_kind"], &metadata["input"]["command"]), (&json!("command"), &json!("rm a")));
    }
}

#[test]
fn the_scope_of_an_approval_comes_from_the_decision() {
    for (decision, scope) in [
        (json!("accept"), "once"),
        (json!("acceptForSession"), "session"),
        (json!({"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["rm"]}}), "always"),
    ] {
        let mut codex = Harness::in_turn();
        codex.start_item(command("inProgress", json!({})));
        codex.receive(json!({"method": "item/commandExecution/requestApproval", "id": 0,
            "params": {"threadId": "t", "itemId": "c"}}));
        codex.send(json!({"id": 0, "result": {"decision": decision}}));
        assert_eq!(codex.data_of("permission.resolved")[0]["metadata"]["scope"], scope);
    }
}

#[test]
fn requested_permissions_are_described_in_one_line() {
    let mut codex = Harness::in_turn();
    let permissions = json!({"network": {"enabled": true}, "fileSystem": {"write": ["/etc"]}});
    codex.receive(json!({"method": "item/permissions/requestApproval", "id": 0,
        "params": {"threadId": "t", "itemId": "p", "reason": "to fetch", "permissions": permissions}}));
    let requested = &codex.data_of("permission.requested")[0];
    assert_eq!(requested["action"], "Allow to use the network, write /etc");
    let metadata = &requested["metadata"];
    assert_eq!((&metadata["tool_kind"], &metadata["call_id"]), (&json!("other"), &json!(null)));
    assert_eq!((&metadata["reason"], &metadata["scopes"]), (&json!("to fetch"), &json!(["once", "session"])));
}

#[test]
fn a_legacy_patch_approval_starts_its_call() {
    let mut codex = Harness::in_turn();
    let changes = json!({"/w/a": {"type": "add", "content": "a\n"}});
    codex.receive(json!({"method": "applyPatchApproval", "id": 0,
        "params": {"conversationId": "t", "callId": "p", "fileChanges": changes}}));
    let requested = &codex.data_of("permission.requested")[0];
    assert_eq!((&requested["action"], &requested["metadata"]["call_id"]), (&json!("Edit /w/a"), &json!("p")));
    assert_eq!(requested["metadata"]["input"]["changes"][0]["change"], "create");
}

#[test]
fn a_question_has_all_its_native_properties() {
    let mut codex = Harness::in_turn();
    let questions = json!([
        {"id": "a", "header": "Day", "question": "Which day?", "isOther": true, "isSecret": false,
            "options": [{"label": "Friday", "description": "Take Friday"}, {"label": "Monday", "description": ""}]},
        {"id": "b", "question": "The key?", "isSecret": true},
        {"id": "c", "question": "Sure?", "isOther": false, "options": [{"label": "Yes"}]},
    ]);
    codex.receive(json!({"method": "item/tool/requestUserInput", "id": 0,
        "params": {"threadId": "t", "itemId": "q", "questions": questions}}));
    let requested: Vec<Value> =
        codex.data_of("question.requested").into_iter().map(|data| data["metadata"].clone()).collect();
    assert_eq!(
        requested,
        [
            json!({"header": "Day", "options": [{"label": "Friday", "description": "Take Friday"}, {"label": "Monday"}],
                "multi_select": false, "free_text": true, "secret": false, "native": {"id": "a"}}),
            json!({"options": [], "multi_select": false, "free_text": true, "secret": true, "native": {"id": "b"}}),
            json!({"options": [{"label": "Yes"}], "multi_select": false, "free_text": false, "secret": false,
                "native": {"id": "c"}}),
        ]
    );
}
