//! The universal event, version 1.1: one language for what every coding agent says.
//!
//! A session is a sequence of [`UniversalEvent`]s. Each has an envelope (who, when, its sequence number) and an
//! [`EventData`], which is the event's `type` and `data` as one enum, so that a wrong pair cannot be built.
//! What an agent says and does are [`Item`]s: started, streamed, completed.
//!
//! All agents share one vocabulary. The [`ToolInput`] of a call depends on its [`ToolKind`] alone, and the
//! [`StatusData`] of a status item on its [`StatusLabel`]. Metadata has the same keys for every agent
//! ([`SessionMetadata`], [`TurnMetadata`], [`TurnEndMetadata`], [`PermissionMetadata`], [`QuestionMetadata`],
//! [`ErrorDetails`]); what has no key of its own is under `native`, in the agent's words.
//!
//! Building goes through functions that leave nothing to get wrong: [`EventData::item_started`] sets the item's
//! status itself, [`EventData::permission_resolved`] takes a [`Decision`], a [`SessionEnded`] has an exit code only
//! when it is an error, and an event's `source` and `synthetic` are one [`Origin`].
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
//! Reading is lenient where building is strict: a stream from elsewhere may break the rules (L1 to L18, see [`Rule`]),
//! and the [`Checker`] says which. An event type or content part this version does not know is kept as it came and
//! written back unchanged. Metadata of version 1.0 is read too; keys that are no longer known move under `native`.
//!
//! In `data`, a field without a value is `null`; fields documented as *left out* are absent instead.

// The macros of `wire` name this crate as its users do.
extern crate self as interlingua_schema;

mod checker;
mod content;
mod event;
mod ids;
mod item;
#[cfg(feature = "json-schema")]
mod json_schema;
mod lenient;
mod message;
mod metadata;
mod native_metadata;
mod notice;
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
pub use notice::{AgentUnparsed, ErrorCode, ErrorEvent};
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
