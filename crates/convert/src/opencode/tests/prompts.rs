//! What becomes of a prompt: said once, in the turn that answers it.

use interlingua_schema::{ItemKind, Role, TurnStatus};
use serde_json::json;

use super::play::{CREATED, Play, said};
use crate::opencode::DELETED;

/// A compaction that OpenCode makes by itself, because the conversation is too long to be sent, and its summary.
fn makes_room(play: &mut Play, overflow: bool) {
    let info = json!({ "id": "msg_c", "role": "user", "time": { "created": CREATED + 1 } });
    play.say("message.updated", json!({ "sessionID": "ses_1", "info": info }));
    let part = json!({ "id": "prt_c", "type": "compaction", "auto": true, "overflow": overflow });
    play.part("ses_1", "msg_c", part).answer("ses_1", "msg_s", "msg_c", &json!({ "summary": true }));
    play.text("ses_1", "msg_s", "prt_s", "so far");
    play.part("ses_1", "msg_s", json!({ "id": "prt_f", "type": "step-finish", "reason": "stop" }));
    play.done("ses_1", "msg_s", "stop");
}

#[test]
fn a_prompt_that_is_said_again_after_a_compaction_is_shown_once() {
    let mut play = Play::begun("1.18.33");
    let error = json!({ "name": "ContextOverflowError", "data": { "message": "too long" } });
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({})).done("ses_1", "msg_2", "stop").idle("ses_1");
    play.user("ses_1", "msg_b", "b");
    play.part("ses_1", "msg_b", json!({ "id": "prt_i", "type": "file", "mime": "image/png", "url": "data:," }));
    play.busy("ses_1").answer("ses_1", "msg_3", "msg_b", &json!({}));
    play.say("session.error", json!({ "sessionID": "ses_1", "error": error })).done("ses_1", "msg_3", "");
    makes_room(&mut play, true);
    play.user("ses_1", "msg_b2", "b");
    play.part("ses_1", "msg_b2", json!({ "id": "prt_i2", "type": "text", "text": "[Attached image/png: file]" }));
    play.say("session.compacted", json!({ "sessionID": "ses_1" })).busy("ses_1");
    play.answer("ses_1", "msg_4", "msg_b2", &json!({})).text("ses_1", "msg_4", "prt_4", "to b");
    play.done("ses_1", "msg_4", "stop").idle("ses_1");
    let items = play.completed();
    assert_eq!(said(&items, Role::User), ["a", "b"]);
    assert_eq!(said(&items, Role::Assistant), ["to b"]);
    assert_eq!(play.turns(), [TurnStatus::Completed, TurnStatus::Completed]);
}

#[test]
fn a_prompt_during_an_automatic_compaction_joins_the_turn() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({})).done("ses_1", "msg_2", "tool-calls");
    makes_room(&mut play, false);
    play.prompt_sent("b");
    play.answer("ses_1", "msg_3", "msg_b", &json!({})).text("ses_1", "msg_3", "prt_3", "to both");
    play.done("ses_1", "msg_3", "stop").idle("ses_1");
    assert_eq!(said(&play.completed(), Role::User), ["a", "b"]);
    assert_eq!(play.turns(), [TurnStatus::Completed]);
}

/// What OpenCode says when the user runs a command.
fn runs(play: &mut Play, message: &str, answer: &str) {
    let info = json!({ "id": message, "role": "user", "time": { "created": CREATED + 1 } });
    play.busy("ses_1").say("message.updated", json!({ "sessionID": "ses_1", "info": info }));
    let told =
        json!({ "id": format!("prt_{message}"), "type": "text", "text": "The user ran a tool", "synthetic": true });
    play.part("ses_1", message, told).answer("ses_1", answer, message, &json!({}));
    let part = json!({ "id": format!("prt_{answer}"), "type": "tool", "callID": answer, "tool": "bash", "state": { "status": "completed", "output": "a" } });
    play.part("ses_1", answer, part).done("ses_1", answer, "").idle("ses_1");
}

#[test]
fn a_command_that_is_refused_is_not_shown_with_the_next() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({}));
    play.ask("POST", "/session/ses_1/shell", &json!({ "command": "ls" }), 400, &json!({ "message": "busy" }));
    play.done("ses_1", "msg_2", "stop").idle("ses_1");
    play.request("POST", "/session/ses_1/shell", &json!({ "command": "pwd" }));
    runs(&mut play, "msg_u", "msg_3");
    assert_eq!(said(&play.completed(), Role::User), ["a", "pwd"]);
    assert_eq!(play.turns(), [TurnStatus::Completed, TurnStatus::Completed]);
}

#[test]
fn the_first_prompt_of_a_session_from_before_the_log_is_shown() {
    let mut play = Play::new();
    play.request("POST", "/session/ses_1/shell", &json!({ "command": "ls" }));
    runs(&mut play, "msg_u", "msg_2");
    assert_eq!(said(&play.completed(), Role::User), ["ls"]);

    let mut play = Play::new();
    let body = json!({ "parts": [{ "type": "text", "text": "hello?" }] });
    play.ask("POST", "/session/ses_1/prompt_async", &body, 204, &json!(null));
    assert_eq!(said(&play.completed(), Role::User), ["hello?"]);

    let mut play = Play::new();
    play.request("POST", "/session/ses_1/message", &body);
    play.user("ses_1", "msg_u", "hello?").busy("ses_1").answer("ses_1", "msg_2", "msg_u", &json!({}));
    assert_eq!(said(&play.completed(), Role::User), ["hello?"]);
}

#[test]
fn a_prompt_that_wants_no_answer_is_a_turn_of_its_own() {
    let body = |text: &str| json!({ "noReply": true, "parts": [{ "type": "text", "text": text }] });
    let mut play = Play::begun("1.18.33");
    // Repeated, then answered.
    let call = play.request("POST", "/session/ses_1/message", &body("a"));
    let info =
        |id: &str| json!({ "info": { "id": id, "role": "user", "time": { "created": CREATED + 1 } }, "parts": [] });
    play.user("ses_1", "msg_a", "a").reply(call, 200, &info("msg_a"));
    assert_eq!(play.turns(), [TurnStatus::Completed]);
    // Answered, then repeated.
    let mut play = Play::begun("1.18.33");
    let part = |kind: &str| json!({ "id": format!("prt_{kind}"), "messageID": "msg_b", "type": "text", "text": "b", "synthetic": kind == "added" });
    let mut kept = info("msg_b");
    kept["parts"] = json!([part("msg_b"), part("added")]);
    play.ask("POST", "/session/ses_1/message", &body("b"), 200, &kept);
    assert_eq!(play.turns(), [TurnStatus::Completed]);
    play.part("ses_1", "msg_b", part("added"));
    play.user("ses_1", "msg_b", "b");
    // Only repeated.
    play.ask("POST", "/session/ses_1/prompt_async", &body("c"), 204, &json!(null));
    play.user("ses_1", "msg_c", "c").say("session.updated", json!({ "info": { "id": "ses_1", "title": "t" } }));
    play.prompt_sent("d").answer("ses_1", "msg_2", "msg_d", &json!({})).done("ses_1", "msg_2", "stop").idle("ses_1");
    assert_eq!(said(&play.completed(), Role::User), ["b", "c", "d"]);
    assert_eq!(play.completed().iter().filter(|item| item.kind == ItemKind::System).count(), 1);
    assert_eq!(play.turns(), [const { TurnStatus::Completed }; 3]);
}

#[test]
fn a_message_that_never_completes_does_not_hold_up_the_next_turn() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({})).text("ses_1", "msg_2", "prt_2", "to a");
    play.idle("ses_1").prompt_sent("b").answer("ses_1", "msg_3", "msg_b", &json!({}));
    play.text("ses_1", "msg_3", "prt_3", "to b").done("ses_1", "msg_3", "stop").idle("ses_1");
    let texts: Vec<String> = play.completed().iter().map(|item| item.streamed_text().collect()).collect();
    assert_eq!(texts, ["a", "to a", "b", "to b"]);
    assert_eq!(play.turns(), [const { TurnStatus::Completed }; 2]);
}

#[test]
fn an_abort_before_the_prompt_is_repeated_is_no_silence() {
    let mut play = Play::begun("1.18.33");
    let body = json!({ "parts": [{ "type": "text", "text": "a" }] });
    play.request("POST", "/session/ses_1/prompt_async", &body);
    play.request("POST", "/session/ses_1/abort", &json!(null));
    play.idle("ses_1").user("ses_1", "msg_a", "a").busy("ses_1").idle("ses_1");
    assert_eq!(play.errors(), [""; 0]);
    assert_eq!(play.turns(), [TurnStatus::Interrupted]);
}

#[test]
fn a_session_that_is_deleted_is_interrupted_and_says_no_more() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({}));
    play.part("ses_1", "msg_2", json!({ "id": "prt_2", "type": "text", "text": "so", "time": { "start": 1 } }));
    play.say("session.deleted", json!({ "sessionID": "ses_1", "info": { "id": "ses_1" } }));
    let aborted = json!({ "name": "MessageAbortedError", "data": { "message": "Aborted" } });
    play.say("session.error", json!({ "sessionID": "ses_1", "error": aborted }));
    play.text("ses_1", "msg_2", "prt_2", "so far").done("ses_1", "msg_2", "stop").idle("ses_1");
    assert_eq!(play.turns(), [TurnStatus::Interrupted]);
    assert_eq!(said(&play.completed(), Role::Assistant), ["so"]);
    assert_eq!(play.kinds().last(), Some(&"item.completed"));
    assert!(play.stream.stats().dropped[DELETED] >= 4);
}

#[test]
fn a_file_that_comes_before_its_message_is_the_users() {
    let mut play = Play::begun("1.18.33");
    play.part("ses_1", "msg_a", json!({ "id": "prt_f", "type": "file", "mime": "image/png", "url": "data:," }));
    play.user("ses_1", "msg_a", "see").busy("ses_1");
    let items = play.completed();
    assert_eq!((items.len(), items[0].role.clone()), (1, Some(Role::User)));
    assert_eq!(items[0].content.len(), 2);
}
