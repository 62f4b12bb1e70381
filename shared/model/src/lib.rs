//! The model of Fanlight: what an event is, how events become the view that a person sees, and how they travel.
//!
//! Everything here is synchronous, total and pure: no I/O, no clock, no randomness. Time comes in as an argument. The
//! same code runs in the hub, in the browser (WASM), in the command line and in the tests, so a snapshot made in one
//! place equals the one made in another (invariant I6).
//!
//! It must never know how a foreign stream is written: of the dialects it has the names alone ([`dialect`]). The crates
//! `dialects`, `encode`, `exchange` and `redact` stand on it, and it on none of the workspace.
//!
//! Reading order: [`limits`], [`code`] → [`ids`], [`position`], [`text`], [`json`] → [`event`], [`envelope`], [`anomaly`] → [`view`] → [`fold`] →
//! [`unfold`] → [`snapshot`] → [`conflate`], [`weigh`] → [`lens`], [`mask`] → [`frame`], [`command`] → [`tracker`], [`backoff`], [`until`] (the viewer's
//! side). Then what is told of a view: [`flow`], [`preview`], [`format`](mod@format), [`instructions`], [`retry`], [`price`], [`summary`], [`recording`]; and what
//! several crates need: [`dialect`], [`print`](mod@print), [`digest`], [`wildcard`], `schema` and `testkit` (behind features).

pub mod limits;

pub mod code;
pub mod command;
pub mod dialect;
pub mod ids;
pub mod json;
pub mod position;
pub mod print;

pub mod envelope;
pub mod event;

pub mod anomaly;
pub mod conflate;
pub mod fold;
pub mod lens;
pub mod mask;
pub mod price;
pub mod snapshot;
pub mod unfold;
pub mod view;
pub mod weigh;

pub mod retry;

pub mod digest;
pub mod frame;
pub mod recording;
#[cfg(feature = "schema")]
pub mod schema;
pub mod summary;
pub mod text;

pub mod flow;
pub mod format;
pub mod instructions;
pub mod preview;
pub mod wildcard;

#[cfg(any(test, feature = "testkit"))]
pub mod testkit;

pub mod backoff;
pub mod tracker;
pub mod until;

pub use envelope::Envelope;
pub use event::{Event, Kind};
pub use ids::{AgentId, ConversationId, MessageId, PartId, PublisherId, RunId, ToolCallId};
pub use json::Json;
pub use lens::Lens;
pub use mask::Mask;
pub use position::{Epoch, Position, Seq};
pub use text::SharedText;
pub use view::View;
