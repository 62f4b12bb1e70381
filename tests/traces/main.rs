//! Decoders on whole streams: the project's own small ones, each with the events that it must give, and recordings of
//! others where they are at hand.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails right there"
)]

mod agno; // runs that pause, calls that fail, grow or are handed over
mod corpus; // what the fuzzer found
mod detected; // what recordings are taken for
mod encoders; // the table of what each dialect is told
mod events; // events as lines that a person can read
mod exchanges; // requests and answers of agent loops
mod golden; // each fixture gives exactly its events
mod hostile; // damaged and random streams
mod laws; // what holds for the events of any stream
mod seeds; // what the seed documents print
mod split; // I11: however the bytes are cut
mod streams; // which streams there are
