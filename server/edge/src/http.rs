//! The HTTP side: ingest, native events, snapshots, whole results, lists, server-sent events, health, the
//! page, schemas, and the doors in `compat`.
//!
//! Every handler returns an answer or a [`Problem`](crate::inbound::problem::Problem). What may take long waits for a turn of work
//! (`spool`); what may be large waits for its reader in a file; what lasts holds a place among those that are
//! open. Requests that need a caller get it from `access`.

pub(crate) mod access;
mod app_state;
pub(crate) mod audit;
pub(crate) mod body;
pub(crate) mod budgets;
pub(crate) mod commands;
pub(crate) mod compat;
pub(crate) mod conversations;
pub(crate) mod delete;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod figures;
pub(crate) mod health;
pub(crate) mod help;
pub(crate) mod hubs;
pub(crate) mod import;
pub(crate) mod ingest;
mod markup;
pub(crate) mod native;
pub(crate) mod openapi;
pub(crate) mod page;
pub(crate) mod results;
pub(crate) mod schema;
pub(crate) mod search;
pub(crate) mod selection;
mod spool;
pub(crate) mod sse;
pub(crate) mod stream;
pub(crate) mod traces;
pub(crate) mod upstreams;

pub(crate) use app_state::{AppState, OwnerRoute, Reading};
