//! Requests to whoever answers a run, a model or an agent in another server, and their answers: what goes into a request's head, how an answer is
//! read as it comes, and what failures are called.

mod failure;
mod hearing;
mod post;

use bytes::Bytes;
use http_body_util::Full;
use upstream::Sender;

pub(crate) use failure::failure;
pub(crate) use hearing::{Heard, Hearing};
pub(crate) use post::{no_key, post, put_key, unanswered};

/// A way to a model, or to an agent in another server.
pub(crate) type Way = Sender<Full<Bytes>>;

/// The header that Anthropic's API wants, and its value.
pub(crate) const ANTHROPIC_VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");
