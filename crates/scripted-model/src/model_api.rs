//! The APIs with which agents call models.

pub(crate) mod anthropic;
pub(crate) mod chat;
pub(crate) mod responses;

use serde_json::Value;

use crate::conversation::Conversation;
use crate::reply::{Failure, Frame, Part, Piece, Usage};

/// An API with which agents call models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModelApi {
    /// Anthropic Messages.
    Anthropic,
    /// `OpenAI` Responses.
    Responses,
    /// `OpenAI` Chat Completions.
    Chat,
}

/// A response to encode.
#[derive(Clone, Debug)]
pub(crate) struct ModelResponse<'a> {
    /// Unique suffix of the ids in it.
    pub(crate) id: &'a str,
    /// Name of the model.
    pub(crate) model: &'a str,
    /// Content.
    pub(crate) parts: &'a [Part],
}

impl ModelResponse<'_> {
    pub(crate) fn usage(&self) -> Usage {
        Usage::count(self.parts)
    }

    pub(crate) fn has_tool_calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::ToolCall(_)))
    }
}

/// The string in a value; empty if the value is not a string.
fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl ModelApi {
    /// Parses the body of a request.
    pub(crate) fn parse_request(self, body: &Value) -> Conversation {
        match self {
            Self::Anthropic => anthropic::parse_request(body),
            Self::Responses => responses::parse_request(body),
            Self::Chat => chat::parse_request(body),
        }
    }

    /// Encodes a response as a stream of events.
    pub(crate) fn encode_stream(self, response: &ModelResponse<'_>) -> Vec<Frame> {
        match self {
            Self::Anthropic => anthropic::encode_stream(response),
            Self::Responses => responses::encode_stream(response),
            Self::Chat => chat::encode_stream(response),
        }
    }

    /// Encodes a response as one body.
    pub(crate) fn encode_body(self, response: &ModelResponse<'_>) -> Value {
        match self {
            Self::Anthropic => anthropic::encode_body(response),
            Self::Responses => responses::encode_body(response),
            Self::Chat => chat::encode_body(response),
        }
    }

    /// The body of an HTTP error.
    pub(crate) fn error_body(self, status: u16, message: &str) -> Value {
        let kind = error_type(status);
        match self {
            Self::Anthropic => anthropic::error_body(kind, message),
            Self::Responses | Self::Chat => {
                serde_json::json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
            }
        }
    }

    /// Prefix of the ids of tool calls.
    pub(crate) fn call_id_prefix(self) -> &'static str {
        match self {
            Self::Anthropic => "toolu_",
            Self::Responses | Self::Chat => "call_",
        }
    }
}

/// The error type that the APIs send with an HTTP status.
fn error_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

/// Writes pieces of text or reasoning to a stream: each chunk with `write_delta`, an error with `write_error`. Returns
/// whether the text fails. Then the enclosing block is not closed.
fn write_pieces<S>(
    stream: &mut S,
    pieces: &[Piece],
    frames: impl Fn(&mut S) -> &mut Vec<Frame>,
    mut write_delta: impl FnMut(&mut S, &str),
    write_error: impl FnOnce(&mut S, &str),
) -> bool {
    for piece in pieces {
        match piece {
            Piece::Chunk(text) => write_delta(stream, text),
            Piece::Wait(wait) => frames(stream).push(Frame::Wait(wait.clone())),
            Piece::Failure(Failure::Disconnect) => frames(stream).push(Frame::Disconnect),
            Piece::Failure(Failure::Stall) => frames(stream).push(Frame::Stall),
            Piece::Failure(Failure::Error(message)) => {
                write_error(stream, message);
                return true;
            }
        }
        if matches!(piece, Piece::Failure(_)) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::reply::{ToolCall, ToolInput, Wait};
    use crate::scenario::StopReason;

    fn pieces(chunks: &[&str], last: Option<Piece>) -> Vec<Piece> {
        chunks.iter().map(|chunk| Piece::Chunk((*chunk).to_owned())).chain(last).collect()
    }

    fn tool_call(id: &str, name: &str, input: ToolInput) -> Part {
        Part::ToolCall(ToolCall { id: id.to_owned(), name: name.to_owned(), namespace: None, input })
    }

    /// The encoded stream as text, with its pauses and failures in brackets.
    fn encode_stream(api: ModelApi, parts: &[Part]) -> String {
        let response = ModelResponse { id: "t1_0", model: "scripted", parts };
        let frames = api.encode_stream(&response).into_iter().map(|frame| match frame {
            Frame::Bytes(bytes) => bytes,
            other => format!("[{other:?}]\n"),
        });
        frames.collect()
    }

    fn all_parts() -> Vec<Part> {
        vec![
            Part::Reasoning(pieces(&["Let me ", "think."], None)),
            Part::Text(pieces(&["Now ", "this."], Some(Piece::Wait(Wait::Pause(Duration::from_millis(20)))))),
            tool_call("x_t1_0_0", "run", ToolInput::Json("{\"command\":\"ls -la /somewhere/else\"}".to_owned())),
            tool_call("x_t1_0_1", "apply_patch", ToolInput::Text("*** Begin Patch\n*** End Patch".to_owned())),
        ]
    }

    #[test]
    fn anthropic_messages_as_bytes() {
        insta::assert_snapshot!(encode_stream(ModelApi::Anthropic, &all_parts()));
    }

    #[test]
    fn openai_responses_as_bytes() {
        insta::assert_snapshot!(encode_stream(ModelApi::Responses, &all_parts()));
    }

    #[test]
    fn chat_completions_as_bytes() {
        insta::assert_snapshot!(encode_stream(ModelApi::Chat, &all_parts()));
    }

    #[test]
    fn every_api_encodes_failures_and_early_stops() {
        let failing = |failure| vec![Part::Text(pieces(&["Half"], Some(Piece::Failure(failure))))];
        let stopped = |reason| vec![Part::Text(pieces(&["Half"], None)), Part::Stop(reason)];
        for (name, parts) in [
            ("disconnect", failing(Failure::Disconnect)),
            ("stall", failing(Failure::Stall)),
            ("error", failing(Failure::Error("Too much".to_owned()))),
            ("length", stopped(StopReason::Length)),
            ("refusal", stopped(StopReason::Refusal)),
        ] {
            let all = [ModelApi::Anthropic, ModelApi::Responses, ModelApi::Chat]
                .map(|api| format!("--- {api:?}\n{}", encode_stream(api, &parts)));
            insta::assert_snapshot!(format!("incomplete_{name}"), all.concat());
        }
    }

    #[test]
    fn a_response_in_one_body_has_the_same_parts() {
        for api in [ModelApi::Anthropic, ModelApi::Responses, ModelApi::Chat] {
            let parts = all_parts();
            let body = api.encode_body(&ModelResponse { id: "t1_0", model: "scripted", parts: &parts });
            insta::assert_snapshot!(format!("whole_{api:?}"), format!("{body:#}"));
        }
    }
}
