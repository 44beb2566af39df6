//! The envelope: a bounded projection of universal events.
//!
//! Some hosts must not store or forward the data that tools read and write, and cannot handle messages of unlimited
//! size. For them, a [`Projector`] converts universal events into [`AgentWrapperEvent`]s:
//!
//! * The text of messages becomes `text`, in pieces of at most 64 KiB.
//! * A tool call or result becomes a [`ToolsFacet`], which has its name, state and byte counts, but none of its content.
//! * Everything else becomes a short, fixed `message`.
//!
//! At the end of a session, an [`AgentWrapperCompletion`] has its outcome and the final text.
//!
//! Every event has these properties:
//!
//! * **It is bounded.** [`bounds`] defines the limits. The fields of an event are private, and their types enforce the
//!   limits, also when an event is read from JSON.
//! * **It has no payload.** It has no line of the agent's output and no argument, output, diff or path of a tool: `data`
//!   consists of [`Name`]s and numbers.
//! * **It does not repeat text.** Text that was streamed is not sent again when its message completes.
//!
//! ```
//! use interlingua_convert::{Agent, ConversionOptions, Conversion, convert_log, converter_for};
//! use interlingua_envelope::{AgentWrapperCompletionStatus, Projector};
//! use interlingua_wirelog::Reader;
//!
//! let log = r#"{"type":"thread.started","thread_id":"t1"}
//! {"type":"turn.started"}
//! {"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"Hello."}}
//! {"type":"turn.completed","usage":{"input_tokens":5,"cached_input_tokens":0,"output_tokens":2}}
//! "#;
//! let mut conversion = Conversion::new(converter_for(Agent::Codex), ConversionOptions::default());
//! let mut projector = Projector::new(Agent::Codex);
//! let mut text = String::new();
//! convert_log(&mut Reader::new(log.as_bytes())?, &mut conversion, |event| {
//!     text.extend(projector.push(&event).filter_map(|event| event.text().map(str::to_owned)));
//!     Ok(())
//! })?;
//! assert_eq!(text, "Hello.");
//!
//! let completion = projector.finish().next().unwrap();
//! assert_eq!(completion.status(), AgentWrapperCompletionStatus::Completed);
//! assert_eq!(completion.final_text(), Some("Hello."));
//! # Ok::<(), std::io::Error>(())
//! ```

pub mod bounds;
mod capabilities;
mod completion;
mod data_writer;
mod event;
#[cfg(feature = "json-schema")]
mod json_schema;
mod kind;
mod metadata;
mod name;
mod projector;
mod shared_str;
mod tool;

pub use capabilities::{Capability, capabilities};
pub use completion::{AgentWrapperCompletion, AgentWrapperCompletionStatus, EnvelopeLine};
pub use event::AgentWrapperEvent;
#[cfg(feature = "json-schema")]
pub use json_schema::envelope_json_schema;
pub use kind::{AgentWrapperEventKind, AgentWrapperKind, InvalidAgentWrapperKind};
pub use metadata::EnvelopeMetadata;
pub use name::Name;
pub use projector::Projector;
pub use tool::{Tool, ToolBytes, ToolPhase, ToolStatus, ToolsFacet, ToolsSchema};
