//! Publishing over HTTP: a stream in a dialect, or native events.

use bytes::Bytes;
use futures_util::Stream;
use model::{ConversationId, Envelope, Position, RunId};
use reqwest::{Body, Client, RequestBuilder, Response, Url, header};
use serde::Deserialize;

use super::HubAddress;

/// The header that names the run which a stream belongs to.
const RUN_HEADER: &str = "fanlight-run";

/// The header that names what the answer must mean.
const DURABILITY_HEADER: &str = "fanlight-durability";

/// The header that names the publisher, its life and the numbers of what it says.
const PUBLISHER_HEADER: &str = "fanlight-publisher";

/// Longest answer of the hub that is looked at, in bytes.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Publishes to one hub. Cheap to clone; clones share their connections.
#[derive(Debug, Clone)]
pub struct HttpPublisher {
    address: HubAddress,
    http: Client,
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
        // Building fails only where TLS or a resolver is configured, and neither is; the default is then the same.
        let http = Client::builder().no_proxy().build().unwrap_or_default();
        Self { address, http }
    }

    /// Streams `body` into `conversation`. With a `run`, the stream is one step of that run, which others may continue.
    pub async fn ingest<E: std::error::Error + Send + Sync + 'static>(
        &self,
        dialect: &str,
        conversation: &ConversationId,
        run: Option<&RunId>,
        body: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    ) -> Result<PublishReceipt, PublishError> {
        let mut request = self.post(self.address.ingest(dialect, conversation));
        if let Some(run) = run {
            request = request.header(RUN_HEADER, run.as_str());
        }
        self.answer(request.body(Body::wrap_stream(body))).await
    }

    /// Publishes native events in one request.
    pub async fn events(
        &self,
        conversation: &ConversationId,
        events: &[Envelope],
    ) -> Result<PublishReceipt, PublishError> {
        let body = serde_json::to_vec(events).map_err(|error| self.broken(&error))?;
        let request = self.post(self.address.events(conversation));
        self.answer(request.header(header::CONTENT_TYPE, "application/json").body(body)).await
    }

    /// Makes `conversation` of a file in the format `native`.
    pub async fn import<E: std::error::Error + Send + Sync + 'static>(
        &self,
        conversation: &ConversationId,
        body: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    ) -> Result<PublishReceipt, PublishError> {
        let request = self.with_token(self.http.put(self.address.events(conversation)));
        self.answer(request.body(Body::wrap_stream(body))).await
    }

    /// Publishes numbered events in one request: `claim` is the publisher, its life and the numbers, as the header has them.
    pub async fn numbered(
        &self,
        conversation: &ConversationId,
        events: &[Envelope],
        claim: &str,
    ) -> Result<PublishReceipt, PublishError> {
        let body = serde_json::to_vec(events).map_err(|error| self.broken(&error))?;
        let request = self.authorized(self.address.events(conversation)).header(PUBLISHER_HEADER, claim);
        self.answer(request.header(header::CONTENT_TYPE, "application/json").body(body)).await
    }

    fn post(&self, url: Url) -> RequestBuilder {
        // The level that every log offers: what is published here is not waited for on a disk.
        self.authorized(url).header(DURABILITY_HEADER, "memory")
    }

    fn authorized(&self, url: Url) -> RequestBuilder {
        self.with_token(self.http.post(url))
    }

    fn with_token(&self, request: RequestBuilder) -> RequestBuilder {
        match self.address.token() {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    async fn answer(&self, request: RequestBuilder) -> Result<PublishReceipt, PublishError> {
        let response = request.send().await.map_err(|error| {
            if error.is_connect() {
                return PublishError::Unreachable { url: self.address.clone(), cause: root(&error) };
            }
            self.broken(&error)
        })?;
        let status = response.status();
        let text = beginning(response).await.map_err(|error| self.broken(&error))?;
        if !status.is_success() {
            let message = message(&text);
            return Err(PublishError::Refused {
                url: self.address.clone(),
                status: status.as_u16(),
                message,
            });
        }
        serde_json::from_slice(&text).map_err(|error| self.broken(&error))
    }

    fn broken(&self, error: &(dyn std::error::Error + 'static)) -> PublishError {
        PublishError::Broken { url: self.address.clone(), cause: root(error) }
    }
}

/// The answer, as far as it is worth reading.
pub(super) async fn beginning(mut response: Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut text = Vec::new();
    while let Some(piece) = response.chunk().await? {
        let room = ANSWER_BYTES_MAX.saturating_sub(text.len()).min(piece.len());
        text.extend_from_slice(piece.get(..room).unwrap_or_default());
        if text.len() >= ANSWER_BYTES_MAX {
            break;
        }
    }
    Ok(text)
}

/// What a refusal says: the detail of a problem document, else its beginning.
pub(super) fn message(text: &[u8]) -> String {
    #[derive(Deserialize)]
    struct ProblemBody {
        code: String,
        detail: Option<String>,
    }
    if let Ok(problem) = serde_json::from_slice::<ProblemBody>(text) {
        return format!("{}: {}", problem.code, problem.detail.unwrap_or_default());
    }
    String::from_utf8_lossy(text).chars().take(200).collect()
}

/// The innermost cause: "connection refused" rather than "error sending request".
pub(super) fn root(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(cause) = error.source() {
        error = cause;
    }
    error.to_string()
}
