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

/// The header that names the run which a stream belongs to.
const RUN_HEADER: HeaderName = HeaderName::from_static("fanlight-run");

/// The header that names what the answer must mean.
const DURABILITY_HEADER: HeaderName = HeaderName::from_static("fanlight-durability");

/// The header that names the publisher, its life and the numbers of what it says.
const PUBLISHER_HEADER: HeaderName = HeaderName::from_static("fanlight-publisher");

/// The level that every log offers: what is published without numbers is not waited for on a disk.
const NOT_WAITED_FOR: (HeaderName, &str) = (DURABILITY_HEADER, "memory");

/// The type of a body of JSON.
const JSON: (HeaderName, &str) = (CONTENT_TYPE, "application/json");

/// Publishes to one hub. Cheap to clone; clones share their connections.
#[derive(Debug, Clone)]
pub struct HttpPublisher {
    address: HubAddress,
    http: Http,
}

/// The hub's answer: what it has taken.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PublishReceipt {
    /// Where the conversation stands with it.
    pub position: Position,
    /// How many events it became.
    pub events: u64,
    /// How much of it was odd.
    #[serde(default)]
    pub anomalies: u64,
}

/// Why something was not published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// No connection: nothing has left yet, so trying again is safe.
    #[error("no hub answers at {url}: {cause}")]
    Unreachable {
        /// Where.
        url: HubAddress,
        /// Why.
        cause: String,
    },
    /// The connection broke: nobody knows how much the hub has taken.
    #[error("the connection to {url} broke: {cause}")]
    Broken {
        /// Where.
        url: HubAddress,
        /// Why.
        cause: String,
    },
    /// The hub said no.
    #[error("the hub at {url} refused: {status} {message}")]
    Refused {
        /// Where.
        url: HubAddress,
        /// The HTTP status.
        status: u16,
        /// What the hub said.
        message: String,
    },
}

impl HttpPublisher {
    /// Publishes to the hub at `address`. Connects only when there is something to publish.
    pub fn new(address: HubAddress) -> Self {
        Self { http: Http::new(address.clone()), address }
    }

    /// Streams `body` into `conversation`. With a `run`, the stream is one step of that run, which others may continue.
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

    /// Makes `conversation` of a file in the format `native`.
    pub async fn import<E: Error + Send + Sync + 'static>(
        &self,
        conversation: &ConversationId,
        body: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    ) -> Result<PublishReceipt, PublishError> {
        self.publish(Method::PUT, &self.address.events(conversation), [], streamed(body)).await
    }

    /// Publishes numbered events in one request: `claim` is the publisher, its life and the numbers, as the header has them.
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

/// A body of the pieces that come.
fn streamed<E: Error + Send + Sync + 'static>(
    pieces: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
) -> Body {
    StreamBody::new(pieces.map(|piece| piece.map(Frame::data).map_err(Into::into))).boxed_unsync()
}
