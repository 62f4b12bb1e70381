//! The agents that can be asked by name: those that the hub runs itself, with a model and tools, and those in
//! other servers that it calls.
//!
//! Whoever asks (a person on the page, a client of a door) starts a turn with [`Agents::start`] and then
//! views the conversation like everybody else. A caller that hangs up leaves the run going.
//!
//! ```text
//! caller ──Turn──▶ start ──▶ messages, run.start in the conversation ──▶ Started { place, after }
//!                    └─ task: driver ──▶ runner or remote ──▶ events of the run ──▶ log, viewers, the caller
//! ```
//!
//! The crate must never know who asks or through which door: no axum, no viewers' sockets, no settings file.
//! It uses the hub through a [`Host`]. It names `hub`, `event-log`, `upstream` and the crates below
//! `shared/`.
//!
//! Reading order: `settings` (what can be set) → `host` → `run` (the address of a run, what can be said to
//! it) → `tools` (MCP) → `answer` and `call` (one request, and its answer as it comes) → `driver` (the life
//! of one run, whoever does it) → `runner` (the hub's own loop) and `remote` (agents in other servers) →
//! `registry` (all agents, and the runs that go on) with `seat`, `resume` and `consent`.

mod answer;
mod asked_about;
mod call;
mod consent;
mod driver;
mod error;
mod host;
mod ids;
mod registry;
mod remote;
mod resume;
mod rotate;
mod run;
mod run_publisher;
mod runner;
mod sampling;
mod seat;
mod settings;
mod streams;
mod terms;
mod tools;
mod way;

pub use consent::ConsentAnswer;
pub use error::{Refusal, StartError};
pub use exchange::Spoken;
pub use host::Host;
pub use registry::{AgentRow, Agents, Started, Turn};
pub use remote::ag_ui_messages;
pub use rotate::rotate;
pub use run::{Answer, HUB_STOPPED, RunAddress, is_of_runner};
pub use sampling::{SAMPLING, SAMPLING_BYTES_MAX};
pub use settings::{
    AgentConfig, AgentKind, Filled, FilledHeader, ModelApi, Plan, Provider, ProviderError, Reach,
    RemoteConfig, RemoteKind, RunnerConfig, StreamFile, StreamSink, StreamSocket, StreamTarget, ToolServer,
};
pub use terms::Terms;
pub use tools::Toolbox;
