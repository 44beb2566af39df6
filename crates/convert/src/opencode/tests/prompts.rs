//! Prompts: each is shown once, in the turn that answers it.

use interlingua_schema::{ItemKind, Role, TurnStatus};
use serde_json::json;

use super::harness::{CREATED, Harness, texts_of};
use crate::opencode::DELETED_SESSION;

/// An automatic compaction with its summary.
fn compact_automatically(server: &mut Harness, overflow: bool) {
    let info = json!({ "id": "msg_c", "role": "user", "time": { "created": CREATED + 1 } });
    server.event("message.updated", json!({ "sessionID": "ses_1", "info": info }));
    let part = json!({ "id": "prt_c", "type": "compaction", "auto": true, "overflow": overflow });
    server.part("ses_1", "msg_c", part).agent_message("ses_1", "msg_s", "msg_c", &json!({ "summary": true }));
    server.text_part("ses_1", "msg_s", "prt_s", "so far");
    server.part("ses_1", "msg_s", json!({ "id": "prt_f", "type": "step-finish", "reason": "stop" }));
    server.complete_message("ses_1", "msg_s", "stop");
}

#[test]
fn a_prompt_repeated_after_a_compaction_is_shown_once() {
    let mut server = Harness::with_session("1.18.33");
    let error = json!({ "name": "ContextOverflowError", "data": { "message": "too long" } });
    server
        .prompt("a")
        .agent_message("ses_1", "msg_2", "msg_a", &json!({}))
        .complete_message("ses_1", "msg_2", "stop")
        .idle("ses_1");
    server.user_message("ses_1", "msg_b", "b");
    server.part("ses_1", "msg_b", json!({ "id": "prt_i", "type": "file", "mime": "image/png", "url": "data:," }));
    server.busy("ses_1").agent_message("ses_1", "msg_3", "msg_b", &json!({}));
    server
        .event("session.error", json!({ "sessionID": "ses_1", "error": error }))
        .complete_message("ses_1", "msg_3", "");
    compact_automatically(&mut server, true);
    server.user_message("ses_1", "msg_b2", "b");
    server.part("ses_1", "msg_b2", json!({ "id": "prt_i2", "type": "text", "text": "[Attached image/png: file]" }));
    server.event("session.compacted", json!({ "sessionID": "ses_1" })).busy("ses_1");
    server.agent_message("ses_1", "msg_4", "msg_b2", &json!({})).text_part("ses_1", "msg_4", "prt_4", "to b");
    server.complete_message("ses_1", "msg_4", "stop").idle("ses_1");
    let items = server.completed_items();
    assert_eq!(texts_of(&items, Role::User), ["a", "b"]);
    assert_eq!(texts_of(&items, Role::Assistant), ["to b"]);
    assert_eq!(server.turn_statuses(), [TurnStatus::Completed, TurnStatus::Completed]);
}

#[test]
fn a_prompt_during_an_automatic_compaction_joins_the_turn() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({})).complete_message(
        "ses_1",
        "msg_2",
        "tool-calls",
    );
    compact_automatically(&mut server, false);
    server.prompt("b");
    server.agent_message("ses_1", "msg_3", "msg_b", &json!({})).text_part("ses_1", "msg_3", "prt_3", "to both");
    server.complete_message("ses_1", "msg_3", "stop").idle("ses_1");
    assert_eq!(texts_of(&server.completed_items(), Role::User), ["a", "b"]);
    assert_eq!(server.turn_statuses(), [TurnStatus::Completed]);
}

/// Events of a shell command of the user.
fn run_shell_command(server: &mut Harness, message: &str, answer: &str) {
    let info = json!({ "id": message, "role": "user", "time": { "created": CREATED + 1 } });
    server.busy("ses_1").event("message.updated", json!({ "sessionID": "ses_1", "info": info }));
    let synthetic =
        json!({ "id": format!("prt_{message}"), "type": "text", "text": "The user ran a tool", "synthetic": true });
    server.part("ses_1", message, synthetic).agent_message("ses_1", answer, message, &json!({}));
    let part = json!({ "id": format!("prt_{answer}"), "type": "tool", "callID": answer, "tool": "bash", "state": { "status": "completed", "output": "a" } });
    server.part("ses_1", answer, part).complete_message("ses_1", answer, "").idle("ses_1");
}

#[test]
fn a_refused_shell_command_is_not_shown() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({}));
    server.exchange("POST", "/session/ses_1/shell", &json!({ "command": "ls" }), 400, &json!({ "message": "busy" }));
    server.complete_message("ses_1", "msg_2", "stop").idle("ses_1");
    server.request("POST", "/session/ses_1/shell", &json!({ "command": "pwd" }));
    run_shell_command(&mut server, "msg_u", "msg_3");
    assert_eq!(texts_of(&server.completed_items(), Role::User), ["a", "pwd"]);
    assert_eq!(server.turn_statuses(), [TurnStatus::Completed, TurnStatus::Completed]);
}

#[test]
fn the_first_prompt_of_a_session_from_before_the_log_is_shown() {
    let mut server = Harness::new();
    server.request("POST", "/session/ses_1/shell", &json!({ "command": "ls" }));
    run_shell_command(&mut server, "msg_u", "msg_2");
    assert_eq!(texts_of(&server.completed_items(), Role::User), ["ls"]);

    let mut server = Harness::new();
    let body = json!({ "parts": [{ "type": "text", "text": "hello?" }] });
    server.exchange("POST", "/session/ses_1/prompt_async", &body, 204, &json!(null));
    assert_eq!(texts_of(&server.completed_items(), Role::User), ["hello?"]);

    let mut server = Harness::new();
    server.request("POST", "/session/ses_1/message", &body);
    server.user_message("ses_1", "msg_u", "hello?").busy("ses_1").agent_message("ses_1", "msg_2", "msg_u", &json!({}));
    assert_eq!(texts_of(&server.completed_items(), Role::User), ["hello?"]);
}

#[test]
fn a_prompt_with_no_reply_is_its_own_turn() {
    let body = |text: &str| json!({ "noReply": true, "parts": [{ "type": "text", "text": text }] });
    let mut server = Harness::with_session("1.18.33");
    // The echo precedes the reply.
    let call = server.request("POST", "/session/ses_1/message", &body("a"));
    let info =
        |id: &str| json!({ "info": { "id": id, "role": "user", "time": { "created": CREATED + 1 } }, "parts": [] });
    server.user_message("ses_1", "msg_a", "a").reply(call, 200, &info("msg_a"));
    assert_eq!(server.turn_statuses(), [TurnStatus::Completed]);
    // The reply precedes the echo.
    let mut server = Harness::with_session("1.18.33");
    let part = |kind: &str| json!({ "id": format!("prt_{kind}"), "messageID": "msg_b", "type": "text", "text": "b", "synthetic": kind == "added" });
    let mut reply = info("msg_b");
    reply["parts"] = json!([part("msg_b"), part("added")]);
    server.exchange("POST", "/session/ses_1/message", &body("b"), 200, &reply);
    assert_eq!(server.turn_statuses(), [TurnStatus::Completed]);
    server.part("ses_1", "msg_b", part("added"));
    server.user_message("ses_1", "msg_b", "b");
    // The reply has no body.
    server.exchange("POST", "/session/ses_1/prompt_async", &body("c"), 204, &json!(null));
    server
        .user_message("ses_1", "msg_c", "c")
        .event("session.updated", json!({ "info": { "id": "ses_1", "title": "t" } }));
    server
        .prompt("d")
        .agent_message("ses_1", "msg_2", "msg_d", &json!({}))
        .complete_message("ses_1", "msg_2", "stop")
        .idle("ses_1");
    assert_eq!(texts_of(&server.completed_items(), Role::User), ["b", "c", "d"]);
    assert_eq!(server.completed_items().iter().filter(|item| item.kind == ItemKind::System).count(), 1);
    assert_eq!(server.turn_statuses(), [const { TurnStatus::Completed }; 3]);
}

#[test]
fn a_message_that_never_completes_does_not_delay_the_next_turn() {
    let mut server = Harness::with_session("1.18.33");
    server
        .prompt("a")
        .agent_message("ses_1", "msg_2", "msg_a", &json!({}))
        .text_part("ses_1", "msg_2", "prt_2", "to a");
    server.idle("ses_1").prompt("b").agent_message("ses_1", "msg_3", "msg_b", &json!({}));
    server.text_part("ses_1", "msg_3", "prt_3", "to b").complete_message("ses_1", "msg_3", "stop").idle("ses_1");
    let texts: Vec<String> = server.completed_items().iter().map(|item| item.streamed_text().collect()).collect();
    assert_eq!(texts, ["a", "to a", "b", "to b"]);
    assert_eq!(server.turn_statuses(), [const { TurnStatus::Completed }; 2]);
}

#[test]
fn an_abort_before_the_echo_is_not_an_error() {
    let mut server = Harness::with_session("1.18.33");
    let body = json!({ "parts": [{ "type": "text", "text": "a" }] });
    server.request("POST", "/session/ses_1/prompt_async", &body);
    server.request("POST", "/session/ses_1/abort", &json!(null));
    server.idle("ses_1").user_message("ses_1", "msg_a", "a").busy("ses_1").idle("ses_1");
    assert_eq!(server.error_messages(), [""; 0]);
    assert_eq!(server.turn_statuses(), [TurnStatus::Interrupted]);
}

#[test]
fn a_deleted_session_is_interrupted_and_its_later_events_are_dropped() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({}));
    server.part("ses_1", "msg_2", json!({ "id": "prt_2", "type": "text", "text": "so", "time": { "start": 1 } }));
    server.event("session.deleted", json!({ "sessionID": "ses_1", "info": { "id": "ses_1" } }));
    let aborted = json!({ "name": "MessageAbortedError", "data": { "message": "Aborted" } });
    server.event("session.error", json!({ "sessionID": "ses_1", "error": aborted }));
    server.text_part("ses_1", "msg_2", "prt_2", "so far").complete_message("ses_1", "msg_2", "stop").idle("ses_1");
    assert_eq!(server.turn_statuses(), [TurnStatus::Interrupted]);
    assert_eq!(texts_of(&server.completed_items(), Role::Assistant), ["so"]);
    assert_eq!(server.event_types().last(), Some(&"item.completed"));
    assert!(server.conversion.stats().dropped[DELETED_SESSION] >= 4);
}

#[test]
fn a_file_that_precedes_its_message_belongs_to_the_user() {
    let mut server = Harness::with_session("1.18.33");
    server.part("ses_1", "msg_a", json!({ "id": "prt_f", "type": "file", "mime": "image/png", "url": "data:," }));
    server.user_message("ses_1", "msg_a", "see").busy("ses_1");
    let items = server.completed_items();
    assert_eq!((items.len(), items[0].role.clone()), (1, Some(Role::User)));
    assert_eq!(items[0].content.len(), 2);
}
