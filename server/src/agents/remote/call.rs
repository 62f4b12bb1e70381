//! One request to an agent elsewhere, and its answer as it comes.

use std::sync::Arc;

use bytes::Bytes;
use dialects::{DecodeOptions, Decoded, decoder};
use event_log::{Ticket, reached, room};
use http_body_util::Full;
use hyper::Request;
use hyper::header::{AUTHORIZATION, CONTENT_LOCATION, HeaderName, HeaderValue};
use model::event::{ErrorFact, Event, RunEnd};
use model::{RunId, frame};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::contract::{self, Asked};
use super::pause::Told;
use super::translator::RunTranslator;
use crate::clock;
use crate::config::{RemoteConfig, RemoteKind};
use crate::runner::{ANTHROPIC_VERSION, Hearing, Way, failure, no_key, post, put_key, unanswered};
use crate::state::Shared;

/// Who answers.
const WHO: &str = "agent";

/// A request to an agent in another server and its answer. Owned by the task of the run; dropping it hangs up on the
/// agent.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) shared: Arc<Shared>,
    pub(super) config: Arc<RemoteConfig>,
    pub(super) way: Way,
    pub(super) run: RunId,
    pub(super) asked: Asked,
    /// Takes what the agent says into the run.
    pub(super) tale: RunTranslator,
    /// Reached when the log has all that the agent is told.
    pub(super) ticket: Ticket,
    pub(super) inbox: mpsc::Sender<Note>,
}

/// What comes of a call.
#[derive(Debug)]
pub(super) enum Note {
    /// The agent took the request.
    Taken,
    /// By this name it knows the run.
    Named(String),
    /// It says something.
    Events(Vec<Event>),
    /// Nothing more comes, and this is asked of a person before it goes on.
    Over(RunEnd, Vec<Told>, Option<ErrorFact>),
}

impl Call {
    /// Asks, and hands over what is said. The last note says that nothing more comes.
    pub(super) async fn run(mut self) {
        let failure = self.talk().await.err();
        // Nobody listens to an agent that was hung up on.
        let (end, asks) = self.tale.end();
        drop(self.inbox.send(Note::Over(end, asks, failure)).await);
    }

    async fn talk(&mut self) -> Result<(), ErrorFact> {
        let log = self.shared.hub.log();
        let level = frame::Durability::Stored.min(log.durability());
        reached(log, self.ticket, level)
            .await
            .map_err(|error| failure("log_failed", &error.to_string(), true))?;
        let request = request(&self.config, &self.asked)?;
        let patience = self.config.patience;
        let silent = || {
            let what = format!("the agent said nothing for {} s", patience.as_secs());
            failure("agent_silent", &what, true)
        };
        let answer = timeout(patience, self.way.send(request)).await.map_err(|_elapsed| silent())?;
        let answer = answer.map_err(|fault| unanswered(WHO, &self.config.upstream, &fault))?;
        let place = answer.headers().get(CONTENT_LOCATION).and_then(|place| place.to_str().ok());
        let theirs = place.and_then(|place| place.rsplit_once("/runs/")).map(|(_, run)| run.to_owned());
        let options = DecodeOptions {
            run: self.run.clone(),
            part_prefix: format!("{}.", clock::fresh_name()).into(),
            run_goes_on: false,
            ..DecodeOptions::default()
        };
        let decoder = decoder(self.config.speaks.decoder(), options);
        let mut decoder = decoder.ok_or_else(|| failure("internal", "no decoder for the agent", false))?;
        let mut known = Decoded::default();
        decoder.feed(&self.asked.prelude, &mut known);
        // All of it was told by an answer before.
        drop(self.tale.tell(known));
        let mut hearing = Hearing::new(WHO, answer, decoder);
        let mut is_named = hearing.is_refused();
        if !hearing.is_refused() {
            self.note(Note::Taken).await;
        }
        if let Some(theirs) = theirs {
            is_named = true;
            self.note(Note::Named(theirs)).await;
        }
        while let Some(said) = timeout(patience, hearing.next()).await.map_err(|_elapsed| silent())? {
            if !is_named && let Some(theirs) = contract::theirs(self.config.speaks, hearing.beginning()) {
                is_named = true;
                self.note(Note::Named(theirs)).await;
            }
            let events = self.tale.tell(said);
            if !hearing.is_refused() && !events.is_empty() {
                self.note(Note::Events(events)).await;
            }
            room(self.shared.hub.log()).await;
        }
        hearing.verdict(self.tale.heard())
    }

    async fn note(&self, note: Note) {
        drop(self.inbox.send(note).await);
    }
}

/// The request as it goes out.
pub(super) fn request(config: &RemoteConfig, asked: &Asked) -> Result<Request<Full<Bytes>>, ErrorFact> {
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
