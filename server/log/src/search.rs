//! What every search of a log has in common: how a query is read, what counts as a word, and the text around a match.

pub(crate) mod query;
pub(crate) mod snippet;
pub(crate) mod words;
