//! The store in a Postgres database, which any number of servers share.
//!
//! * **Leases.** A session with something to do is owned by one server ([`member`], [`heartbeat`]). Every append shows
//!   the epoch of its lease and the next sequence, and is refused if another server has taken over ([`append`]).
//! * **Writing.** The appends of many sessions share a transaction ([`lane`]).
//! * **Signals.** After a commit, other servers are told which session has new events ([`outbox`], [`listener`]). They
//!   read the events from the database ([`follower`]). A signal that is lost costs time only.
//! * **The order of all events** is that of the transactions that wrote them ([`positions`]).
//! * **Commands** for a session that another server owns are rows ([`command`], [`fleet`]).

mod append;
mod command;
mod connection;
mod error;
mod events;
mod fleet;
mod fold;
mod follower;
mod global_tail;
mod heartbeat;
mod lane;
mod lease;
mod limits;
mod listener;
mod member;
mod member_file;
mod message;
mod options;
mod outbox;
mod password;
mod pool;
mod positions;
mod publisher;
mod purge;
mod schema;
mod search;
mod session;
mod session_filter;
mod store;
mod summary;
mod text;
mod tls;
mod uploads;
mod url;
mod writes;

pub(crate) use positions::StoredRuns;
pub(crate) use store::PostgresStore;

pub use fleet::{CommandAnswer, Fleet, FleetStatus, TakenCommand};
pub use options::{PostgresOptions, ServerIdentity};
pub use url::{StoreUrl, StoreUrlError};
