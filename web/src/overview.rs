//! The operator's pages: the table of all runs, the dashboard of figures and the search. A program of their own, loaded when they are opened, so
//! that whoever reads a conversation does not wait for it.
//!
//! ```text
//! session ──▶ board ──▶ runs        rows as the hub sends them, live
//!             fetch ──▶ dashboard   sums over time, asked for
//!             fetch ──▶ search      texts that are found, with the rows for their titles
//! ```
//!
//! What is decided without a browser is in [`table`], [`address`], [`bulk`], [`figures`], [`chart`], [`terms`] and [`hits`].

pub mod address;
pub mod bulk;
pub mod chart;
pub mod figures;
pub mod hits;
pub mod table;
pub mod terms;

#[cfg(target_arch = "wasm32")]
mod app;
#[cfg(target_arch = "wasm32")]
mod board;
#[cfg(target_arch = "wasm32")]
#[expect(unreachable_pub, reason = "leptos makes the properties of every component public")]
mod dashboard;
#[cfg(target_arch = "wasm32")]
#[expect(unreachable_pub, reason = "leptos makes the properties of every component public")]
mod grid;
#[cfg(target_arch = "wasm32")]
#[expect(unreachable_pub, reason = "leptos makes the properties of every component public")]
mod panel;
#[cfg(target_arch = "wasm32")]
#[expect(unreachable_pub, reason = "leptos makes the properties of every component public")]
mod question;
#[cfg(target_arch = "wasm32")]
#[expect(unreachable_pub, reason = "leptos makes the properties of every component public")]
mod runs;
#[cfg(target_arch = "wasm32")]
#[expect(unreachable_pub, reason = "leptos makes the properties of every component public")]
mod search;
#[cfg(target_arch = "wasm32")]
#[expect(unreachable_pub, reason = "leptos makes the properties of every component public")]
mod selected;

#[cfg(target_arch = "wasm32")]
pub use app::start;
