//! The sender to a server that answers runs.

use bytes::Bytes;
use http_body_util::Full;
use upstream::Sender;

/// Sends requests to a model, to an agent in another server, or to a tool server.
pub(crate) type Way = Sender<Full<Bytes>>;
