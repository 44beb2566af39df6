use std::collections::BTreeSet;

use interlingua_runtime::PermissionReply;
use interlingua_schema::{ContentPart, EventData, FileAction, ItemKind, NativeSessionId, TurnStatus, UniversalEvent};
use serde_json::{Value, json};

use crate::stage::{Stage, kinds, nth, permissions, questions, said, status};

#[tokio::test]
async fn every_turn_of_every_simple_command_ends_and_keeps_the_rules() {
    let stage = Stage::new().created().await;
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
        let turn = stage.turn(command).await;
        assert_eq!(status(&turn), Some(expected), "{command}");
        assert_eq!(said(&turn)[0], command, "the user's message comes first");
    }
    stage.assert_rules().await;
    let events = stage.events().await;
    let native: NativeSessionId = "mock-s".into();
    assert!(events.iter().all(|event| event.native_session_id.as_ref() == Some(&native)));
    assert!(events.iter().all(|event| event.session_id.as_str() == "s"));
}

#[tokio::test]
async fn what_is_no_command_is_echoed() {
    let stage = Stage::new().created().await;
    for (message, answer) in [("hello", "hello"), ("echo a b", "a b"), ("say c", "c")] {
        assert_eq!(said(&stage.turn(message).await), [message, answer]);
    }
}

#[tokio::test]
async fn markdown_streams_in_eight_deltas() {
    let stage = Stage::new().created().await;
    let turn = stage.turn("markdown").await;
    let users = turn.iter().position(|event| event.data.kind() == "item.completed").unwrap();
    let deltas = turn[users..].iter().filter(|event| event.data.kind() == "item.delta").count();
    assert_eq!(deltas, 8);
}

#[tokio::test]
async fn a_tool_reads_writes_and_patches() {
    let stage = Stage::new().created().await;
    let turn = stage.turn("tool").await;
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

/// The data of each event of this kind, as JSON.
fn data_of(events: &[UniversalEvent], kind: &str) -> Vec<Value> {
    let meant = events.iter().filter(|event| event.data.kind() == kind);
    meant.map(|event| serde_json::to_value(event).unwrap()["data"].take()).collect()
}

/// The items of this kind that completed, as JSON.
fn items(events: &[UniversalEvent], kind: &str) -> Vec<Value> {
    let completed = data_of(events, "item.completed").into_iter().map(|mut data| data["item"].take());
    completed.filter(|item| item["kind"] == kind).collect()
}

#[tokio::test]
async fn a_session_and_its_turns_say_what_is_known() {
    let stage = Stage::new().created().await;
    stage.turn("hello").await;
    let events = stage.events().await;
    let session = &data_of(&events, "session.started")[0]["metadata"];
    assert_eq!(session["agent"], "mock");
    assert!(session["cwd"].as_str().is_some_and(|cwd| cwd.starts_with('/')), "{session}");
    let turn = &data_of(&events, "turn.started")[0];
    let metadata = &turn["metadata"];
    assert_eq!((&metadata["model"], &metadata["agent_mode"]), (&json!("mock"), &json!("build")));
    assert_eq!(
        (&metadata["permission_mode"], &metadata["tools"]),
        (&json!("default"), &json!(["edit_files", "shell"]))
    );
    let ended = &data_of(&events, "turn.ended")[0];
    assert_eq!(ended["turn_id"], turn["turn_id"]);
    assert_eq!(ended["metadata"], json!({ "stop_reason": "end_turn" }));
}

#[tokio::test]
async fn a_call_has_its_input_and_a_title() {
    let stage = Stage::new().created().await;
    let turn = stage.turn("tool").await;
    let call = &items(&turn, "tool_call")[0]["content"][0];
    assert_eq!(call["title"], "Edit notes.txt and 1 more");
    let changes = &call["input"]["changes"];
    assert!(changes[1]["path"].as_str().is_some_and(|path| path.starts_with('/') && path.ends_with("/src/add.rs")));
    assert_eq!((&changes[0]["change"], &changes[1]["change"]), (&json!("create"), &json!("update")));
    assert_eq!(items(&turn, "tool_result")[0]["content"][0]["output"], "");
}

#[tokio::test]
async fn permissions_and_questions_say_what_they_are_about() {
    let stage = Stage::new().created().await;
    stage.send("permission").await.unwrap();
    let events = stage.until(nth("permission.requested", 2)).await;
    let asked = data_of(&events, "permission.requested");
    assert_eq!(asked[0]["action"], "Run make test");
    let metadata = &asked[0]["metadata"];
    assert_eq!(metadata["call_id"], items(&events, "tool_call")[0]["content"][0]["call_id"]);
    assert_eq!(metadata["input"], json!({ "command": "make test" }));
    assert_eq!((&metadata["tool_kind"], &metadata["scopes"]), (&json!("command"), &json!(["once", "session"])));
    assert_eq!(asked[1]["action"], "Edit version.txt");
    stage.runtime.interrupt(&"s".into()).await.unwrap();
    stage.send("question").await.unwrap();
    let asked = data_of(&stage.until(nth("question.requested", 2)).await, "question.requested");
    assert_eq!(asked[0]["options"], json!(["SQLite", "Postgres"]));
    assert_eq!(
        asked[0]["metadata"],
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
    let stage = Stage::playing(
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
    .created()
    .await;
    let turn = stage.turn("go").await;
    let statuses = items(&turn, "status");
    let told: Vec<_> =
        statuses.iter().map(|item| (item["content"][0]["detail"].as_str(), &item["content"][1]["json"])).collect();
    let steps = json!([{ "content": "look", "status": "completed" }, { "content": "leap", "status": "in_progress" }]);
    assert_eq!(
        told,
        [
            (Some("1 of 2 done"), &json!({ "steps": steps })),
            (Some("All is well."), &Value::Null),
            (Some("Retry 1: busy"), &json!({ "attempt": 1, "reason": "busy", "code": "overloaded" })),
            (Some("Model changed to mock-2"), &json!({ "to": "mock-2" })),
        ]
    );
    let details = json!({ "status": 429, "type": "TooMany", "retryable": true });
    assert_eq!(data_of(&turn, "error")[0]["details"], details);
    stage.assert_rules().await;
}

#[tokio::test]
async fn end_ends_the_session_in_good_order() {
    let stage = Stage::new().created().await;
    stage.send("end").await.unwrap();
    let events = stage.until(nth("session.ended", 1)).await;
    assert_eq!(status(&events), Some(TurnStatus::Completed));
    let ended = serde_json::to_value(events.last().unwrap()).unwrap();
    assert_eq!(ended["data"], serde_json::json!({ "reason": "completed", "terminated_by": "agent" }));
    assert!(stage.session("s").await.ended);
    stage.assert_rules().await;
}

#[tokio::test]
async fn demo_has_every_event_type() {
    let stage = Stage::new().created().await;
    stage.send("demo").await.unwrap();
    let id = "s".into();
    for permission in permissions(&stage.until(nth("permission.requested", 2)).await) {
        stage.runtime.reply_permission(&id, &permission, PermissionReply::Once).await.unwrap();
    }
    for question in questions(&stage.until(nth("question.requested", 2)).await) {
        stage.runtime.reply_question(&id, &question, vec!["Logs".to_owned()]).await.unwrap();
    }
    let events = stage.until(nth("session.ended", 1)).await;
    let found: BTreeSet<&str> = kinds(&events).into_iter().collect();
    let schema = interlingua_schema::json_schema();
    let text = schema.as_value().to_string();
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
    assert!(all.iter().all(|kind| text.contains(&format!("\"{kind}\""))));
    assert_eq!(found, all);
    assert_eq!(status(&events), Some(TurnStatus::Completed));
    stage.assert_rules().await;
}

#[tokio::test]
async fn a_scenario_is_played_in_order_and_by_name() {
    let stage = Stage::playing(
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
    .created()
    .await;
    assert_eq!(said(&stage.turn("a").await), ["a", "hm", "First."]);
    assert_eq!(said(&stage.turn("deploy now").await), ["deploy now", "Deploying."]);
    assert_eq!(said(&stage.turn("b").await)[2], "Second.");
    assert_eq!(said(&stage.turn("c").await), ["c", "c"]);
    stage.assert_rules().await;
}
