//! A converter for an agent that prints `say: …`, `run: …`, `ok: …` and `done`.
//!
//! ```console
//! $ printf 'say: Looking.\nrun: ls\nok: a.txt\ndone\n' | cargo run -p interlingua-examples --bin write_converter
//! ```

use std::io::{self, BufRead as _};

use interlingua_convert::{
    Conversion, ConversionOptions, Converter, Drafts, Input, InputRef, MessageDraft, MessageEnd, PromptDraft,
    StreamEnd, ToolCall, ToolResult, TurnEnd,
};
use interlingua_schema::{CommandInput, ToolInput, UniversalEvent};

/// Keys and native ids name things within a session; this agent has one session and no ids of its own.
const SESSION: &str = "toy-1";

#[derive(Default)]
struct ToyConverter {
    messages: u64,
}

impl Converter for ToyConverter {
    fn agent(&self) -> &'static str {
        "toy"
    }

    fn push(&mut self, input: InputRef<'_>, out: &mut Drafts) {
        match input {
            Input::Sent(line) => out.session(SESSION).prompt_sent(PromptDraft::text(line)),
            Input::Received(line) => self.received(line, out),
            // The sequencer handles the rest: an exit ends the turn and, with the log, the session.
            _ => {}
        }
    }
}

impl ToyConverter {
    fn received(&mut self, line: &str, out: &mut Drafts) {
        let mut session = out.session(SESSION);
        match line.split_once(": ").unwrap_or((line, "")) {
            ("say", text) => {
                self.messages += 1;
                let key = format!("message-{}", self.messages);
                session.message_finished(key, MessageDraft::assistant(), MessageEnd::text(text));
            }
            ("run", command) => {
                let input = ToolInput::Command(CommandInput::new(command));
                let arguments = format!("{{\"command\":{command:?}}}");
                session.tool_called("call", ToolCall::new("call", "run").arguments(arguments).input(Some(input)));
            }
            ("ok", output) => session.tool_finished("call", ToolResult::ok(output).exit_code(Some(0))),
            ("done", _) => session.turn_ended(TurnEnd::new()),
            // What carries nothing for a client is dropped by name; what is not understood is reported.
            ("tick", _) => out.dropped("keep-alive"),
            _ => session.unparsed("toy", "expected say, run, ok, done or tick", None),
        }
    }
}

fn main() -> anyhow::Result<()> {
    let mut conversion = Conversion::new(ToyConverter::default(), ConversionOptions::default());
    let mut events: Vec<UniversalEvent> = Vec::new();
    conversion.push(None, Input::Sent("list the files"), &mut events);
    for line in io::stdin().lock().lines() {
        conversion.push(None, Input::Received(line?.as_str()), &mut events);
    }
    conversion.push(None, Input::Exit { code: Some(0) }, &mut events);
    conversion.finish(None, StreamEnd::Log, &mut events);
    for event in events {
        let mut line = Vec::new();
        event.write_json(&mut line)?;
        println!("{}", String::from_utf8(line)?);
    }
    Ok(())
}
