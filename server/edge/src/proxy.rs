//! The recording proxy, `ANY /proxy/{upstream}/…`: passes calls of model APIs on, byte for byte in both
//! directions (I12), and records what is said in them as events. The rules are in docs/integrations/proxy.md.
//!
//! ```text
//! caller ──request──▶ RequestBody ─▶ upstream
//!    ▲                   │ copy        │
//!    └──── AnswerBody ◀──┼──answer─────┘
//!              │ copy    ▼
//!              └─────▶ Tape ──▶ Recording ──▶ Joiner, decoder ──▶ hub
//! ```
//!
//! A call never waits for its recording: the tape takes what it can hold, and what it cannot hold is missing
//! in the recording alone. Keys are passed on and never stored.
//!
//! Reading order: `target`, `headers` and `browser` (what may pass), `call` and `copied` (passing on),
//! `lent` (calls with the hub's own key), `calls` (what all calls share), `tape` and `record` (the recording), `open_runs` (what a crash ends), `order` and `quiet` (when recorders
//! run), `secrets` (removal of keys), `inflate`, `socket` (`WebSockets`), `home` (which of several hubs records a call).

mod browser;
mod call;
mod calls;
mod copied;
mod headers;
mod home;
mod inflate;
mod lent;
mod open_runs;
mod order;
mod quiet;
mod record;
mod seats;
mod secrets;
mod socket;
mod tape;
mod target;

pub(crate) use call::{call, told, told_to_anybody};
pub(crate) use calls::{COPIES_LOST, PROXIED, Proxy};
pub(crate) use headers::{KEYS, keys};
pub(crate) use home::home;
pub(crate) use record::{close, keep_up, read_back};
pub(crate) use socket::{open_there, wants_socket};
