//! Parts of the search that all logs share: parsing of queries, splitting into words, and snippets.
//!
//! ```text
//! what a person types ─▶ query ─▶ query of the index, and terms ─▶ the log's index ─▶ documents
//!                                      │                                              │
//!                                      └──────────────▶ snippet ◀─────────────────────┘
//! ```
//!
//! `query` checks the bounds and quotes every word, `narrow` makes conditions of the rest of a question, `words` is how texts are compared,
//! and `snippet` cuts out what is shown.

pub(crate) mod narrow;
pub(crate) mod query;
pub(crate) mod snippet;
pub(crate) mod words;
