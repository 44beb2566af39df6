//! What is left out of a canonical trace, and what is not.

use interlingua_convert::{
    Conversion, ConversionOptions, Converter, Drafts, Input, InputRef, MessageDraft, MessageEnd, PromptDraft,
    QuestionDraft, ToolCall, ToolResult, TurnEnd,
};
use interlingua_schema::{ToolKind, UniversalEvent};
use interlingua_snapshots::canonical::{CanonicalScenario, Focus, FocusTarget, trace};

/// Says what it is told to say, one thing a line.
struct Toy;

impl Converter for Toy {
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

fn played(lines: &[&str]) -> Vec<UniversalEvent> {
    let mut stream = Conversion::new(Toy, ConversionOptions::default());
    let mut events = Vec::new();
    for line in lines {
        let input = line.strip_prefix("> ").map_or(InputRef::Received(line), Input::Sent);
        stream.push(None, input, &mut events);
    }
    events
}

fn call(turn: usize, call: usize) -> Focus {
    Focus { turn, target: FocusTarget::ToolCall(call) }
}

#[test]
fn what_is_said_before_the_call_and_what_other_calls_do_is_left_out() {
    let events = played(&["> go", "say I run it", "call a", "result a", "call b", "result b", "say done", "end"]);
    assert_eq!(trace(&events, call(0, 0)), CanonicalScenario::Command.trace());
    assert_eq!(trace(&events, call(0, 1)), CanonicalScenario::Command.trace());
    assert_ne!(trace(&events, Focus::default()), CanonicalScenario::Command.trace());
}

#[test]
fn what_is_said_before_a_request_is_left_out_where_there_is_no_call() {
    let asked = |lines: &[&str]| trace(&played(lines), Focus { turn: 0, target: FocusTarget::FirstRequest });
    let silently = asked(&["> go", "ask q", "say done", "end"]);
    assert_eq!(asked(&["> go", "say a question", "ask q", "say done", "end"]), silently);
    assert!(silently.contains(&"question.requested".to_owned()), "{silently:?}");
}

#[test]
fn a_call_that_never_was_is_missed() {
    let events = played(&["> go", "say done", "end"]);
    assert_ne!(trace(&events, call(0, 0)), CanonicalScenario::Command.trace());
}

#[test]
fn an_item_stands_where_it_began_whenever_it_ends() {
    let ends_late = played(&["> go", "begin m", "call a", "finish m", "result a", "say done", "end"]);
    let ends_early = played(&["> go", "begin m", "finish m", "call a", "result a", "say done", "end"]);
    assert_eq!(trace(&ends_late, Focus::default()), trace(&ends_early, Focus::default()));
}

#[test]
fn a_turn_is_looked_at_by_itself() {
    let events = played(&["> go", "call a", "result a", "end", "> and?", "say one", "say two", "end"]);
    assert_eq!(trace(&events, Focus { turn: 1, target: FocusTarget::WholeTurn }), CanonicalScenario::PlainText.trace());
    assert!(trace(&events, Focus { turn: 2, target: FocusTarget::WholeTurn }).is_empty());
}
