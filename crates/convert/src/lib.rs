//! From what coding agents say on their wires to the universal event stream.
//!
//! ```text
//! Input ──▶ Converter (one per agent, pure) ──drafts──▶ sequencer (the same for all) ──▶ UniversalEvent
//! ```
//!
//! A [`Conversion`] is that path. A live session pushes inputs one at a time, [`convert_log`] reads a file through it, and
//! tests do the same: there is no second path. Events go to an [`EventSink`](interlingua_schema::EventSink), which keeps
//! them or, as in [`convert_log_to_writer`], writes them down at once.
//!
//! # How a converter is written
//!
//! A converter implements [`Converter`]: it is shown each [`Input`], borrowed, and says in [`Drafts`] what that means. It reads as
//! a table: one `match` on the native enum, one line or one named function per variant. What carries nothing for a
//! client is [dropped by name](Drafts::dropped); what does not fit the agent's own schema is
//! [`unparsed`](SessionDrafts::unparsed). A payload for which neither drafts nor a reason are given is counted as
//! unaccounted in the [`ConversionStats`], and a test should find none.
//!
//! **Naming.** Sessions are spoken of by their native id ([`Drafts::session`]; [`Drafts::current_session`] where a payload has
//! none), items by a [`Key`]: the native id where that is unique in the session, else one made from it
//! (`"msg_1:0"`). Messages, notes, tools and requests have separate keys, and so has each sub-agent.
//!
//! **Messages.** One stream of text is one message: [`message_started`](SessionDrafts::message_started),
//! [`message_delta`](SessionDrafts::message_delta), [`message_finished`](SessionDrafts::message_finished), of which only the last is
//! needed. Say the final text whether or not it was streamed: what is missing is added, what contradicts becomes a new
//! item. Reasoning and answer of one native message are two messages with the same [`MessageDraft::in_message`].
//!
//! **Tools.** [`tool_started`](SessionDrafts::tool_started) while the arguments stream,
//! [`tool_called`](SessionDrafts::tool_called) when they are final, [`tool_output`](SessionDrafts::tool_output) as it
//! comes, [`tool_finished`](SessionDrafts::tool_finished) with the outcome. Only the last is needed, in any order.
//!
//! **Users and turns.** Whatever the host sends as a message is [`prompt_sent`](SessionDrafts::prompt_sent), with
//! [`PromptDraft::expect_echo`] if this agent repeats it; the repetition is a
//! [`user_message`](SessionDrafts::user_message). Which of them is shown, and when, is not the converter's business.
//! Neither is a turn that nobody began or ended, but where the agent says so it is to be told:
//! [`turn_started`](SessionDrafts::turn_started), [`turn_ended`](SessionDrafts::turn_ended), and
//! [`interrupt_requested`](SessionDrafts::interrupt_requested) when the host sent one.
//!
//! **Sub-agents.** Where payloads name the tool call they are under, [`sub_agent`](SessionDrafts::sub_agent). Where a
//! sub-agent has a session of its own, [`child_of`](SessionDrafts::child_of) as soon as that is known and
//! [`spawned_by`](SessionDrafts::spawned_by) when the call is; then simply speak of the child session.
//!
//! **Who says it.** What is made of received input is the agent's, the rest is synthetic; a converter that infers
//! says [`synthetic`](SessionDrafts::synthetic). What the sequencer fills in is always synthetic.
//!
//! Not to be done in a converter, because it is done for all of them: ids, times, `session.started` and
//! `session.ended`, parents, closing what is open, `late_result`, matching prompts with repetitions, refusing what
//! nobody answered, unique request ids, failing results with an exit code, errors for an agent that died.
//!
//! A toy agent that prints `say: …`, `run: …`, `ok: …` and `done`, and is told things in plain lines:
//!
//! ```
//! use interlingua_convert::{
//!     Conversion, ConversionOptions, Converter, Drafts, StreamEnd, MessageEnd, Input, InputRef, MessageDraft, PromptDraft, ToolCall, ToolResult, TurnEnd,
//! };
//! use interlingua_schema::{Checker, ToolKind};
//!
//! #[derive(Default)]
//! struct Toy {
//!     messages: u64,
//! }
//!
//! impl Converter for Toy {
//!     fn agent(&self) -> &'static str {
//!         "toy"
//!     }
//!
//!     fn push(&mut self, input: InputRef<'_>, out: &mut Drafts) {
//!         match input {
//!             Input::Sent(line) => out.session("toy-1").prompt_sent(PromptDraft::text(line)),
//!             Input::Received(line) => self.received(line, out),
//!             _ => {}
//!         }
//!     }
//! }
//!
//! impl Toy {
//!     fn received(&mut self, line: &str, out: &mut Drafts) {
//!         let mut session = out.session("toy-1");
//!         match line.split_once(": ").unwrap_or((line, "")) {
//!             ("say", text) => {
//!                 self.messages += 1;
//!                 session.message_finished(format!("m{}", self.messages), MessageDraft::assistant(), MessageEnd::text(text));
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
//! let mut conversion = Conversion::new(Toy::default(), ConversionOptions::default());
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
//!     "item.started", "item.delta", "item.completed", // the user: list files
//!     "item.started", "item.delta", "item.completed", // Looking.
//!     "item.started", "item.completed",               // the call
//!     "item.started", "item.completed",               // its result
//!     "turn.ended",
//!     "session.ended",
//! ]);
//! let mut checker = Checker::new();
//! assert!(events.iter().all(|event| checker.push(event).is_empty()));
//! assert_eq!(conversion.stats().dropped["keep-alive"], 1);
//! assert_eq!(conversion.stats().unaccounted, 0);
//! ```

mod agent;
pub mod amp;
mod arguments;
pub mod claude;
pub mod codex;
mod conversion;
mod converter;
pub mod coverage;
mod diff;
mod draft;
mod drafts;
mod error_code;
mod escape_codes;
mod ids;
mod key;
mod log;
mod losses;
pub mod opencode;
mod paths;
mod sequencer;
mod title;
mod usage;
mod version;

pub use agent::{converter_for, detect_agent};
pub use arguments::json_arguments;
pub use conversion::{Conversion, ConversionOptions, ConversionStats, UnparsedReason};
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
