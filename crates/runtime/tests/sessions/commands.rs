use std::collections::BTreeSet;

use interlingua_runtime::PermissionReply;
use interlingua_schema::{ContentPart, EventData, FileAction, ItemKind, NativeSessionId, TurnStatus};

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
            ContentPart::FileRef { action, diff, .. } => Some((*action, diff.is_some())),
            _ => None,
        })
        .collect();
    assert_eq!(files, [(FileAction::Read, false), (FileAction::Write, true), (FileAction::Patch, true)]);
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
