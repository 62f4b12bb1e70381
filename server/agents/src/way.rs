//! The way to a server that answers runs.

use bytes::Bytes;
use http_body_util::Full;
use upstream::Sender;

/// A way to a model, to an agent in another server, or to a server with tools.
pub(crate) type Way = Sender<Full<Bytes>>;
