//! What the hub is trusted for, under load: slow viewers, cut viewers, long runs. Real hub processes, real sockets.
//! `docs/chaos.md` says what each scenario does and what it gave; `cargo xtask chaos` runs them at full size.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a test that cannot go on fails right there, and what it prints is for people"
)]
#![expect(clippy::print_stdout, reason = "the figures are what a full run is for")]

mod author; // a publisher that counts
mod crash; // the hub is killed again and again
mod disk; // a log that may not grow any more
mod hostile; // neighbours that do their worst
mod hubs; // several hubs and databases on machines that fail
mod late; // a long run: joined late by snapshot and by replay, resumed after many events
mod logged; // hubs with a log on disk
mod outside; // the same neighbours, one kind at a time, measured from outside
mod replay; // every single event
mod settings; // sizes and the seed
mod slow; // viewers that do not read
mod soak; // everybody comes and goes for long; nothing is left of them
mod storm; // all viewers cut at once
mod story; // what is published
mod stream; // one measured stream

use tests::load::{event, histogram};
