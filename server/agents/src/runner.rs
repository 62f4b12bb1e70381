//! The hub's own loop: asks a model, executes the tools that it calls while it is still answering, returns
//! the results to it, and so on until it has answered. Everything that happens becomes an event of one run.
//!
//! ```text
//!              ┌────────────── commands ─────────────┐
//! model ─┐     │                                     ├─▶ log (events)
//! tools ─┼─ inputs ─▶ Agent (pure: no clock, no I/O) ┼─▶ model (ask, hang up)
//! person ┘                                           └─▶ tools (execute, stop)
//! ```
//!
//! [`Agent`] decides; [`Shell`] only carries out. The agent keeps no history: each request is made from the
//! conversation's view (`encode::reconstruct`), so a run that died goes on from what the log has
//! ([`Agent::resume`]).

mod agent;
mod calls;
mod model;
mod note;
mod shell;

use agent::{Agent, Command, Input};

pub(crate) use shell::Shell;
