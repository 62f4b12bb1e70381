//! The harness: a real hub in a process of its own, viewers and publishers over real sockets, a network that can be
//! cut. Every wait has a deadline and says what it waited for; nothing sleeps.

pub mod actor;
pub mod browser;
pub mod hub;
pub mod installed;
pub mod meddler;
pub mod model;
pub mod origin;
pub mod process;
pub mod publisher;
pub mod raw;
pub mod recordings;
pub mod relay;
pub mod replayer;
pub mod secure;
pub mod stand_in;
pub mod upstream;
pub mod viewer;
pub mod wait;
pub mod watcher;
pub mod wire;

pub use browser::Page;
pub use hub::Hub;
pub use origin::{Origin, Step};
pub use process::Process;
pub use publisher::{Body, Publisher};
pub use relay::Relay;
pub use viewer::Viewer;
pub use watcher::Watcher;
