//! What a host sends to each coding agent, and how it decodes the answers.
//!
//! One module per agent. Each builds requests from the types that are generated from the agent's own schema. If the
//! agent renames a field or starts to require it, that is a compile error here. The modules are pure: they turn values
//! into lines or HTTP requests, and answers into values. Starting processes, reading files and routing lines is left to
//! their users: the runtime's drivers and the recorder.
//!
//! Versions of an agent support different things. Each module has one table of [`Support`] entries, which say from
//! which version on, or up to which version, something is sent.
//!
//! A generated type is constructed from the fields that its schema requires:
//!
//! ```
//! use interlingua_native::codex::{ClientRequest, TextUserInput, TurnStartParams};
//! use interlingua_native::new;
//!
//! let input = vec![new!(TextUserInput { text: "hello" }).into()];
//! let mut params = new!(TurnStartParams { input: input, thread_id: "t" });
//! params.model = Some("gpt-5.5".to_owned());
//! let request = serde_json::to_string(&ClientRequest::from(params))?;
//! assert!(request.starts_with(r#"{"method":"turn/start","params":{"input":[{"type":"text","text":"hello"}]"#));
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! A field that is not required, or no longer has that name, does not compile:
//!
//! ```compile_fail
//! use interlingua_native::codex::TextUserInput;
//! use interlingua_native::new;
//!
//! let input = new!(TextUserInput { words: "hello" });
//! ```

pub mod acp;
pub mod amp;
pub mod claude;
pub mod codex;
pub mod form;
pub mod opencode;
mod support;

pub use support::Support;

/// Message of a refusal without a reason from the user. Agents continue their turn if a refusal has a message.
pub const REFUSAL_MESSAGE: &str = "The user refused this.";
