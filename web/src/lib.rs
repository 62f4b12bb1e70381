//! The page: it folds what the hub sends and shows what agents do, live.
//!
//! It must never make HTML of what a stream says (it builds nodes), decode a dialect (the program `decoder` does), or let a component
//! see the session. Of the workspace it names `model`, and `encode` where a document is made.
//!
//! ```text
//! session ──▶ store ──▶ pages ──▶ components
//!  socket     model, signals      draw what the store holds, never see the session
//! ```
//!
//! Frames are folded into the [`model`] as they arrive. Signals are set once per frame of the screen, so that
//! a burst of a thousand events costs one painting.
//!
//! A module that is declared without `cfg` decides something and is tested natively; the component, store or
//! session that uses it only carries that out. So `compare`, `find`, `forms`, `replay`, `timeline` and `wall`
//! exist twice: here, and below `components` or `store`.
//!
//! Reading order, by what it is about:
//!
//! * the way of a frame: `session` (one socket), [`link`] (when it connects), [`model`] (the state), `store` (signals), `app`, `pages`,
//!   `components`, `dom` (texts that grow)
//! * a conversation: [`pieces`]; its texts [`markdown`], [`plain`], [`highlight`], [`mathematics`], [`diagrams`], [`images`]; its calls
//!   [`calls`], [`kinds`], [`whole`], [`failed`], [`latency`], [`spinners`]; who did it [`agents`], [`leading`], [`signed`]; all of it in short
//!   [`outline`], [`details`], [`context`], [`since`], [`timeline`]; numbers [`span`], [`number`]
//! * reading it: [`window`], [`follow`], `scroll`, [`open`], [`find`], [`matching`], [`seen`], [`replay`], [`compare`], `drop` and `decoder`
//!   (recordings), [`reread`]
//! * all conversations: [`fleet`], [`wall`], [`search`], and the operator's pages, [`overview`]
//! * acting: [`control`], [`forms`], [`attaching`], [`rights`], [`sharing`], [`exports`], [`deleting`], [`feedback`]
//! * around it: [`route`], `navigation`, [`faces`], [`panes`], [`keyboard`], `keys`, [`speech`], [`starts`], `settings`, `browser`, `page_modules`, `modules`

pub mod agents;
pub mod attaching;
pub mod calls;
pub mod compare;
pub mod context;
pub mod control;
pub mod deleting;
pub mod details;
pub mod diagrams;
pub mod exports;
pub mod faces;
pub mod failed;
pub mod feedback;
pub mod find;
pub mod fleet;
pub mod follow;
pub mod forms;
pub mod highlight;
pub mod images;
pub mod keyboard;
pub mod kinds;
pub mod latency;
pub mod leading;
pub mod link;
pub mod markdown;
pub mod matching;
pub mod mathematics;
pub mod model;
pub mod number;
pub mod open;
pub mod outline;
pub mod overview;
pub mod panes;
pub mod pieces;
pub mod plain;
pub mod replay;
pub mod reread;
pub mod rights;
pub mod route;

pub mod search;
pub mod seen;
pub mod signed;
pub mod since;
pub mod span;
pub mod speech;
pub mod spinners;
pub mod starts;
pub mod timeline;
pub mod wall;
pub mod whole;
pub mod window;

pub use ::model::{flow, format, preview};

#[cfg(target_arch = "wasm32")]
mod app;
#[cfg(target_arch = "wasm32")]
mod browser;
#[cfg(target_arch = "wasm32")]
#[expect(unreachable_pub, reason = "leptos makes the properties of every component public")]
mod components;
#[cfg(target_arch = "wasm32")]
mod decoder;
#[cfg(target_arch = "wasm32")]
mod dom;
#[cfg(target_arch = "wasm32")]
mod drop;
#[cfg(target_arch = "wasm32")]
mod keys;
#[cfg(target_arch = "wasm32")]
mod modules;
#[cfg(target_arch = "wasm32")]
mod navigation;
#[cfg(target_arch = "wasm32")]
mod page_modules;
#[cfg(target_arch = "wasm32")]
#[expect(unreachable_pub, reason = "leptos makes the properties of every component public")]
mod pages;
#[cfg(target_arch = "wasm32")]
mod scroll;
#[cfg(target_arch = "wasm32")]
mod session;
#[cfg(target_arch = "wasm32")]
mod settings;
pub mod sharing;
#[cfg(target_arch = "wasm32")]
mod store;

#[cfg(target_arch = "wasm32")]
pub use app::start;
