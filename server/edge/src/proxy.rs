//! `ANY /proxy/{upstream}/…`: passes calls of model APIs on, byte for byte in both directions (I12), and takes what is
//! said in them into conversations. The rules are in docs/integrations/proxy.md.
//!
//! ```text
//! caller ──request──▶ Asking ───▶ upstream
//!    ▲                   │ copy        │
//!    └──── Answering ◀───┼──answer─────┘
//!              │ copy    ▼
//!              └─────▶ Tape ──▶ Recording ──▶ Joiner, decoder ──▶ hub
//! ```
//!
//! The call never waits for its recording: the tape takes what it can hold, and what it cannot is lost to the recording
//! alone. Keys are passed on and kept nowhere.

mod browser;
mod call;
mod calls;
mod copied;
mod headers;
mod inflate;
mod order;
mod quiet;
mod record;
mod seats;
mod secrets;
mod socket;
mod tape;
mod target;

pub(crate) use call::call;
pub(crate) use calls::{COPIES_LOST, PROXIED, Proxy};
pub(crate) use headers::keys;
pub(crate) use record::{close, keep_up};
