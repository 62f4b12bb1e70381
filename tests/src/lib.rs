//! The harness: a real hub in a process of its own, viewers and publishers over real sockets, a network that can be
//! cut. Every wait has a deadline and says what it waited for; nothing sleeps.

pub mod actor;
pub mod browser;
pub mod bulk;
mod firefox;
pub mod hub;
pub mod installed;
pub mod jwt;
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
