//! Event logs: the contract that every log fulfils, and three logs that fulfil it: in memory, in
//! a file, and in PostgreSQL.
//!
//! A conversation's events are appended in order, and each append names the head that it continues.
//! [`EventLog::append`] is called under the conversation's lock and never waits for a disk or a network: a
//! log that writes takes the events into its own bounded queue and returns a [`Ticket`]. Whoever asked for
//! more than memory waits until [`Progress`] has reached the ticket, see [`reached`]. Viewers never read the
//! log while the ring has what they need.
//!
//! A disk that is full or broken stops nobody: events go on to the viewers, tickets are not reached, and
//! those who wait for one get the error. What the queue cannot hold meanwhile is lost as single events, but
//! not as content: when the disk works again, [`EventLog::awaiting_checkpoint`] names the conversations of which the log
//! needs a [`Checkpoint`].
//!
//! The reading methods wait for the disk. Call them outside every lock and through [`blocking`].
//!
//! The crate does not know HTTP, sockets, conversations in memory, viewers, nor the configuration of the hub:
//! what it needs of these is an argument ([`Append`], [`Checkpoint`], [`Retention`], [`SqliteOptions`]). It depends
//! on `model` and no other crate of the workspace. As the lowest crate with a clock and threads, it contains
//! the [`clock`], the name of the [`machine`] and the [`priority`] of threads for all crates above it.
//!
//! Reading order: `contract` (what every log does) → `input` (what goes in) → `ownership` (which hub has a conversation) → `queries` (what comes back) → `progress` and `error` (what is stored, and why not) → `ring` and `memory` (the log in
//! memory) → `pack` and `blocks` (blocks of events) → `ops`, `queued_ends` and `queue` (what waits to be written, for every log that writes) →
//! `packer` → `sqlite` (the log on disk: queue → writer → file ← readers) →
//! `postgres` (the log in a database that several hubs share) → `stop`. `closed` is the log of hubs that are stopped. `measure` has the sums by hour and day, `search` the full text, `shared_access` what hubs share of access control. [`clock`], [`machine`] and [`priority`] stand on their own.

pub mod clock;
pub mod machine;
pub mod priority;

mod blocks;
mod closed;
#[cfg(any(test, feature = "testkit"))]
pub mod conformance;
mod contract;
mod conversation_count;
mod documents;
mod error;
mod input;
pub mod measure;
mod memory;
mod numbers;
mod ops;
mod ownership;
mod pack;
mod packer;
mod postgres;
mod progress;
mod purge;
mod queries;
mod queue;
mod queued_ends;
mod ring;
mod rows;
mod search;
mod sessions;
mod shared_access;
mod shared_settings;
mod sqlite;
mod stop;
mod tools;
mod views;
#[cfg(any(test, feature = "testkit"))]
mod write_control;

pub use closed::{ClosedLog, Rewrite};
pub use contract::EventLog;
pub use error::LogError;
pub use input::{
    Append, Attachment, Checkpoint, EndedToolCall, ImportId, PublisherMark, SearchDocument,
    SearchDocumentKind, SearchDocumentPlace,
};
pub use measure::{Dimension, MeasureQuery, MeasureSum, Measured, Measurement, Metric};
pub use memory::MemoryLog;
pub use ownership::{LeavingEnd, Owner, Purpose};
pub use postgres::{ClosedPostgresLog, PostgresError, PostgresLog, PostgresOptions, PostgresUrl};
#[cfg(any(test, feature = "testkit"))]
pub use postgres::{ModelDatabase, ModelFlaw, ModelLog};
#[cfg(all(unix, any(test, feature = "testkit")))]
pub use postgres::{PostgresPlace, TestPostgresServer, postgres_programs};
pub use progress::{
    Health, LogFigures, LostCommits, Progress, Ticket, Unwritten, WriteFault, reached, room, settled,
};
pub use purge::purged;
pub use queries::{
    EventPage, ListQuery, Retention, SearchHit, SearchQuery, SearchResults, StoredConversation, TextRange,
    ToolFigures,
};
pub use ring::Ring;
pub use sessions::{STORED_SESSIONS_EACH_MAX, STORED_SESSIONS_MAX, SharedSessions, StoredSession};
pub use shared_access::{
    STORED_LOGINS_MAX, STORED_PERIODS_MAX, STORED_SHARES_MAX, STORED_SPENDING_MS, SharedAccess, SharedLogins,
    SharedShares, SharedSpending, StoredLogin, StoredShare, StoredSpending,
};
pub use shared_settings::{SharedSettings, StoredSetting};
pub use sqlite::{ClosedSqliteLog, SqliteError, SqliteLog, SqliteOptions};
pub use stop::{CancelOnDrop, QueryCancel};
#[cfg(any(test, feature = "testkit"))]
pub use write_control::WriteControl;

/// Runs `read`, which waits for the disk, from within a task. On a runtime with several threads, the other
/// tasks of this thread move to another one meanwhile; on a runtime with one thread, or outside of any,
/// `read` is called as it is.
pub fn blocking<T>(read: impl FnOnce() -> T) -> T {
    match tokio::runtime::Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(tokio::runtime::RuntimeFlavor::MultiThread) => tokio::task::block_in_place(read),
        // A runtime with one thread, as in a test, has no other thread for its tasks.
        _ => read(),
    }
}
