//! Parts of the search that all logs share: parsing of queries, splitting into words, and snippets.

pub(crate) mod query;
pub(crate) mod snippet;
pub(crate) mod words;
