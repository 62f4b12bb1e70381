//! Who hears the load: the hub, or a page that is told by the agent's own server, each token as an event of its own, as
//! the usual pages are.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse as _;
use axum::routing::post;
use bytes::Bytes;
use encode::{Encode, EncodeOptions, encoding};
use futures_util::stream;
use model::Envelope;
use tests::publisher::TestPublisher;
use tokio::sync::{Mutex, mpsc};

use crate::Outcome;

/// Events that wait for a page: all of a run, so that a slow page does not slow the load down.
const WAITING_MAX: usize = 1 << 20;

/// Where the load goes: to the hub, or straight to a page as server-sent events.
pub(crate) enum Ear {
    Hub(Box<TestPublisher>),
    Page(Box<dyn Encode>, mpsc::Sender<Bytes>),
}

impl Ear {
    /// The hub at `hub`.
    pub(crate) async fn hub(hub: SocketAddr, conversation: &str) -> Self {
        Self::Hub(Box::new(TestPublisher::named(conversation, hub, conversation).await))
    }

    /// Whoever asks at the address that comes back, from the beginning on.
    pub(crate) async fn page(conversation: &str) -> Outcome<(Self, SocketAddr)> {
        let encoding = encoding("ai-sdk").ok_or("no such encoding")?;
        let (say, said) = mpsc::channel::<Bytes>(WAITING_MAX);
        let said = Arc::new(Mutex::new(Some(said)));
        let tell = move || async move {
            let said = said.lock().await.take();
            let pieces = stream::unfold(said, |said| async move {
                let mut said = said?;
                let piece = said.recv().await?;
                Some((Ok::<_, std::io::Error>(piece), Some(said)))
            });
            let mut headers = vec![(CONTENT_TYPE.as_str(), encoding.content_type)];
            headers.extend(encoding.headers);
            let mut answer = Body::from_stream(pieces).into_response();
            for (name, value) in headers {
                answer.headers_mut().insert(name, value.parse().expect("a header of ours"));
            }
            answer
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let app = Router::new().route("/", post(tell));
        // Ends with the process.
        tokio::spawn(async move { axum::serve(listener, app).await });
        let encoder = encoding
            .encoder(&EncodeOptions { conversation: conversation.into(), ..EncodeOptions::default() });
        Ok((Self::Page(encoder, say), address))
    }

    /// Says events, one JSON object a line.
    pub(crate) async fn hear(&mut self, lines: &str) {
        match self {
            Self::Hub(publisher) => drop(publisher.says(lines).await),
            Self::Page(encoder, said) => {
                for line in lines.lines() {
                    let mut out = Vec::new();
                    encoder.event(&Envelope::parse(line).expect(line), &mut out);
                    // A page that went away hears nothing more.
                    drop(said.send(out.into()).await);
                }
            }
        }
    }
}
