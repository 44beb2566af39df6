//! Client of the Interlingua HTTP API.
//!
//! A [`Client`] has one method per endpoint. If the server refuses a request, the error is a [`ClientError::Problem`]
//! with the server's problem document. If a request does not reach the server, the error names the address.
//!
//! There are four ways to read events:
//!
//! | method | what it returns |
//! |---|---|
//! | [`Client::events`] | one page of a session's events |
//! | [`Client::follow_events`] | the session's events until it ends, across reconnects: [`EventStream`] |
//! | [`Client::follow_all_events`] | the events of many sessions over one connection, across reconnects: [`AllEventStream`] |
//! | [`Client::stream_turn`] | the events of the turn that a message starts: [`TurnStream`] |
//!
//! [`Client::event_frames`] returns the server-sent events of one connection unchanged, including comments.
//!
//! ```no_run
//! use interlingua_client::{Client, CreateSessionRequest, EventQuery, MessageRequest};
//!
//! # async fn example() -> Result<(), interlingua_client::ClientError> {
//! let client = Client::builder("http://127.0.0.1:2468").token("secret").build()?;
//! client.create_session("s1", &CreateSessionRequest::new("mock")).await?;
//! client.send_message("s1", &MessageRequest::new("echo hello")).await?;
//!
//! let mut events = client.follow_events("s1", EventQuery::default()).await?;
//! while let Some(event) = events.next().await? {
//!     println!("{} {}", event.sequence, event.data.kind());
//! }
//! # Ok(())
//! # }
//! ```

mod all_events;
mod client;
mod endpoints;
mod error;
mod files;
mod follow;
mod frames;
mod search;
mod types;

pub use all_events::{AllEventStream, AllEventsQuery};
pub use client::{Client, ClientBuilder};
pub use error::{ClientError, ProblemDocument};
pub use files::{FileInfo, FilePath, MoveRequest, UnpackedArchive};
pub use follow::{EventStream, Reconnect};
pub use frames::{FrameStream, TurnStream};
pub use interlingua_sse::{Event as SseEvent, Frame};
pub use search::{SearchHit, SearchRequest, SearchResults};
pub use types::{
    AgentInfo, AgentModels, AttachedFile, CheckReport, CreateSessionRequest, CreatedSession, EventPage, EventQuery,
    ExportFormat, Health, HistoryPage, HistoryQuery, HistorySessionInfo, ImportProgress, ImportRequest, ImportResult,
    ImportState, ImportStatus, InstallProgress, InstallRequest, InstallState, InstallStatus, MessageRequest, ModeInfo,
    ModelInfo, PendingRequest, PermissionAnswer, QueuedMessage, Ready, RuleViolation, SecretsRequest, SessionInfo,
    SessionPage, SessionQuery, SessionState, SharedProcess, SharedProcessState, TurnQuery, UpdateSessionRequest,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
