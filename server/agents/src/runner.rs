//! The hub's own loop: asks a model, executes the tools that it calls while it still speaks, gives it the results, until it has
//! answered. Everything that happens is events of one run.
//!
//! ```text
//!              ┌────────────── commands ─────────────┐
//! model ─┐     │                                     ├─▶ log (events)
//! tools ─┼─ inputs ─▶ Agent (pure: no clock, no I/O) ┼─▶ model (ask, hang up)
//! person ┘                                           └─▶ tools (execute, stop)
//! ```
//!
//! [`Agent`] decides; [`Shell`] only carries out. It keeps no history: the next request is made of the conversation's
//! view (`encode::reconstruct`), and so a run that died goes on from what the log has ([`Agent::resume`]).

mod agent;
mod calls;
mod model;
mod note;
mod shell;

use agent::{Agent, Command, Input};

pub(crate) use shell::Shell;
