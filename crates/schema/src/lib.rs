//! The universal event, version 1.1: one event format for every coding agent.
//!
//! Claude Code, Codex, OpenCode and Amp each have their own wire protocol. Interlingua converts all of them into the
//! types of this crate, so that a client handles one stream whichever agent runs behind it.
//!
//! A session is a sequence of [`UniversalEvent`]s. An event has common fields (id, sequence number, time, session) and
//! an [`EventData`], which holds its `type` and `data` as one enum, so that the two cannot disagree. The content of a
//! session is made of [`Item`]s: messages, tool calls, tool results and status items. An item starts, may stream text,
//! and completes.
//!
//! All agents share one vocabulary. The [`ToolInput`] of a tool call depends only on its [`ToolKind`], and the
//! [`StatusData`] of a status item only on its [`StatusLabel`]. Metadata has the same keys for every agent
//! ([`SessionMetadata`], [`TurnMetadata`], [`TurnEndMetadata`], [`PermissionMetadata`], [`QuestionMetadata`],
//! [`ErrorDetails`]). Metadata without a common key is under `native`, as the agent sent it.
//!
//! # Building events
//!
//! Constructors rule out invalid events: [`EventData::item_started`] sets the item's status,
//! [`EventData::permission_resolved`] takes a [`Decision`], a [`SessionEnded`] has an exit code only if the session
//! ended with an error, and [`Origin`] keeps an event's `source` and `synthetic` consistent.
//!
//! ```
//! use interlingua_schema::{ContentPart, EventData, Item, ItemKind, Origin, ItemOutcome, Role, Timestamp, UniversalEvent};
//!
//! let mut item = Item::new("itm_1", ItemKind::Message);
//! item.role = Some(Role::Assistant);
//! item.content.push(ContentPart::text("Hello"));
//! let event = UniversalEvent::new(
//!     "evt_7",
//!     7,
//!     Timestamp::EPOCH,
//!     "ses_1",
//!     Origin::AGENT,
//!     EventData::item_completed(item, ItemOutcome::Completed),
//! );
//! let json = serde_json::to_string(&event)?;
//! assert!(json.starts_with(r#"{"event_id":"evt_7","sequence":7,"time":"1970-01-01T00:00:00.000Z""#));
//! assert!(json.ends_with(r#""raw":null}"#));
//! assert_eq!(serde_json::from_str::<UniversalEvent>(&json)?, event);
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! # Reading events
//!
//! Building is strict, reading is lenient. A stream from another producer may break the lifecycle rules (L1 to L18, see
//! [`Rule`]); the [`Checker`] reports which. Unknown event types and content parts are kept and written back unchanged.
//! Metadata of version 1.0 is read as well; keys that are no longer known move under `native`.
//!
//! In `data`, a field without a value is `null`. Fields documented as *omitted* are absent instead.

// The macros in `wire` refer to this crate by its name, as its users do.
extern crate self as interlingua_schema;

mod checker;
mod content;
mod error;
mod event;
mod ids;
mod item;
#[cfg(feature = "json-schema")]
mod json_schema;
mod lenient;
mod message;
mod metadata;
mod native_metadata;
mod origin;
mod raw;
mod request;
mod session;
mod sink;
mod status;
mod time;
mod tool_input;
mod turn;
mod usage;
pub mod wire;

pub use checker::{Checker, LineError, Rule, Violation};
pub use content::{ContentPart, FileAction, MAX_TITLE_CHARS, ToolKind, Visibility};
pub use error::{AgentUnparsed, ErrorCode, ErrorEvent};
pub use event::{EventData, UniversalEvent, UnknownEvent};
pub use ids::{EventId, ItemId, NativeItemId, NativeSessionId, SessionId};
pub use item::{Item, ItemDelta, ItemEvent, ItemKind, ItemOutcome, ItemStatus, Role};
#[cfg(feature = "json-schema")]
pub use json_schema::json_schema;
pub use message::{Attachment, Message};
pub use metadata::{
    ApprovalScope, ErrorDetails, McpServerInfo, PermissionMetadata, QuestionMetadata, QuestionOption, SessionMetadata,
    StopReason, TurnEndMetadata, TurnMetadata,
};
pub use native_metadata::{MetadataValue, NativeMetadata};
pub use origin::{Origin, Source};
pub use raw::RawJson;
pub use request::{Decision, Permission, PermissionStatus, Question, QuestionAnswer, QuestionStatus};
pub use session::{EndReason, SessionEnded, SessionStarted, StderrOutput, TerminatedBy};
pub use sink::{EventDataRef, EventRef, EventSink};
pub use status::{
    Change, Compaction, CompactionTrigger, Plan, PlanStep, RateLimit, Retry, StatusData, StatusLabel, StepStatus, Task,
    TaskState,
};
pub use time::{ParseTimestampError, Timestamp};
pub use tool_input::{
    AskedQuestion, ChangeKind, CommandInput, FileChange, FileChangeInput, FileReadInput, McpInput, PlanInput,
    QuestionInput, SearchInput, SearchTarget, SubAgentInput, TextEdit, ToolInput, WebInput,
};
pub use turn::{EndedPhase, StartedPhase, TurnEnded, TurnStarted, TurnStatus};
pub use usage::{Usage, round_cost};
pub use wire::JsonLines;

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
