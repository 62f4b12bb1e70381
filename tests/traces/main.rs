//! Decoders and encoders on what others wrote: recordings where they are at hand, exchanges with model APIs, and the samples
//! of the seed documents. Small streams of the project's own are tested beside the decoders, in `shared/dialects/tests`.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails right there"
)]

mod detected; // what recordings are taken for
mod encoders; // the table of what each dialect is told
#[path = "../../shared/dialects/tests/streams/events.rs"]
mod events; // events as lines that a person can read
mod exchanges; // requests and answers of agent loops
#[path = "../../shared/dialects/tests/streams/lawful.rs"]
mod lawful; // what holds for the events of any stream
mod laws; // the recordings keep it
mod recordings; // which recordings there are
mod redacted; // what is taken for a secret
mod seeds; // what the seed documents print
mod split; // I11: however the bytes are cut
#[path = "../../shared/dialects/tests/streams/stream.rs"]
mod stream; // a stream in a file
