//! Decoders on whole streams: small ones of the project's own, each with the events that it must give, damaged ones and
//! random ones. Recordings of others are decoded in `tests/traces`.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails right there"
)]

mod agno; // runs that pause, calls that fail, grow or are handed over
mod corpus; // what the fuzzer found
mod detected; // which dialect a stream has
mod events; // events as lines that a person can read
mod golden; // each fixture gives exactly its events
mod hostile; // damaged and random streams
mod lawful; // what holds for the events of any stream
mod laws; // the fixtures keep it
mod own; // which fixtures there are
mod split; // I11: however the bytes are cut
mod stream; // a stream in a file
