//! Asking a model: one request made of the conversation as it stands, and what the model says as it comes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use compact_str::CompactString;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Request, Response};
use serde_json::{Value, json};
use shared::dialect::{Decode, DecodeOptions, Decoded, decoder};
use shared::event::{ErrorFact, Event, Kind};
use shared::exchange::Offered;
use shared::{ConversationId, Json, RunId};
use tokio::sync::mpsc;

use super::Ask;
use super::shell::Note;
use crate::clock;
use crate::config::{ModelApi, Provider, RunnerConfig};
use crate::log::{Ticket, reached, room};
use crate::proxy::{Fault, Sender, reason, retry_after_ms};
use crate::state::Shared;

mod failure;
mod request;

use failure::{failure, named, of_status};
pub(super) use request::tool;

/// A way to a model.
pub(crate) type Way = Sender<Full<Bytes>>;

/// How long the rest of an answer may take that is of no interest, before its connection is cut.
const REST: Duration = Duration::from_secs(5);

/// One request, and its answer.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) shared: Arc<Shared>,
    pub(super) config: Arc<RunnerConfig>,
    pub(super) way: Way,
    pub(super) conversation: ConversationId,
    pub(super) run: RunId,
    pub(super) ask: Ask,
    /// Tools that whoever asked for the run executes.
    pub(super) tools: Arc<[Offered]>,
    /// Tells the answer from others.
    pub(super) number: u64,
    /// Reached when the log has all that the model is told.
    pub(super) ticket: Ticket,
    /// Takes what the model says.
    pub(super) inbox: mpsc::Sender<Note>,
}

/// What was heard of an answer.
#[derive(Debug, Default)]
struct Heard {
    /// The model said how its answer ended.
    has_ended: bool,
    /// The answer itself says that it failed.
    failure: Option<ErrorFact>,
}

impl Call {
    /// Asks, and hands over what is said. The last note says that nothing more comes.
    pub(super) async fn run(self) {
        let failure = self.talk().await.err();
        // Nobody listens to a model that was hung up on.
        drop(self.inbox.send(Note::Silent(self.number, failure)).await);
    }

    async fn talk(&self) -> Result<(), ErrorFact> {
        let log = self.shared.hub.log();
        let level = shared::frame::Durability::Stored.min(log.durability());
        reached(log, self.ticket, level)
            .await
            .map_err(|error| failure("log_failed", &error.to_string(), true))?;
        let offer = self.shared.tools.offer(&self.config.tools, self.config.provider.api).await;
        if !offer.missing.is_empty() {
            drop(self.inbox.send(Note::Missing(offer.missing)).await);
        }
        let request = self.request(&self.offered(offer.tools))?;
        let answer = self.way.send(request).await.map_err(|fault| self.unanswered(&fault))?;
        let dialect = match self.config.provider.api {
            ModelApi::OpenAi => shared::dialect::openai_chat::NAME,
            ModelApi::Anthropic => shared::dialect::anthropic::NAME,
        };
        let options = DecodeOptions {
            run: self.run.clone(),
            part_prefix: format!("{}.", clock::fresh_name()).into(),
            run_goes_on: true,
            text_calls: self.config.text_calls,
        };
        let decoder = match &self.config.dialect {
            Some(own) => Some(own.decoder(options)),
            None => decoder(dialect, options),
        };
        let decoder = decoder.ok_or_else(|| failure("internal", "no decoder for the model's API", false))?;
        self.listen(answer, decoder).await
    }

    /// The tools `ours`, and those of whoever asked for the run. Where both have the same name, the latter's is meant.
    fn offered(&self, ours: Vec<Value>) -> Vec<Value> {
        let api = self.config.provider.api;
        let name = |tool: &Value| {
            let named = tool.get("function").unwrap_or(tool).get("name");
            named.and_then(Value::as_str).map(CompactString::new)
        };
        let is_theirs =
            |ours: &Value| name(ours).is_some_and(|name| self.tools.iter().any(|it| it.name == name));
        let theirs = self.tools.iter().map(|it| {
            let schema = it.schema.as_ref().map_or_else(|| json!({"type": "object"}), Json::to_value);
            tool(api, &it.name, it.description.as_deref().unwrap_or_default(), &schema)
        });
        ours.into_iter().filter(|tool| !is_theirs(tool)).chain(theirs).collect()
    }

    async fn listen(
        &self,
        answer: Response<Incoming>,
        mut decoder: Box<dyn Decode>,
    ) -> Result<(), ErrorFact> {
        let status = answer.status().as_u16();
        let retry_after_ms = retry_after_ms(answer.headers());
        let is_refused = status >= 400;
        let mut body = answer.into_body();
        let mut heard = Heard::default();
        let mut cut = None;
        let until = is_refused.then(|| tokio::time::Instant::now() + REST);
        loop {
            let frame = match until {
                None => body.frame().await,
                Some(until) => tokio::time::timeout_at(until, body.frame()).await.unwrap_or_default(),
            };
            let mut out = Decoded::default();
            match frame {
                Some(Ok(frame)) => decoder.feed(&frame.into_data().unwrap_or_default(), &mut out),
                Some(Err(error)) => {
                    cut = Some(reason(&error));
                    break;
                }
                None => break,
            }
            self.pass(out, &mut heard, is_refused).await;
            room(self.shared.hub.log()).await;
        }
        let mut out = Decoded::default();
        decoder.end(&mut out);
        self.pass(out, &mut heard, is_refused).await;
        if let Some(fact) = heard.failure {
            return Err(named(
                ErrorFact { retry_after_ms: fact.retry_after_ms.or(retry_after_ms), ..fact },
                status,
            ));
        }
        if is_refused {
            return Err(of_status(status, retry_after_ms));
        }
        match cut {
            Some(why) if !heard.has_ended => {
                Err(failure("upstream_cut", &format!("the model's answer broke off: {why}"), true))
            }
            None if !heard.has_ended => Err(failure(
                "no_answer",
                "the model's server answered, and not with an answer of a model",
                true,
            )),
            _ => Ok(()),
        }
    }

    /// Hands over what was said. Of an answer that refuses only the reason counts.
    async fn pass(&self, out: Decoded, heard: &mut Heard, is_refused: bool) {
        let mut events: Vec<Event> = Vec::with_capacity(out.envelopes.len());
        for envelope in out.envelopes {
            match &envelope.event.kind {
                Kind::Error(fact) => {
                    heard.failure.get_or_insert_with(|| fact.clone());
                    continue;
                }
                Kind::RunEnd(_) => heard.has_ended = true,
                Kind::RunUpdate(update) if update.model.is_none() && update.title.is_none() => {
                    heard.has_ended = true;
                }
                _ => {}
            }
            events.push(envelope.event);
        }
        if !is_refused && !events.is_empty() {
            drop(self.inbox.send(Note::Said(self.number, events)).await);
        }
    }

    fn request(&self, tools: &[Value]) -> Result<Request<Full<Bytes>>, ErrorFact> {
        let wrong = |what: &str| failure("bad_provider", what, false);
        let found = self.shared.hub.find(&self.conversation).ok().flatten();
        let view = found.ok_or_else(|| failure("internal", "the conversation is gone", false))?.view();
        let body = request::body(&view, &self.config, self.ask.broke_off, tools);
        drop(view);
        let Provider { upstream, path, api, .. } = &self.config.provider;
        let uri = upstream.uri(path).ok_or_else(|| wrong("the URL of the model is none"))?;
        let mut request = Request::post(uri).body(Full::new(Bytes::from(body)));
        if let Ok(request) = &mut request {
            let headers = request.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
            headers.insert(
                USER_AGENT,
                HeaderValue::from_static(concat!("fanlight/", env!("CARGO_PKG_VERSION"))),
            );
            if *api == ModelApi::Anthropic {
                headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
            }
            if let Some((name, key)) = self.key()? {
                headers.insert(name, key);
            }
        }
        request.map_err(|error| wrong(&error.to_string()))
    }

    /// The header with the key.
    fn key(&self) -> Result<Option<(HeaderName, HeaderValue)>, ErrorFact> {
        let Provider { api, key_env, needs_key, .. } = &self.config.provider;
        let Some(variable) = key_env else { return Ok(None) };
        let Ok(key) = std::env::var(variable) else {
            let what = format!("the environment variable {variable} with the key of the model is not set");
            return if *needs_key { Err(failure("no_key", &what, false)) } else { Ok(None) };
        };
        let (name, value) = match api {
            ModelApi::OpenAi => (AUTHORIZATION, format!("Bearer {}", key.trim())),
            ModelApi::Anthropic => (HeaderName::from_static("x-api-key"), key.trim().to_owned()),
        };
        let value = HeaderValue::from_str(&value);
        // Neither the trace nor the log may quote it.
        let mut value =
            value.map_err(|_secret| failure("no_key", &format!("the key in {variable} is none"), false))?;
        value.set_sensitive(true);
        Ok(Some((name, value)))
    }

    fn unanswered(&self, fault: &Fault) -> ErrorFact {
        let place = self.config.provider.upstream.place();
        match fault {
            Fault::Unreachable(why) => failure(
                "upstream_unreachable",
                &format!("the model at {place} cannot be reached: {why}"),
                true,
            ),
            Fault::Failed(why) => {
                failure("upstream_failed", &format!("the model at {place} gave no answer: {why}"), true)
            }
        }
    }
}
