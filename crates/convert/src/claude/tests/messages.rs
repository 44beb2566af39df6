use serde_json::{Value, json};

use super::{ONE_SHOT, SESSION, Step, assistant, done, init, play, recv, says, user};

fn stream(event: Value) -> Step {
    recv(json!({ "type": "stream_event", "session_id": "s", "event": event, "parent_tool_use_id": null }))
}

fn begins(id: &str) -> Step {
    stream(
        json!({ "type": "message_start", "message": { "id": id, "role": "assistant", "model": "opus", "content": [] } }),
    )
}

fn block(index: u64, block: Value) -> Step {
    stream(json!({ "type": "content_block_start", "index": index, "content_block": block }))
}

fn delta(index: u64, delta: Value) -> Step {
    stream(json!({ "type": "content_block_delta", "index": index, "delta": delta }))
}

#[test]
fn a_streamed_block_is_one_item_with_its_whole_line() {
    let played = play(
        &ONE_SHOT,
        &[
            init(),
            begins("m"),
            block(0, json!({ "type": "thinking", "thinking": "" })),
            delta(0, json!({ "type": "thinking_delta", "thinking": "Hm" })),
            assistant("m", json!({ "type": "thinking", "thinking": "Hm" })),
            stream(json!({ "type": "content_block_stop", "index": 0 })),
            block(1, json!({ "type": "text", "text": "" })),
            delta(1, json!({ "type": "text_delta", "text": "Hel" })),
            delta(1, json!({ "type": "text_delta", "text": "lo" })),
            says("m", "Hello"),
            stream(json!({ "type": "content_block_stop", "index": 1 })),
            stream(json!({ "type": "message_stop" })),
            done("Hello"),
        ],
    );
    assert_eq!(
        played.trace()[3..],
        ["message/assistant (Hm) public", "message/assistant Hello", "turn.ended completed"]
    );
    let deltas = played.events.iter().filter(|event| event.data.kind() == "item.delta").count();
    assert_eq!(deltas, 4, "the prompt's, and three that were streamed");
}

#[test]
fn two_text_blocks_of_one_message_are_two_items() {
    let played = play(&ONE_SHOT, &[init(), says("m", "A"), says("m", "B"), done("B")]);
    assert_eq!(played.trace()[3..5], ["message/assistant A", "message/assistant B"]);
}

#[test]
fn what_a_dropped_connection_left_is_taken_back() {
    let stop = json!({
        "type": "stream_event", "session_id": "s", "event": { "type": "message_stop" },
        "abandoned_blocks": { "api_message_id": "m", "from_block_index": 0 },
    });
    let retry = json!({ "type": "system", "subtype": "api_retry", "session_id": "s", "attempt": 1, "max_retries": 2, "error": "unknown" });
    let played = play(
        &ONE_SHOT,
        &[
            init(),
            begins("m"),
            block(0, json!({ "type": "text", "text": "" })),
            delta(0, json!({ "type": "text_delta", "text": "Lost" })),
            block(1, json!({ "type": "tool_use", "id": "t", "name": "Bash", "input": {} })),
            recv(stop),
            recv(retry),
            begins("n"),
            block(0, json!({ "type": "text", "text": "" })),
            delta(0, json!({ "type": "text_delta", "text": "Fine" })),
            says("n", "Fine"),
            done("Fine"),
        ],
    );
    let expected = [
        "message/assistant! Lost",
        "*tool_call/assistant! Bash {}",
        "*tool_result/tool! []",
        "status retry: Retry 1 of 2: unknown {}",
        "message/assistant Fine",
        "turn.ended completed",
    ];
    assert_eq!(played.trace()[3..], expected);
}

#[test]
fn redacted_and_hidden_thinking_is_private_and_empty() {
    let played = play(
        &ONE_SHOT,
        &[
            init(),
            assistant("m", json!({ "type": "redacted_thinking", "data": "x" })),
            assistant("m", json!({ "type": "thinking", "thinking": "", "signature": "x" })),
        ],
    );
    assert_eq!(played.trace()[3..], ["message/assistant () private", "message/assistant () private"]);
}

#[test]
fn what_the_agent_puts_in_the_users_mouth_is_a_system_message() {
    let line = json!({ "type": "user", "session_id": "s", "isSynthetic": true, "message": { "role": "user", "content": [{ "type": "text", "text": "Go on." }] } });
    let played = play(&ONE_SHOT, &[init(), says("m", "cut"), recv(line)]);
    assert_eq!(played.trace()[4..], ["system/system Go on."]);
}

#[test]
fn a_slash_commands_output_is_a_system_message_and_its_made_up_answer_a_message() {
    let output = |text: &str| {
        recv(
            json!({ "type": "user", "session_id": "s", "isReplay": true, "message": { "role": "user", "content": text } }),
        )
    };
    let answer = json!({
        "type": "assistant", "session_id": "s",
        "message": { "id": "x", "role": "assistant", "model": "<synthetic>", "content": [{ "type": "text", "text": "## Usage" }] },
    });
    let played = play(
        &ONE_SHOT,
        &[init(), output("<local-command-stdout>Compacted </local-command-stdout>"), recv(answer), done("## Usage\n")],
    );
    let expected = ["system/system Compacted", "message/assistant ## Usage", "turn.ended completed"];
    assert_eq!(played.trace()[3..], expected);
}

#[test]
fn images_and_documents_of_a_prompt_are_shown() {
    let image = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AA==" } });
    let pdf =
        json!({ "type": "document", "source": { "type": "base64", "media_type": "application/pdf", "data": "AA==" } });
    let source = json!({ "type": "text", "media_type": "text/plain", "data": "a – b\n" });
    let text = json!({ "type": "document", "source": source, "title": "notes.txt" });
    let played = play(&SESSION, &[user(json!([{ "type": "text", "text": "what" }, image, pdf, text])), init()]);
    let parts = [
        "*message/user what",
        "image image/png",
        "read data:application/pdf;base64,AA==",
        "read data:text/plain;charset=utf-8,a%20%E2%80%93%20b%0A",
    ];
    assert_eq!(played.trace()[2], parts.join(" "));
}
