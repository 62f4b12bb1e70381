//! Publishers: one over WebSocket with acks, one as the body of a POST that is still being written.

use std::net::SocketAddr;

use bytes::Bytes;
use futures_util::stream;
use model::Envelope;
use model::frame::{Ack, ClientFrame, Pub, ServerFrame};
use model::ids::{ConversationId, PublisherId};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::wait::within;
use crate::wire::WebSocketWire;

/// A publisher of native events that counts its frames.
#[derive(Debug)]
pub struct TestPublisher {
    wire: WebSocketWire,
    conversation: ConversationId,
    name: PublisherId,
    /// The number of the next frame.
    pub next: u64,
    /// The life of the publisher.
    pub life: u64,
}

/// What the hub said to a publication.
pub type PublishAnswer = Result<Ack, ServerFrame>;

impl TestPublisher {
    /// Connects.
    ///
    /// # Panics
    /// When `conversation` is no name of one.
    pub async fn connect(address: SocketAddr, conversation: &str) -> Self {
        Self::named("tests", address, conversation).await
    }

    /// Connects as the publisher `name`.
    ///
    /// # Panics
    /// When `conversation` is no name of one.
    pub async fn named(name: &str, address: SocketAddr, conversation: &str) -> Self {
        let conversation = ConversationId::parse(conversation).expect("a name");
        let (wire, name) = (WebSocketWire::connect(address).await, PublisherId::new(name));
        Self { wire, conversation, name, next: 1, life: 1 }
    }

    /// Publishes events, one JSON object a line, as the next frame.
    ///
    /// # Panics
    /// When the hub refuses.
    pub async fn says(&mut self, lines: &str) -> Ack {
        let number = self.next;
        self.next += 1;
        self.publish(number, lines).await.expect("the hub takes it")
    }

    /// Publishes one frame after the other. Returns the number of the last event.
    ///
    /// # Panics
    /// When the hub refuses, or there is no frame.
    pub async fn says_all(&mut self, frames: &[&str]) -> u64 {
        let mut last = None;
        for lines in frames {
            last = Some(self.says(lines).await.seq);
        }
        last.expect("a frame")
    }

    /// Publishes events as frame `number` of this life.
    ///
    /// # Panics
    /// When a line is no event, or the answer none.
    pub async fn publish(&mut self, number: u64, lines: &str) -> PublishAnswer {
        self.send(0, number, parsed(lines)).await
    }

    /// Publishes events, of which the first has the number `first`.
    ///
    /// # Panics
    /// When a line is no event, or the answer none.
    pub async fn numbered(&mut self, first: u64, lines: &str) -> PublishAnswer {
        let events = parsed(lines);
        self.send(first, first + events.len() as u64 - 1, events).await
    }

    async fn send(&mut self, pfirst: u64, pseq: u64, events: Vec<Envelope>) -> PublishAnswer {
        let frame = Pub {
            id: pseq,
            conv: self.conversation.clone(),
            pid: Some(self.name.clone()),
            pepoch: self.life,
            pfirst,
            pseq,
            durability: None,
            events,
        };
        self.wire.send(&ClientFrame::Pub(frame)).await;
        match self.wire.frame().await {
            ServerFrame::Ack(ack) => Ok(ack),
            error @ ServerFrame::Error { .. } => Err(error),
            other => panic!("no answer to a publication: {other:?}"),
        }
    }
}

/// The events in `lines`, one each.
fn parsed(lines: &str) -> Vec<Envelope> {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| Envelope::parse(line).expect(line)).collect()
}

/// A POST whose body is still being written.
#[derive(Debug)]
pub struct StreamingBody {
    writer: mpsc::Sender<Result<Bytes, std::io::Error>>,
    answer: JoinHandle<reqwest::Result<reqwest::Response>>,
}

impl StreamingBody {
    /// Begins a POST to `url`.
    pub fn post(client: &reqwest::Client, url: &str, headers: &[(&str, &str)]) -> Self {
        let (writer, reader) = mpsc::channel::<Result<Bytes, std::io::Error>>(8);
        let chunks =
            stream::unfold(reader, async |mut reader| reader.recv().await.map(|chunk| (chunk, reader)));
        let mut request = client.post(url).body(reqwest::Body::wrap_stream(chunks));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Self { writer, answer: tokio::spawn(request.send()) }
    }

    /// Writes some of the body. A hub that has answered already takes no more; that is no failure here.
    pub async fn write(&mut self, bytes: impl Into<Bytes>) {
        let _gone = within("the hub to read", self.writer.send(Ok(bytes.into()))).await.is_err();
    }

    /// Breaks off, as a dying process does.
    pub async fn abort(self) {
        self.answer.abort();
        let _ended = self.answer.await.is_err();
    }

    /// Ends the body; the status and the JSON that the hub answers.
    ///
    /// # Panics
    /// When the hub does not answer with JSON.
    pub async fn finish(self) -> (u16, Value) {
        drop(self.writer);
        let answer =
            within("the answer to a body", self.answer).await.expect("not aborted").expect("an answer");
        let status = answer.status().as_u16();
        (status, answer.json().await.expect("JSON"))
    }
}
