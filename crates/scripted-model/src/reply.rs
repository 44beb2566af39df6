//! A reply with resolved tool calls, before it is encoded for an API.

use std::time::Duration;

use crate::scenario::{StopReason, StreamedText};

/// A part of a reply.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    /// Text of the assistant.
    Text(Vec<Piece>),
    /// Reasoning.
    Reasoning(Vec<Piece>),
    /// A tool call.
    ToolCall(ToolCall),
    /// A pause between two parts.
    Wait(Wait),
    /// A failure between two parts.
    Failure(Failure),
    /// The reply stops early.
    Stop(StopReason),
}

/// A piece of text or reasoning. A pause or failure that follows a text belongs to it, because real streams also stall
/// and break in the middle of a text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece {
    /// Some of the text.
    Chunk(String),
    /// A pause.
    Wait(Wait),
    /// A failure, which ends the reply.
    Failure(Failure),
}

/// A pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// For a fixed time.
    Pause(Duration),
    /// Until the turn of this session, or the sub-agent with this label, has ended.
    ForTurn(String),
}

/// How a reply fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The connection is reset.
    Disconnect,
    /// Nothing more is sent.
    Stall,
    /// The stream ends with an error event.
    Error(String),
}

/// A tool call as the agent receives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolCall {
    /// Id of the call.
    pub(crate) id: String,
    /// Name of the tool.
    pub(crate) name: String,
    /// Namespace of the tool.
    pub(crate) namespace: Option<String>,
    /// Input of the tool.
    pub(crate) input: ToolInput,
}

/// Input of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ToolInput {
    /// Arguments: JSON, unless the scenario sends malformed ones.
    Json(String),
    /// Plain text.
    Text(String),
}

impl ToolInput {
    /// The input as it is sent.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Json(text) | Self::Text(text) => text,
        }
    }
}

/// A step of sending a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// Sends these bytes.
    Bytes(String),
    /// Waits.
    Wait(Wait),
    /// Sends nothing more but keeps the connection open.
    Stall,
    /// Resets the connection.
    Disconnect,
}

/// Splits a text into its chunks and the pauses between them.
pub(crate) fn to_pieces(text: &StreamedText) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for chunk in &text.chunks {
        if !pieces.is_empty() && !text.interval.is_zero() {
            pieces.push(Piece::Wait(Wait::Pause(text.interval)));
        }
        pieces.push(Piece::Chunk(chunk.clone()));
    }
    pieces
}

/// Joins the chunks of a text.
pub(crate) fn join_text(pieces: &[Piece]) -> String {
    chunks(pieces).collect()
}

fn chunks(pieces: &[Piece]) -> impl Iterator<Item = &str> {
    pieces.iter().filter_map(|piece| match piece {
        Piece::Chunk(text) => Some(text.as_str()),
        Piece::Wait(_) | Piece::Failure(_) => None,
    })
}

/// Adds a part to a reply. Text of the same kind, and a pause or failure after a text, extend the last part.
pub(crate) fn push_part(parts: &mut Vec<Part>, part: Part) {
    match (parts.last_mut(), part) {
        (Some(Part::Text(pieces) | Part::Reasoning(pieces)), Part::Wait(wait)) => pieces.push(Piece::Wait(wait)),
        (Some(Part::Text(pieces) | Part::Reasoning(pieces)), Part::Failure(failure)) => {
            pieces.push(Piece::Failure(failure));
        }
        (Some(Part::Text(pieces)), Part::Text(more)) | (Some(Part::Reasoning(pieces)), Part::Reasoning(more)) => {
            pieces.extend(more);
        }
        (_, part) => parts.push(part),
    }
}

/// Token usage of a reply. The numbers are made up, but equal for equal replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) input: u64,
    pub(crate) cached: u64,
    pub(crate) output: u64,
    pub(crate) reasoning: u64,
}

impl Usage {
    /// Counts one token for each chunk of text or reasoning and each word of tool input.
    pub(crate) fn count(parts: &[Part]) -> Self {
        let mut usage = Self { input: 100, cached: 20, output: 0, reasoning: 0 };
        for part in parts {
            let tokens = match part {
                Part::Text(pieces) | Part::Reasoning(pieces) => chunks(pieces).count(),
                Part::ToolCall(call) => call.input.text().split_whitespace().count(),
                Part::Wait(_) | Part::Failure(_) | Part::Stop(_) => 0,
            };
            usage.output += tokens as u64;
            if matches!(part, Part::Reasoning(_)) {
                usage.reasoning += tokens as u64;
            }
        }
        usage
    }
}

/// Splits tool arguments into chunks of the size in which models stream them.
pub(crate) fn split_arguments(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(24).map(|chunk| chunk.iter().collect()).collect()
}

/// Encodes one server-sent event.
pub(crate) fn sse_event(name: Option<&str>, data: &serde_json::Value) -> Frame {
    Frame::Bytes(match name {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    })
}
