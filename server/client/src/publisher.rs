//! Publishing over HTTP: a stream in a dialect, or native events.

use std::error::Error;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::Method;
use hyper::body::Frame;
use hyper::header::{CONTENT_TYPE, HeaderName};
use model::{ConversationId, Envelope, Position, RunId};
use serde::Deserialize;
use url::Url;

use super::HubAddress;
use super::http::{Body, Http, whole};

/// The header with the run to which a stream belongs.
const RUN_HEADER: HeaderName = HeaderName::from_static("fanlight-run");

/// The header with the durability that the answer must mean.
const DURABILITY_HEADER: HeaderName = HeaderName::from_static("fanlight-durability");

/// The header with the publisher, its life and the numbers of its events.
const PUBLISHER_HEADER: HeaderName = HeaderName::from_static("fanlight-publisher");

/// The level that every log offers: events without numbers need not wait for a disk.
const NOT_WAITED_FOR: (HeaderName, &str) = (DURABILITY_HEADER, "memory");

/// The content type of a JSON body.
const JSON: (HeaderName, &str) = (CONTENT_TYPE, "application/json");

/// Publishes to one hub. Cheap to clone; clones share their connections.
#[derive(Debug, Clone)]
pub struct HttpPublisher {
    address: HubAddress,
    /// The connections to it.
    http: Http,
}

/// The hub's answer to a publication.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PublishReceipt {
    /// The position of the conversation after it.
    pub position: Position,
    /// The number of events that were made of it.
    pub events: u64,
    /// The number of anomalies that were found in it.
    #[serde(default)]
    pub anomalies: u64,
}

/// Why something was not published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// No connection could be made: nothing was sent, so a retry is safe.
    #[error("no hub answers at {url}: {cause}")]
    Unreachable {
        /// The address of the hub.
        url: HubAddress,
        /// The reason of the failure.
        cause: String,
    },
    /// The connection broke: it is unknown how much the hub has taken.
    #[error("the connection to {url} broke: {cause}")]
    Broken {
        /// The address of the hub.
        url: HubAddress,
        /// The reason of the failure.
        cause: String,
    },
    /// The hub refused the request.
    #[error("the hub at {url} refused: {status} {message}")]
    Refused {
        /// The address of the hub.
        url: HubAddress,
        /// The HTTP status of the answer.
        status: u16,
        /// The message of the hub.
        message: String,
    },
}

impl HttpPublisher {
    /// A publisher for the hub at `address`. It connects with the first request.
    pub fn new(address: HubAddress) -> Self {
        Self { http: Http::new(address.clone()), address }
    }

    /// Streams `body` into `conversation`. With `run`, the stream is a step of that run, to which other
    /// streams may add. Ready when the body has ended and the hub has taken it in memory. Fails as every
    /// request does; after a [`PublishError::Broken`] what was sent may be in the conversation.
    pub async fn ingest<E: Error + Send + Sync + 'static>(
        &self,
        dialect: &str,
        conversation: &ConversationId,
        run: Option<&RunId>,
        body: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    ) -> Result<PublishReceipt, PublishError> {
        let run = run.map(|run| (RUN_HEADER, run.as_str()));
        let headers = [NOT_WAITED_FOR].into_iter().chain(run);
        self.publish(Method::POST, &self.address.ingest(dialect, conversation), headers, streamed(body)).await
    }

    /// Publishes native events in one request.
    pub async fn events(
        &self,
        conversation: &ConversationId,
        events: &[Envelope],
    ) -> Result<PublishReceipt, PublishError> {
        let body = serde_json::to_vec(events).map_err(|error| self.broken(&error))?;
        let url = self.address.events(conversation);
        self.publish(Method::POST, &url, [NOT_WAITED_FOR, JSON], whole(body)).await
    }

    /// Creates `conversation` from a file in the format `native`. Nothing is created if the file is wrong or
    /// the conversation has events.
    pub async fn import<E: Error + Send + Sync + 'static>(
        &self,
        conversation: &ConversationId,
        body: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    ) -> Result<PublishReceipt, PublishError> {
        self.publish(Method::PUT, &self.address.events(conversation), [], streamed(body)).await
    }

    /// Publishes numbered events in one request, exactly once (I10). `claim` is the value of the publisher
    /// header: the publisher, its life and the numbers. A gap and a fenced life are refused with 409.
    pub async fn numbered(
        &self,
        conversation: &ConversationId,
        events: &[Envelope],
        claim: &str,
    ) -> Result<PublishReceipt, PublishError> {
        let body = serde_json::to_vec(events).map_err(|error| self.broken(&error))?;
        let url = self.address.events(conversation);
        self.publish(Method::POST, &url, [(PUBLISHER_HEADER, claim), JSON], whole(body)).await
    }

    async fn publish(
        &self,
        method: Method,
        url: &Url,
        headers: impl IntoIterator<Item = (HeaderName, &str)>,
        body: Body,
    ) -> Result<PublishReceipt, PublishError> {
        let answer = self.http.send(method, url, headers, body).await?;
        let text = self.http.beginning(answer).await?;
        serde_json::from_slice(&text).map_err(|error| self.broken(&error))
    }

    fn broken(&self, error: &dyn Error) -> PublishError {
        self.http.broken(error.to_string())
    }
}

/// A body that is sent piece by piece.
fn streamed<E: Error + Send + Sync + 'static>(
    pieces: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
) -> Body {
    StreamBody::new(pieces.map(|piece| piece.map(Frame::data).map_err(Into::into))).boxed_unsync()
}
