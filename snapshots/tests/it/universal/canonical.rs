//! What a canonical trace leaves out, and what it keeps.

use interlingua_convert::{
    Conversion, ConversionOptions, Converter, Drafts, Input, InputRef, MessageDraft, MessageEnd, PromptDraft,
    QuestionDraft, ToolCall, ToolResult, TurnEnd,
};
use interlingua_schema::{ToolKind, UniversalEvent};
use interlingua_snapshots::canonical::{CanonicalScenario, Focus, FocusTarget, trace};

/// A converter for a small text language: each received line is one draft, for example `call a`.
struct ScriptedConverter;

impl Converter for ScriptedConverter {
    fn agent(&self) -> &'static str {
        "toy"
    }

    fn push(&mut self, input: InputRef<'_>, out: &mut Drafts) {
        let mut session = out.session("toy");
        match input {
            Input::Sent(text) => session.prompt_sent(PromptDraft::text(text)),
            Input::Received(line) => match line.split_once(' ').unwrap_or((line, "")) {
                ("say", text) => session.message_finished(text, MessageDraft::assistant(), MessageEnd::text(text)),
                ("begin", key) => {
                    session.message_started(key, MessageDraft::assistant());
                    session.message_delta(key, "…");
                }
                ("finish", key) => session.message_finished(key, MessageDraft::assistant(), MessageEnd::as_streamed()),
                ("ask", key) => session.questions_requested(key, vec![QuestionDraft::new("Which?")]),
                ("call", id) => session.tool_called(id, ToolCall::new(id, "run").kind(ToolKind::Command)),
                ("result", id) => session.tool_finished(id, ToolResult::ok("done")),
                _ => session.turn_ended(TurnEnd::new()),
            },
            _ => {}
        }
    }
}

/// Converts lines of that language. Lines that start with `> ` are prompts.
fn convert(lines: &[&str]) -> Vec<UniversalEvent> {
    let mut conversion = Conversion::new(ScriptedConverter, ConversionOptions::default());
    let mut events = Vec::new();
    for line in lines {
        let input = line.strip_prefix("> ").map_or(InputRef::Received(line), Input::Sent);
        conversion.push(None, input, &mut events);
    }
    events
}

fn call_focus(turn: usize, call: usize) -> Focus {
    Focus { turn, target: FocusTarget::ToolCall(call) }
}

#[test]
fn messages_before_the_call_and_other_calls_are_left_out() {
    let events = convert(&["> go", "say I run it", "call a", "result a", "call b", "result b", "say done", "end"]);
    assert_eq!(trace(&events, call_focus(0, 0)), CanonicalScenario::Command.trace());
    assert_eq!(trace(&events, call_focus(0, 1)), CanonicalScenario::Command.trace());
    assert_ne!(trace(&events, Focus::default()), CanonicalScenario::Command.trace());
}

#[test]
fn messages_before_a_request_are_left_out_if_there_is_no_call() {
    let request_trace = |lines: &[&str]| trace(&convert(lines), Focus { turn: 0, target: FocusTarget::FirstRequest });
    let without_message = request_trace(&["> go", "ask q", "say done", "end"]);
    assert_eq!(request_trace(&["> go", "say a question", "ask q", "say done", "end"]), without_message);
    assert!(without_message.contains(&"question.requested".to_owned()), "{without_message:?}");
}

#[test]
fn a_missing_call_changes_the_trace() {
    let events = convert(&["> go", "say done", "end"]);
    assert_ne!(trace(&events, call_focus(0, 0)), CanonicalScenario::Command.trace());
}

#[test]
fn an_item_stands_where_it_starts_whenever_it_ends() {
    let ends_late = convert(&["> go", "begin m", "call a", "finish m", "result a", "say done", "end"]);
    let ends_early = convert(&["> go", "begin m", "finish m", "call a", "result a", "say done", "end"]);
    assert_eq!(trace(&ends_late, Focus::default()), trace(&ends_early, Focus::default()));
}

#[test]
fn a_trace_covers_only_its_turn() {
    let events = convert(&["> go", "call a", "result a", "end", "> and?", "say one", "say two", "end"]);
    assert_eq!(trace(&events, Focus { turn: 1, target: FocusTarget::WholeTurn }), CanonicalScenario::PlainText.trace());
    assert!(trace(&events, Focus { turn: 2, target: FocusTarget::WholeTurn }).is_empty());
}
