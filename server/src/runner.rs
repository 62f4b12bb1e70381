//! The runner: asks a model, executes the tools that it calls while it still speaks, gives it the results, until it has
//! answered. Everything that happens is events of one run.
//!
//! ```text
//!              ┌────────────── commands ─────────────┐
//! model ─┐     │                                     ├─▶ log (events)
//! tools ─┼─ inputs ─▶ Agent (pure: no clock, no I/O) ┼─▶ model (ask, hang up)
//! person ┘                                           └─▶ tools (execute, stop)
//! ```
//!
//! [`Agent`] decides; who owns it only carries out. It keeps no history: the next request is made of the conversation's
//! view (`shared::reconstruct`), and so a run that died goes on from what the log has ([`Agent::resume`]).

mod agent;
mod calls;
mod ids;
mod plan;

pub use agent::{Agent, Answer, Ask, Command, Input};
pub use calls::Execute;
pub use plan::Plan;
