//! One request to an agent elsewhere, and its answer as it comes.

use std::sync::Arc;

use bytes::Bytes;
use dialects::{Decoded, decoder};
use event_log::Ticket;
use http_body_util::Full;
use hyper::Request;
use hyper::header::{AUTHORIZATION, CONTENT_LOCATION, HeaderName, HeaderValue};
use model::event::{ErrorFact, Event, RunEnd};
use tokio::sync::mpsc;

use super::contract::{self, RemoteRequest};
use super::pause::AgentQuestion;
use super::translator::RemoteAnswerTranslator;
use crate::answer::{ANTHROPIC_VERSION, no_key, post, put_key};
use crate::call::Call;
use crate::driver::RunParts;
use crate::settings::{RemoteConfig, RemoteKind};

/// The name of who answers, in error texts.
const WHO: &str = "agent";

/// A request to an agent in another server and its answer. Owned by a task of its own, which the run aborts
/// to close the connection.
#[derive(Debug)]
pub(super) struct RemoteAgentRequest {
    /// What requests to models and agents have in common.
    call: Call,
    /// The settings of the agent.
    config: Arc<RemoteConfig>,
    /// The request that is sent.
    asked: RemoteRequest,
    /// Turns the answer into events of the run.
    tale: RemoteAnswerTranslator,
    /// The sender of notes, which the run reads.
    inbox: mpsc::Sender<Note>,
}

/// What a call reports to its run.
#[derive(Debug)]
pub(crate) enum Note {
    /// The agent has accepted the request.
    Taken,
    /// The agent's name for the run.
    Named(String),
    /// New events of the run.
    Events(Vec<Event>),
    /// The last note: how the run ends, what the agent asks a person before it goes on, and the failure if
    /// there was one.
    Over(RunEnd, Vec<AgentQuestion>, Option<ErrorFact>),
}

impl RemoteAgentRequest {
    /// Makes a call for a run: its request, and the translator of the answer. `ticket` is reached when the
    /// log has everything that the agent is told; notes go to `inbox`.
    pub(super) fn new(
        parts: &RunParts,
        config: &Arc<RemoteConfig>,
        ticket: Ticket,
        (asked, tale): (RemoteRequest, RemoteAnswerTranslator),
        inbox: mpsc::Sender<Note>,
    ) -> Self {
        let call = Call::new(parts, WHO, &config.upstream, ticket).with_patience(config.patience);
        Self { call, config: Arc::clone(config), asked, tale, inbox }
    }

    /// Sends the request and reports the answer. The last note is always [`Note::Over`].
    pub(super) async fn run(mut self) {
        let failure = self.talk().await.err();
        // The run may be gone; then nobody reads the note.
        let (end, asks) = self.tale.end();
        drop(self.inbox.send(Note::Over(end, asks, failure)).await);
    }

    /// Sends the request and reads the answer. The agent's name for the run comes from the header
    /// `Content-Location` (LangGraph) or from the first bytes of the answer (Agno).
    async fn talk(&mut self) -> Result<(), ErrorFact> {
        self.call.kept().await?;
        let answer = self.call.send(request(&self.config, &self.asked)?).await?;
        let place = answer.headers().get(CONTENT_LOCATION).and_then(|place| place.to_str().ok());
        let theirs = place.and_then(|place| place.rsplit_once("/runs/")).map(|(_, run)| run.to_owned());
        let mut decoder = decoder(self.config.speaks.decoder(), self.call.options());
        let mut known = Decoded::default();
        if let Some(decoder) = &mut decoder {
            decoder.feed(&self.asked.prelude, &mut known);
        }
        // All of this was told by an earlier answer, so it is not published again.
        drop(self.tale.tell(known));
        let mut hearing = self.call.hearing(answer, decoder)?;
        let mut is_named = hearing.is_refused();
        if !hearing.is_refused() {
            self.note(Note::Taken).await;
        }
        if let Some(theirs) = theirs {
            is_named = true;
            self.note(Note::Named(theirs)).await;
        }
        while let Some(said) = self.call.next(&mut hearing).await? {
            if !is_named && let Some(theirs) = contract::theirs(self.config.speaks, hearing.beginning()) {
                is_named = true;
                self.note(Note::Named(theirs)).await;
            }
            let events = self.tale.tell(said);
            if !hearing.is_refused() && !events.is_empty() {
                self.note(Note::Events(events)).await;
            }
            self.call.room().await;
        }
        hearing.verdict(self.tale.heard())
    }

    /// Reports to the run; waits while its inbox is full.
    async fn note(&self, note: Note) {
        drop(self.inbox.send(note).await);
    }
}

/// The request with its headers and key. Anthropic and LangGraph want the key in `x-api-key`, all others as a
/// bearer token. Fails with `no_key` if the environment does not have it.
pub(super) fn request(
    config: &RemoteConfig,
    asked: &RemoteRequest,
) -> Result<Request<Full<Bytes>>, ErrorFact> {
    let mut request = post(&config.upstream, &asked.path, &asked.media, asked.body.clone())?;
    let name = match config.speaks {
        RemoteKind::Anthropic => {
            let (name, value) = ANTHROPIC_VERSION;
            request.headers_mut().insert(name, HeaderValue::from_static(value));
            HeaderName::from_static("x-api-key")
        }
        RemoteKind::LangGraph => HeaderName::from_static("x-api-key"),
        _ => AUTHORIZATION,
    };
    if let Some(variable) = &config.key_env
        && !put_key(&mut request, name, variable)?
    {
        return Err(no_key(WHO, variable));
    }
    Ok(request)
}
