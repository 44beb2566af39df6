use serde_json::{Value, json};

use super::{ONE_SHOT, SESSION, TestInput, assistant, convert, init, prompt, received, success, text_message};

fn stream_event(event: Value) -> TestInput {
    received(json!({ "type": "stream_event", "session_id": "s", "event": event, "parent_tool_use_id": null }))
}

fn message_start(id: &str) -> TestInput {
    stream_event(
        json!({ "type": "message_start", "message": { "id": id, "role": "assistant", "model": "opus", "content": [] } }),
    )
}

fn block_start(index: u64, block: Value) -> TestInput {
    stream_event(json!({ "type": "content_block_start", "index": index, "content_block": block }))
}

fn delta(index: u64, delta: Value) -> TestInput {
    stream_event(json!({ "type": "content_block_delta", "index": index, "delta": delta }))
}

#[test]
fn a_streamed_block_and_its_complete_line_are_one_item() {
    let converted = convert(
        &ONE_SHOT,
        &[
            init(),
            message_start("m"),
            block_start(0, json!({ "type": "thinking", "thinking": "" })),
            delta(0, json!({ "type": "thinking_delta", "thinking": "Hm" })),
            assistant("m", json!({ "type": "thinking", "thinking": "Hm" })),
            stream_event(json!({ "type": "content_block_stop", "index": 0 })),
            block_start(1, json!({ "type": "text", "text": "" })),
            delta(1, json!({ "type": "text_delta", "text": "Hel" })),
            delta(1, json!({ "type": "text_delta", "text": "lo" })),
            text_message("m", "Hello"),
            stream_event(json!({ "type": "content_block_stop", "index": 1 })),
            stream_event(json!({ "type": "message_stop" })),
            success("Hello"),
        ],
    );
    assert_eq!(
        converted.trace()[3..],
        ["message/assistant (Hm) public", "message/assistant Hello", "turn.ended completed"]
    );
    let deltas = converted.events.iter().filter(|event| event.data.kind() == "item.delta").count();
    assert_eq!(deltas, 4, "one of the prompt and three of the answer");
}

#[test]
fn two_text_blocks_of_one_message_are_two_items() {
    let converted = convert(&ONE_SHOT, &[init(), text_message("m", "A"), text_message("m", "B"), success("B")]);
    assert_eq!(converted.trace()[3..5], ["message/assistant A", "message/assistant B"]);
}

#[test]
fn blocks_of_a_dropped_connection_are_abandoned() {
    let stop = json!({
        "type": "stream_event", "session_id": "s", "event": { "type": "message_stop" },
        "abandoned_blocks": { "api_message_id": "m", "from_block_index": 0 },
    });
    let retry = json!({ "type": "system", "subtype": "api_retry", "session_id": "s", "attempt": 1, "max_retries": 2, "error": "unknown" });
    let converted = convert(
        &ONE_SHOT,
        &[
            init(),
            message_start("m"),
            block_start(0, json!({ "type": "text", "text": "" })),
            delta(0, json!({ "type": "text_delta", "text": "Lost" })),
            block_start(1, json!({ "type": "tool_use", "id": "t", "name": "Bash", "input": {} })),
            received(stop),
            received(retry),
            message_start("n"),
            block_start(0, json!({ "type": "text", "text": "" })),
            delta(0, json!({ "type": "text_delta", "text": "Fine" })),
            text_message("n", "Fine"),
            success("Fine"),
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
    assert_eq!(converted.trace()[3..], expected);
}

#[test]
fn redacted_and_hidden_thinking_is_private_and_empty() {
    let converted = convert(
        &ONE_SHOT,
        &[
            init(),
            assistant("m", json!({ "type": "redacted_thinking", "data": "x" })),
            assistant("m", json!({ "type": "thinking", "thinking": "", "signature": "x" })),
        ],
    );
    assert_eq!(converted.trace()[3..], ["message/assistant () private", "message/assistant () private"]);
}

#[test]
fn a_synthetic_user_line_is_a_system_message() {
    let line = json!({ "type": "user", "session_id": "s", "isSynthetic": true, "message": { "role": "user", "content": [{ "type": "text", "text": "Go on." }] } });
    let converted = convert(&ONE_SHOT, &[init(), text_message("m", "cut"), received(line)]);
    assert_eq!(converted.trace()[4..], ["system/system Go on."]);
}

#[test]
fn the_output_of_a_slash_command_is_a_system_message_and_its_answer_a_message() {
    let output = |text: &str| {
        received(
            json!({ "type": "user", "session_id": "s", "isReplay": true, "message": { "role": "user", "content": text } }),
        )
    };
    let answer = json!({
        "type": "assistant", "session_id": "s",
        "message": { "id": "x", "role": "assistant", "model": "<synthetic>", "content": [{ "type": "text", "text": "## Usage" }] },
    });
    let converted = convert(
        &ONE_SHOT,
        &[
            init(),
            output("<local-command-stdout>Compacted </local-command-stdout>"),
            received(answer),
            success("## Usage\n"),
        ],
    );
    let expected = ["system/system Compacted", "message/assistant ## Usage", "turn.ended completed"];
    assert_eq!(converted.trace()[3..], expected);
}

#[test]
fn images_and_documents_of_a_prompt_are_shown() {
    let image = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AA==" } });
    let pdf =
        json!({ "type": "document", "source": { "type": "base64", "media_type": "application/pdf", "data": "AA==" } });
    let source = json!({ "type": "text", "media_type": "text/plain", "data": "a – b\n" });
    let text = json!({ "type": "document", "source": source, "title": "notes.txt" });
    let converted = convert(&SESSION, &[prompt(json!([{ "type": "text", "text": "what" }, image, pdf, text])), init()]);
    let parts = [
        "*message/user what",
        "image image/png",
        "read data:application/pdf;base64,AA==",
        "read data:text/plain;charset=utf-8,a%20%E2%80%93%20b%0A",
    ];
    assert_eq!(converted.trace()[2], parts.join(" "));
}
