//! The model of Fanlight: what an event is, how events become the view that a person sees, and how they travel.
//!
//! Everything here is synchronous, total and pure: no I/O, no clock, no randomness. Time comes in as an argument. The
//! same code runs in the hub, in the browser (WASM), in the command line and in the tests, so a snapshot made in one
//! place equals the one made in another (invariant I6).
//!
//! Reading order: [`limits`] → [`ids`] → [`position`] → [`event`] → [`envelope`] → [`view`] → [`fold`] →
//! [`conflate`] → [`lens`] → [`frame`] → [`tracker`]; [`dialect`] turns foreign bytes into events, [`encode`] events into
//! foreign bytes, [`exchange`] the requests and answers of model APIs into conversations. What is shown of a view is in [`flow`], [`preview`] and [`format`](mod@format).

pub mod limits;

pub mod code;
pub mod command;
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
pub mod price;
pub mod snapshot;
pub mod unfold;
pub mod view;

pub mod retry;

pub mod dialect;
pub mod digest;
pub mod encode;
pub mod exchange;
pub mod frame;
pub mod recording;
#[cfg(feature = "schema")]
pub mod schema;
#[cfg(feature = "spans")]
pub mod spans;
pub mod summary;
pub mod text;

pub mod flow;
pub mod format;
pub mod preview;

pub mod document;
pub mod reconstruct;

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
pub use position::{Epoch, Position, Seq};
pub use text::Text;
pub use view::View;
