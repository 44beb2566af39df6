//! The built-in commands and scenarios of the mock agent.

use std::collections::BTreeSet;

use interlingua_runtime::PermissionReply;
use interlingua_schema::{ContentPart, EventData, FileAction, ItemKind, NativeSessionId, TurnStatus, UniversalEvent};
use serde_json::{Value, json};

use crate::test_runtime::{TestRuntime, event_types, is_nth, permission_ids, question_ids, texts, turn_status};

#[tokio::test]
async fn every_turn_of_every_simple_command_ends_without_violations() {
    let test = TestRuntime::new().with_session().await;
    for (command, expected) in [
        ("help", TurnStatus::Completed),
        ("echo one two", TurnStatus::Completed),
        ("say one two", TurnStatus::Completed),
        ("markdown", TurnStatus::Completed),
        ("tool", TurnStatus::Completed),
        ("status", TurnStatus::Completed),
        ("image", TurnStatus::Completed),
        ("reasoning", TurnStatus::Completed),
        ("unknown", TurnStatus::Completed),
        ("unparsed", TurnStatus::Completed),
        ("error", TurnStatus::Failed),
        ("whatever else", TurnStatus::Completed),
    ] {
        let turn = test.run_turn(command).await;
        assert_eq!(turn_status(&turn), Some(expected), "{command}");
        assert_eq!(texts(&turn)[0], command, "the message of the user is not the first");
    }
    test.assert_no_violations().await;
    let events = test.events().await;
    let native: NativeSessionId = "mock-s".into();
    assert!(events.iter().all(|event| event.native_session_id.as_ref() == Some(&native)));
    assert!(events.iter().all(|event| event.session_id.as_str() == "s"));
}

#[tokio::test]
async fn text_that_is_not_a_command_is_repeated() {
    let test = TestRuntime::new().with_session().await;
    for (message, answer) in [("hello", "hello"), ("echo a b", "a b"), ("say c", "c")] {
        assert_eq!(texts(&test.run_turn(message).await), [message, answer]);
    }
}

#[tokio::test]
async fn markdown_streams_in_eight_deltas() {
    let test = TestRuntime::new().with_session().await;
    let turn = test.run_turn("markdown").await;
    let users = turn.iter().position(|event| event.data.kind() == "item.completed").unwrap();
    let deltas = turn[users..].iter().filter(|event| event.data.kind() == "item.delta").count();
    assert_eq!(deltas, 8);
}

#[tokio::test]
async fn a_tool_reads_writes_and_patches() {
    let test = TestRuntime::new().with_session().await;
    let turn = test.run_turn("tool").await;
    let result = turn
        .iter()
        .find_map(|event| match &event.data {
            EventData::ItemCompleted(done) if done.item.kind == ItemKind::ToolResult => Some(&done.item),
            _ => None,
        })
        .unwrap();
    let files: Vec<(FileAction, bool)> = result
        .content
        .iter()
        .filter_map(|part| match part {
            ContentPart::FileRef { action, diff, .. } => Some((action.clone(), diff.is_some())),
            _ => None,
        })
        .collect();
    assert_eq!(files, [(FileAction::Read, false), (FileAction::Write, true), (FileAction::Patch, true)]);
}

/// The data of each event of a type, as JSON.
fn event_data(events: &[UniversalEvent], kind: &str) -> Vec<Value> {
    let matching = events.iter().filter(|event| event.data.kind() == kind);
    matching.map(|event| serde_json::to_value(event).unwrap()["data"].take()).collect()
}

/// The completed items of a kind, as JSON.
fn completed_items(events: &[UniversalEvent], kind: &str) -> Vec<Value> {
    let completed = event_data(events, "item.completed").into_iter().map(|mut data| data["item"].take());
    completed.filter(|item| item["kind"] == kind).collect()
}

#[tokio::test]
async fn sessions_and_turns_have_their_metadata() {
    let test = TestRuntime::new().with_session().await;
    test.run_turn("hello").await;
    let events = test.events().await;
    let session = &event_data(&events, "session.started")[0]["metadata"];
    assert_eq!(session["agent"], "mock");
    assert!(session["cwd"].as_str().is_some_and(|cwd| cwd.starts_with('/')), "{session}");
    let turn = &event_data(&events, "turn.started")[0];
    let metadata = &turn["metadata"];
    assert_eq!((&metadata["model"], &metadata["agent_mode"]), (&json!("mock"), &json!("build")));
    assert_eq!(
        (&metadata["permission_mode"], &metadata["tools"]),
        (&json!("default"), &json!(["edit_files", "shell"]))
    );
    let ended = &event_data(&events, "turn.ended")[0];
    assert_eq!(ended["turn_id"], turn["turn_id"]);
    assert_eq!(ended["metadata"], json!({ "stop_reason": "end_turn" }));
}

#[tokio::test]
async fn a_call_has_its_input_and_a_title() {
    let test = TestRuntime::new().with_session().await;
    let turn = test.run_turn("tool").await;
    let call = &completed_items(&turn, "tool_call")[0]["content"][0];
    assert_eq!(call["title"], "Edit notes.txt and 1 more");
    let changes = &call["input"]["changes"];
    assert!(changes[1]["path"].as_str().is_some_and(|path| path.starts_with('/') && path.ends_with("/src/add.rs")));
    assert_eq!((&changes[0]["change"], &changes[1]["change"]), (&json!("create"), &json!("update")));
    assert_eq!(completed_items(&turn, "tool_result")[0]["content"][0]["output"], "");
}

#[tokio::test]
async fn permissions_and_questions_have_their_metadata() {
    let test = TestRuntime::new().with_session().await;
    test.send("permission").await.unwrap();
    let events = test.wait_for(is_nth("permission.requested", 2)).await;
    let requested = event_data(&events, "permission.requested");
    assert_eq!(requested[0]["action"], "Run make test");
    let metadata = &requested[0]["metadata"];
    assert_eq!(metadata["call_id"], completed_items(&events, "tool_call")[0]["content"][0]["call_id"]);
    assert_eq!(metadata["input"], json!({ "command": "make test" }));
    assert_eq!((&metadata["tool_kind"], &metadata["scopes"]), (&json!("command"), &json!(["once", "session"])));
    assert_eq!(requested[1]["action"], "Edit version.txt");
    test.runtime.interrupt(&"s".into()).await.unwrap();
    test.send("question").await.unwrap();
    let requested = event_data(&test.wait_for(is_nth("question.requested", 2)).await, "question.requested");
    assert_eq!(requested[0]["options"], json!(["SQLite", "Postgres"]));
    assert_eq!(
        requested[0]["metadata"],
        json!({
            "header": "Database", "multi_select": false, "free_text": false, "secret": false,
            "options": [
                { "label": "SQLite", "description": "One file, no server" },
                { "label": "Postgres", "description": "A server of its own" },
            ],
        })
    );
}

#[tokio::test]
async fn a_status_has_the_data_of_its_label_and_an_error_its_details() {
    let test = TestRuntime::with_scenario(
        r#"
        [[turn]]
        step = [
            { command = "status" },
            { status = { label = "retry", json = { attempt = 1, reason = "busy", code = "overloaded" } } },
            { status = { label = "model_changed", json = { to = "mock-2" } } },
            { error = { message = "no", code = "rate_limited", status = 429, type = "TooMany", retryable = true } },
        ]
        "#,
    )
    .with_session()
    .await;
    let turn = test.run_turn("go").await;
    let statuses = completed_items(&turn, "status");
    let details: Vec<_> =
        statuses.iter().map(|item| (item["content"][0]["detail"].as_str(), &item["content"][1]["json"])).collect();
    let steps = json!([{ "content": "look", "status": "completed" }, { "content": "leap", "status": "in_progress" }]);
    assert_eq!(
        details,
        [
            (Some("1 of 2 done"), &json!({ "steps": steps })),
            (Some("All is well."), &Value::Null),
            (Some("Retry 1: busy"), &json!({ "attempt": 1, "reason": "busy", "code": "overloaded" })),
            (Some("Model changed to mock-2"), &json!({ "to": "mock-2" })),
        ]
    );
    let details = json!({ "status": 429, "type": "TooMany", "retryable": true });
    assert_eq!(event_data(&turn, "error")[0]["details"], details);
    test.assert_no_violations().await;
}

#[tokio::test]
async fn the_end_command_completes_the_session() {
    let test = TestRuntime::new().with_session().await;
    test.send("end").await.unwrap();
    let events = test.wait_for(is_nth("session.ended", 1)).await;
    assert_eq!(turn_status(&events), Some(TurnStatus::Completed));
    let ended = serde_json::to_value(events.last().unwrap()).unwrap();
    assert_eq!(ended["data"], serde_json::json!({ "reason": "completed", "terminated_by": "agent" }));
    assert!(test.session("s").await.ended);
    test.assert_no_violations().await;
}

#[tokio::test]
async fn demo_has_every_event_type() {
    let test = TestRuntime::new().with_session().await;
    test.send("demo").await.unwrap();
    let id = "s".into();
    for permission in permission_ids(&test.wait_for(is_nth("permission.requested", 2)).await) {
        test.runtime.reply_permission(&id, &permission, PermissionReply::Once).await.unwrap();
    }
    for question in question_ids(&test.wait_for(is_nth("question.requested", 2)).await) {
        test.runtime.reply_question(&id, &question, vec!["Logs".to_owned()]).await.unwrap();
    }
    let events = test.wait_for(is_nth("session.ended", 1)).await;
    let found: BTreeSet<&str> = event_types(&events).into_iter().collect();
    let schema = interlingua_schema::json_schema();
    let schema_text = schema.as_value().to_string();
    let all: BTreeSet<&str> = [
        "agent.unparsed",
        "error",
        "item.completed",
        "item.delta",
        "item.started",
        "permission.requested",
        "permission.resolved",
        "question.requested",
        "question.resolved",
        "session.ended",
        "session.started",
        "turn.ended",
        "turn.started",
    ]
    .into();
    assert!(all.iter().all(|kind| schema_text.contains(&format!("\"{kind}\""))));
    assert_eq!(found, all);
    assert_eq!(turn_status(&events), Some(TurnStatus::Completed));
    test.assert_no_violations().await;
}

#[tokio::test]
async fn a_scenario_is_played_in_order_and_by_name() {
    let test = TestRuntime::with_scenario(
        r#"
        [[turn]]
        on = "deploy"
        step = [{ say = "Deploying." }]

        [[turn]]
        [[turn.step]]
        think = "hm"
        [[turn.step]]
        say = "First."
        [[turn.step]]
        tool = { name = "shell", kind = "command", arguments = { command = "false" }, exit_code = 1 }

        [[turn]]
        step = [{ command = "status" }, { say = "Second." }]
        "#,
    )
    .with_session()
    .await;
    assert_eq!(texts(&test.run_turn("a").await), ["a", "hm", "First."]);
    assert_eq!(texts(&test.run_turn("deploy now").await), ["deploy now", "Deploying."]);
    assert_eq!(texts(&test.run_turn("b").await)[2], "Second.");
    assert_eq!(texts(&test.run_turn("c").await), ["c", "c"]);
    test.assert_no_violations().await;
}
