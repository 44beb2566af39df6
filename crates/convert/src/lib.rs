//! Converts what coding agents write on their wires into the universal event stream.
//!
//! ```text
//! Input ──▶ Converter (one per agent, pure) ──drafts──▶ sequencer (the same for all agents) ──▶ UniversalEvent
//! ```
//!
//! A [`Conversion`] is this whole path. Live sessions [push](Conversion::push) one input at a time, [`convert_log`]
//! reads a file, and tests use the same functions: there is no second path. Events go to an
//! [`EventSink`](interlingua_schema::EventSink), which may keep them, or write them immediately as
//! [`convert_log_to_writer`] does.
//!
//! * An [`Input`] is one record of what crossed the wire, in either direction: a line, an HTTP request or reply, a line
//!   of standard error, an exit.
//! * A **converter** knows one agent. It decodes each input and reports what it means, as **drafts**. It does no I/O
//!   and has no clock.
//! * The **sequencer** turns drafts into events. It assigns ids, sequence numbers and times, and holds every rule that
//!   is the same for all agents.
//!
//! Each agent has a feature of its name, all on by default. Without it, neither its converter nor its native types are
//! compiled, and its payloads are reported as unparsed.
//!
//! # Writing a converter
//!
//! Implement [`Converter`]. Its [`push`](Converter::push) gets each [`Input`], borrowed, and adds drafts to [`Drafts`].
//! Write it as a table: one `match` on the native enum, with one line or one named function per variant. Every payload
//! of the agent must be accounted for in one of three ways:
//!
//! * It becomes drafts.
//! * It carries nothing for a client: [drop](Drafts::dropped) it by name, with a reason.
//! * It does not fit the agent's schema: report it as [`unparsed`](SessionDrafts::unparsed).
//!
//! A payload with none of these counts as unaccounted in [`ConversionStats`]. Test that there are none.
//!
//! ## Sessions and keys
//!
//! Choose the session first: [`Drafts::session`] takes the agent's own session id. If a payload has none, use
//! [`Drafts::current_session`], the session that started last.
//!
//! A converter refers to items by a [`Key`]. Use the native id if it is unique in the session, else make a key from it
//! (`"msg_1:0"`). Messages, notes, tools and requests have separate keys, and so has each sub-agent.
//!
//! ## Messages
//!
//! A message is one stream of text: [`message_started`](SessionDrafts::message_started),
//! [`message_delta`](SessionDrafts::message_delta), [`message_finished`](SessionDrafts::message_finished). Only the
//! last one is required. Always pass the final text, streamed or not: the sequencer emits the part that was not
//! streamed, and starts a new item if the final text contradicts the stream. If a native message has reasoning and an
//! answer, make two messages with the same [`MessageDraft::in_message`].
//!
//! ## Tools
//!
//! Call [`tool_started`](SessionDrafts::tool_started) while the arguments stream,
//! [`tool_called`](SessionDrafts::tool_called) when they are final, [`tool_output`](SessionDrafts::tool_output) for
//! streamed output, and [`tool_finished`](SessionDrafts::tool_finished) with the result. Only the last one is required,
//! and the order does not matter.
//!
//! ## Prompts and turns
//!
//! Report each message that the host sends as [`prompt_sent`](SessionDrafts::prompt_sent). If the agent echoes prompts,
//! set [`PromptDraft::expect_echo`] and report the echo as [`user_message`](SessionDrafts::user_message). The sequencer
//! decides which of the two is shown, and when.
//!
//! If the agent reports the start or end of a turn, pass it on: [`turn_started`](SessionDrafts::turn_started),
//! [`turn_ended`](SessionDrafts::turn_ended). The sequencer adds turns that the agent does not report. When the host
//! sends an interrupt, call [`interrupt_requested`](SessionDrafts::interrupt_requested).
//!
//! ## Sub-agents
//!
//! If payloads of a sub-agent name the tool call that started it, use [`sub_agent`](SessionDrafts::sub_agent). If a
//! sub-agent has its own native session, call [`child_of`](SessionDrafts::child_of) as soon as the parent is known and
//! [`spawned_by`](SessionDrafts::spawned_by) when the tool call is known. Then make drafts for the child session like
//! for any other.
//!
//! ## Origin
//!
//! Events made from received input have the agent as their origin. All others are synthetic: drafts made from sent
//! input, drafts that a converter infers and marks as [`synthetic`](SessionDrafts::synthetic), and everything that the
//! sequencer adds.
//!
//! ## What the sequencer does
//!
//! Do not do these in a converter, because the sequencer does them for all agents: ids, times, `session.started` and
//! `session.ended`, parents of items, closing open items, late results, matching prompts with echoes, denying requests
//! without an answer, unique request ids, failing a result by its exit code, errors for an agent that died.
//!
//! # Example
//!
//! A toy agent that prints `say: …`, `run: …`, `ok: …` and `done`, and receives prompts as plain lines:
//!
//! ```
//! use interlingua_convert::{
//!     Conversion, ConversionOptions, Converter, Drafts, Input, InputRef, MessageDraft, MessageEnd, PromptDraft,
//!     StreamEnd, ToolCall, ToolResult, TurnEnd,
//! };
//! use interlingua_schema::{Checker, ToolKind};
//!
//! #[derive(Default)]
//! struct ToyConverter {
//!     messages: u64,
//! }
//!
//! impl Converter for ToyConverter {
//!     fn agent(&self) -> &'static str {
//!         "toy"
//!     }
//!
//!     fn push(&mut self, input: InputRef<'_>, out: &mut Drafts) {
//!         match input {
//!             Input::Sent(line) => out.session("toy-1").prompt_sent(PromptDraft::text(line)),
//!             Input::Received(line) => self.convert_line(line, out),
//!             _ => {}
//!         }
//!     }
//! }
//!
//! impl ToyConverter {
//!     fn convert_line(&mut self, line: &str, out: &mut Drafts) {
//!         let mut session = out.session("toy-1");
//!         match line.split_once(": ").unwrap_or((line, "")) {
//!             ("say", text) => {
//!                 self.messages += 1;
//!                 let key = format!("m{}", self.messages);
//!                 session.message_finished(key, MessageDraft::assistant(), MessageEnd::text(text));
//!             }
//!             ("run", command) => {
//!                 let call = ToolCall::new("call", "run").kind(ToolKind::Command).arguments(format!("[{command:?}]"));
//!                 session.tool_called("call", call);
//!             }
//!             ("ok", output) => session.tool_finished("call", ToolResult::ok(output).exit_code(Some(0))),
//!             ("done", _) => session.turn_ended(TurnEnd::new()),
//!             ("tick", _) => out.dropped("keep-alive"),
//!             _ => session.unparsed("toy", "expected say, run, ok, done or tick", None),
//!         }
//!     }
//! }
//!
//! let mut conversion = Conversion::new(ToyConverter::default(), ConversionOptions::default());
//! let mut events = Vec::new();
//! for input in [
//!     Input::Sent("list files"),
//!     Input::Received("say: Looking."),
//!     Input::Received("run: ls"),
//!     Input::Received("ok: a.txt"),
//!     Input::Received("tick"),
//!     Input::Received("done"),
//!     Input::Exit { code: Some(0) },
//! ] {
//!     conversion.push(None, input, &mut events);
//! }
//! conversion.finish(None, StreamEnd::Log, &mut events);
//!
//! let kinds: Vec<&str> = events.iter().map(|event| event.data.kind()).collect();
//! assert_eq!(kinds, [
//!     "session.started",
//!     "turn.started",
//!     "item.started", "item.delta", "item.completed", // the user's message: list files
//!     "item.started", "item.delta", "item.completed", // the agent's message: Looking.
//!     "item.started", "item.completed",               // the tool call
//!     "item.started", "item.completed",               // its result
//!     "turn.ended",
//!     "session.ended",
//! ]);
//! let mut checker = Checker::new();
//! assert!(events.iter().all(|event| checker.push(event).is_empty()));
//! assert_eq!(conversion.stats().dropped["keep-alive"], 1);
//! assert_eq!(conversion.stats().unaccounted, 0);
//! ```

// Some of what converters share is used by one of them only.
#![cfg_attr(
    not(all(feature = "acp", feature = "amp", feature = "claude", feature = "codex", feature = "opencode")),
    allow(dead_code, unused_imports)
)]

#[cfg(feature = "acp")]
pub mod acp;
mod agent;
#[cfg(feature = "amp")]
pub mod amp;
mod arguments;
#[cfg(feature = "claude")]
pub mod claude;
#[cfg(feature = "codex")]
pub mod codex;
mod conversion;
mod converter;
pub mod coverage;
mod diff;
mod draft;
mod drafts;
mod drop_reason;
mod error_code;
mod escape_codes;
mod ids;
mod key;
mod log;
mod losses;
#[cfg(feature = "opencode")]
pub mod opencode;
mod paths;
mod sequencer;
mod shell;
mod title;
mod usage;
mod version;

pub use agent::{converter_for, detect_agent};
pub use arguments::json_arguments;
pub use conversion::{Conversion, ConversionOptions, ConversionStats, UnparsedReason, UsageEntry};
pub use converter::{Converter, Launch};
pub use diff::unified_diff;
pub use draft::{
    Failure, MessageDraft, MessageEnd, Note, PermissionDraft, PromptDraft, QuestionDraft, ToolCall, ToolResult,
    TurnEnd, UserMessage, plan_step, plan_step_from_json,
};
pub use drafts::{Drafts, SessionDrafts};
pub use error_code::{error_code_for_status, error_code_for_text};
pub use ids::{CountingIds, IdSource};
pub use interlingua_agents::Agent;
pub use interlingua_wirelog::{Input, InputRef};
pub use key::Key;
pub use log::{convert_log, convert_log_to_writer};
pub use sequencer::{ResumePoint, StreamEnd, UnfinishedWork};
pub use usage::CumulativeUsage;

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
