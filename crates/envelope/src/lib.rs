//! The bounded envelope: universal events for hosts that must never carry a tool's payload or a text without end.
//!
//! A [`Projector`] turns universal events into [`AgentWrapperEvent`]s: what was said as `text`, in pieces of at most 64 KiB;
//! tools as a [`ToolsFacet`] that counts what went through them; everything else as a short `message` of ours. What a
//! session came to is an [`AgentWrapperCompletion`].
//!
//! Three things hold for every event, however it came to be:
//!
//! * **It is bounded.** [`bounds`] has the limits. The fields of an event are private and made of types that enforce them;
//!   reading one enforces them again.
//! * **It has no payload.** No line of the agent's output, no argument, no output, no diff, no path: `data` is made of
//!   [`Name`]s and numbers.
//! * **Nothing is said twice.** Text that was streamed is not repeated when its message is over.
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
//! let mut stream = Conversion::new(converter_for(Agent::Codex), ConversionOptions::default());
//! let mut projector = Projector::new(Agent::Codex);
//! let mut said = String::new();
//! convert_log(&mut Reader::new(log.as_bytes())?, &mut stream, |event| {
//!     said.extend(projector.push(&event).filter_map(|event| event.text().map(str::to_owned)));
//!     Ok(())
//! })?;
//! assert_eq!(said, "Hello.");
//!
//! let completion = projector.finish().next().unwrap();
//! assert_eq!(completion.status(), AgentWrapperCompletionStatus::Completed);
//! assert_eq!(completion.final_text(), Some("Hello."));
//! # Ok::<(), std::io::Error>(())
//! ```

pub mod bounds;
mod capabilities;
mod completion;
mod event;
#[cfg(feature = "json-schema")]
mod json_schema;
mod kind;
mod metadata;
mod name;
mod object;
mod projector;
mod short;
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
