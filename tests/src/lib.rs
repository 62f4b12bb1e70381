//! The harness: a real hub in a process of its own, viewers and publishers over real sockets, a network that can be
//! cut. Every wait has a deadline and says what it waited for; nothing sleeps.
//!
//! It must never look into the hub: it names neither `hub` nor `agents` nor `edge`, starts the binary, and sees what a client, the system or
//! the log's file shows.
//!
//! Reading order: [`wait`] (the only place that lets time pass) → [`hub`], [`process`] (the hub and what the system says of it) → [`wire`], [`raw`]
//! (one socket, one connection) → [`publisher`], [`bulk`] → [`viewer`], [`watcher`] → [`relay`], [`network`], [`tampering_proxy`], [`front_proxy`] (what lies
//! between) → [`stand_in`], [`origin`], [`upstream`], [`secure`], [`model`], [`actor`], [`replayer`] (servers in place of a model's) → [`jwt`] (tokens
//! of others) → [`browser`], `firefox` → [`recordings`], [`installed`] (streams and packages of others) → [`load`] (what
//! benches publish and read with) → [`scale`] (how far several hubs go).

pub mod actor;
pub mod browser;
pub mod bulk;
mod firefox;
pub mod front_proxy;
pub mod hub;
pub mod installed;
pub mod jwt;
pub mod load;
pub mod model;
pub mod network;
pub mod origin;
pub mod process;
pub mod publisher;
pub mod raw;
pub mod recordings;
pub mod relay;
pub mod replayer;
pub mod scale;
pub mod secure;
pub mod stand_in;
pub mod tampering_proxy;
pub mod upstream;
pub mod viewer;
pub mod wait;
pub mod watcher;
pub mod wire;

pub use browser::BrowserPage;
pub use firefox::FirefoxPage;
pub use hub::{HubStart, TestHub};
pub use network::{TestMachine, TestNetwork};
pub use origin::{ScriptedServer, ServerStep};
pub use process::ChildProcess;
pub use publisher::{StreamingBody, TestPublisher};
pub use relay::{CuttableRelay, SpreadingRelay};
pub use viewer::TestViewer;
pub use watcher::ListWatcher;
