//! A reply with its tool calls settled, before it is put into a language.

use std::time::Duration;

use crate::scenario::{StopReason, StreamedText};

/// Part of a reply.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    /// Words.
    Say(Vec<Piece>),
    /// Thoughts.
    Think(Vec<Piece>),
    /// A tool call.
    Call(ToolUse),
    /// Nothing, between two parts.
    Wait(Wait),
    /// The reply breaks off between two parts.
    Break(Break),
    /// It ends early.
    Stop(StopReason),
}

/// What words and thoughts are made of. A pause or a break after them is in the middle of them: that is where
/// streams stall and break in life.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece {
    /// Some of the text.
    Chunk(String),
    /// Nothing for a while.
    Wait(Wait),
    /// It breaks off.
    Break(Break),
}

/// Nothing for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// For this long.
    Pause(Duration),
    /// Until that session's turn is over.
    Until(String),
}

/// How a reply breaks off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Break {
    /// The connection breaks.
    Cut,
    /// Nothing more comes.
    Hang,
    /// An error is said in the stream.
    Fail(String),
}

/// A tool call as the agent will see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolUse {
    /// The id of the call.
    pub(crate) id: String,
    /// The tool.
    pub(crate) name: String,
    /// Its namespace.
    pub(crate) namespace: Option<String>,
    /// What it is given.
    pub(crate) input: Input,
}

/// What a tool is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// Arguments: JSON, unless the scenario wants them broken.
    Json(String),
    /// Plain text.
    Text(String),
}

impl Input {
    /// As it is sent.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Json(text) | Self::Text(text) => text,
        }
    }
}

/// What is sent, piece by piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// These bytes.
    Bytes(String),
    /// Nothing for a while.
    Wait(Wait),
    /// Nothing more comes.
    Hang,
    /// The connection breaks.
    Cut,
}

/// The pieces of a speech, with its pauses.
pub(crate) fn spoken(speech: &StreamedText) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for chunk in &speech.chunks {
        if !pieces.is_empty() && !speech.interval.is_zero() {
            pieces.push(Piece::Wait(Wait::Pause(speech.interval)));
        }
        pieces.push(Piece::Chunk(chunk.clone()));
    }
    pieces
}

/// The text in pieces of speech.
pub(crate) fn text(pieces: &[Piece]) -> String {
    chunks(pieces).collect()
}

fn chunks(pieces: &[Piece]) -> impl Iterator<Item = &str> {
    pieces.iter().filter_map(|piece| match piece {
        Piece::Chunk(text) => Some(text.as_str()),
        Piece::Wait(_) | Piece::Break(_) => None,
    })
}

/// Adds a part to a reply. What comes after speech and is not a new thing belongs to the speech.
pub(crate) fn add(parts: &mut Vec<Part>, part: Part) {
    match (parts.last_mut(), part) {
        (Some(Part::Say(pieces) | Part::Think(pieces)), Part::Wait(wait)) => pieces.push(Piece::Wait(wait)),
        (Some(Part::Say(pieces) | Part::Think(pieces)), Part::Break(broken)) => pieces.push(Piece::Break(broken)),
        (Some(Part::Say(pieces)), Part::Say(more)) | (Some(Part::Think(pieces)), Part::Think(more)) => {
            pieces.extend(more);
        }
        (_, part) => parts.push(part),
    }
}

/// What a reply is said to cost. The figures are made up but always the same for the same reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) input: u64,
    pub(crate) cached: u64,
    pub(crate) output: u64,
    pub(crate) reasoning: u64,
}

impl Usage {
    /// One token for each piece of words, thoughts and arguments.
    pub(crate) fn of(parts: &[Part]) -> Self {
        let mut usage = Self { input: 100, cached: 20, output: 0, reasoning: 0 };
        for part in parts {
            let tokens = match part {
                Part::Say(pieces) | Part::Think(pieces) => chunks(pieces).count(),
                Part::Call(call) => call.input.text().split_whitespace().count(),
                Part::Wait(_) | Part::Break(_) | Part::Stop(_) => 0,
            };
            usage.output += tokens as u64;
            if matches!(part, Part::Think(_)) {
                usage.reasoning += tokens as u64;
            }
        }
        usage
    }
}

/// Arguments in pieces, as models stream them.
pub(crate) fn argument_pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(24).map(|chunk| chunk.iter().collect()).collect()
}

/// One event of a stream.
pub(crate) fn event(name: Option<&str>, data: &serde_json::Value) -> Frame {
    Frame::Bytes(match name {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    })
}
