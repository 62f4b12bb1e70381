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
//! view (`encode::reconstruct`), and so a run that died goes on from what the log has ([`Agent::resume`]).

mod agent;
mod calls;
mod ids;
mod model;
mod plan;
mod scribe;
mod shell;
mod sinks;
pub(crate) mod tools;

pub use agent::{Agent, Answer, Ask, Command, Input};
pub use calls::Execute;
pub use plan::Plan;

pub(crate) use self::model::{
    ANTHROPIC_VERSION, Heard, Hearing, Way, failure, no_key, post, put_key, unanswered,
};
pub(crate) use ids::Ids;
pub(crate) use scribe::Scribe;
pub(crate) use shell::{Parts, RunAddress, Shell, Word, left_unheard};

/// What the runs of the hub's own agents name as their dialect.
pub(crate) const NAME: &str = "runner";

/// The failure of runs that the hub ended because it stopped; they can go on.
pub(crate) const HUB_STOPPED: &str = "hub_stopped";
