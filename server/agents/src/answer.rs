//! Requests to whoever answers a run, a model or an agent in another server, and their answers: what goes into a request's head, how an answer is
//! read as it comes, and what failures are called.

mod failure;
mod hearing;
mod post;

pub(crate) use failure::failure;
pub(crate) use hearing::{Heard, Hearing};
pub(crate) use post::{no_key, post, put_key, unanswered};

/// The header that Anthropic's API wants, and its value.
pub(crate) const ANTHROPIC_VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");
