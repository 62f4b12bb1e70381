//! Requests to whoever answers a run (a model, or an agent in another server) and their answers: the head of
//! a request, reading an answer as it comes, and the names of failures.

mod failure;
mod hearing;
mod post;

pub(crate) use failure::failure;
pub(crate) use hearing::{AnswerOutcome, Hearing};
pub(crate) use post::{no_key, post, put_key, unanswered};

/// The header that Anthropic's API requires, and its value.
pub(crate) const ANTHROPIC_VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");
