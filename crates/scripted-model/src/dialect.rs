//! The languages in which agents speak to models.

pub(crate) mod anthropic;
pub(crate) mod chat;
pub(crate) mod responses;

use serde_json::Value;

use crate::conversation::Conversation;
use crate::reply::{Break, Frame, Part, Piece, Usage};

/// One of the languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Anthropic Messages.
    Anthropic,
    /// `OpenAI` Responses.
    Responses,
    /// `OpenAI` Chat Completions.
    Chat,
}

/// What an answer is besides its parts.
#[derive(Clone, Debug)]
pub(crate) struct Answer<'a> {
    /// What is unique about it, for ids.
    pub(crate) id: &'a str,
    /// The model that is said to give it.
    pub(crate) model: &'a str,
    /// What is in it.
    pub(crate) parts: &'a [Part],
}

impl Answer<'_> {
    pub(crate) fn usage(&self) -> Usage {
        Usage::of(self.parts)
    }

    /// Whether it calls tools.
    pub(crate) fn calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Call(_)))
    }
}

/// The text that a value is; empty for anything else.
fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl Dialect {
    /// Reads a request's body.
    pub(crate) fn read(self, body: &Value) -> Conversation {
        match self {
            Self::Anthropic => anthropic::read(body),
            Self::Responses => responses::read(body),
            Self::Chat => chat::read(body),
        }
    }

    /// The answer as a stream of events.
    pub(crate) fn stream(self, answer: &Answer<'_>) -> Vec<Frame> {
        match self {
            Self::Anthropic => anthropic::stream(answer),
            Self::Responses => responses::stream(answer),
            Self::Chat => chat::stream(answer),
        }
    }

    /// The answer in one piece.
    pub(crate) fn whole(self, answer: &Answer<'_>) -> Value {
        match self {
            Self::Anthropic => anthropic::whole(answer),
            Self::Responses => responses::whole(answer),
            Self::Chat => chat::whole(answer),
        }
    }

    /// The body of a refusal.
    pub(crate) fn refusal(self, status: u16, message: &str) -> Value {
        let kind = kind_of(status);
        match self {
            Self::Anthropic => anthropic::error(kind, message),
            Self::Responses | Self::Chat => {
                serde_json::json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
            }
        }
    }

    /// What this language puts before the id of a call.
    pub(crate) fn call_prefix(self) -> &'static str {
        match self {
            Self::Anthropic => "toolu_",
            Self::Responses | Self::Chat => "call_",
        }
    }
}

/// The word that goes with a status.
fn kind_of(status: u16) -> &'static str {
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

/// Puts words or thoughts into the stream, each piece as `delta` says. Says whether they broke off, which leaves
/// open what they are in; an error is said as `fail` says.
fn speak<S>(
    stream: &mut S,
    pieces: &[Piece],
    frames: impl Fn(&mut S) -> &mut Vec<Frame>,
    mut delta: impl FnMut(&mut S, &str),
    fail: impl FnOnce(&mut S, &str),
) -> bool {
    for piece in pieces {
        match piece {
            Piece::Chunk(text) => delta(stream, text),
            Piece::Wait(wait) => frames(stream).push(Frame::Wait(wait.clone())),
            Piece::Break(Break::Cut) => frames(stream).push(Frame::Cut),
            Piece::Break(Break::Hang) => frames(stream).push(Frame::Hang),
            Piece::Break(Break::Fail(message)) => {
                fail(stream, message);
                return true;
            }
        }
        if matches!(piece, Piece::Break(_)) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::reply::{Input, ToolUse, Wait};
    use crate::scenario::StopReason;

    fn speech(chunks: &[&str], last: Option<Piece>) -> Vec<Piece> {
        chunks.iter().map(|chunk| Piece::Chunk((*chunk).to_owned())).chain(last).collect()
    }

    fn call(id: &str, name: &str, input: Input) -> Part {
        Part::Call(ToolUse { id: id.to_owned(), name: name.to_owned(), namespace: None, input })
    }

    /// What is sent, with the pauses spelled out.
    fn sent(dialect: Dialect, parts: &[Part]) -> String {
        let answer = Answer { id: "t1_0", model: "scripted", parts };
        let frames = dialect.stream(&answer).into_iter().map(|frame| match frame {
            Frame::Bytes(bytes) => bytes,
            other => format!("[{other:?}]\n"),
        });
        frames.collect()
    }

    fn everything() -> Vec<Part> {
        vec![
            Part::Think(speech(&["Let me ", "think."], None)),
            Part::Say(speech(&["Now ", "this."], Some(Piece::Wait(Wait::Pause(Duration::from_millis(20)))))),
            call("x_t1_0_0", "run", Input::Json("{\"command\":\"ls -la /somewhere/else\"}".to_owned())),
            call("x_t1_0_1", "apply_patch", Input::Text("*** Begin Patch\n*** End Patch".to_owned())),
        ]
    }

    #[test]
    fn anthropic_messages_as_bytes() {
        insta::assert_snapshot!(sent(Dialect::Anthropic, &everything()));
    }

    #[test]
    fn openai_responses_as_bytes() {
        insta::assert_snapshot!(sent(Dialect::Responses, &everything()));
    }

    #[test]
    fn chat_completions_as_bytes() {
        insta::assert_snapshot!(sent(Dialect::Chat, &everything()));
    }

    #[test]
    fn every_language_breaks_off_in_its_own_way() {
        let broken = |how| vec![Part::Say(speech(&["Half"], Some(Piece::Break(how))))];
        let stopped = |reason| vec![Part::Say(speech(&["Half"], None)), Part::Stop(reason)];
        for (name, parts) in [
            ("cut", broken(Break::Cut)),
            ("hang", broken(Break::Hang)),
            ("fail", broken(Break::Fail("Too much".to_owned()))),
            ("length", stopped(StopReason::Length)),
            ("refusal", stopped(StopReason::Refusal)),
        ] {
            let all = [Dialect::Anthropic, Dialect::Responses, Dialect::Chat]
                .map(|dialect| format!("--- {dialect:?}\n{}", sent(dialect, &parts)));
            insta::assert_snapshot!(format!("breaks_off_{name}"), all.concat());
        }
    }

    #[test]
    fn an_answer_in_one_piece_has_the_same_parts() {
        for dialect in [Dialect::Anthropic, Dialect::Responses, Dialect::Chat] {
            let parts = everything();
            let whole = dialect.whole(&Answer { id: "t1_0", model: "scripted", parts: &parts });
            insta::assert_snapshot!(format!("whole_{dialect:?}"), format!("{whole:#}"));
        }
    }
}
