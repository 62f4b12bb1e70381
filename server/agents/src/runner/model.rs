//! Asking a model: a request made from the conversation as it is, and the answer as it comes.

use std::sync::Arc;

use bytes::Bytes;
use compact_str::CompactString;
use dialects::{DecodeOptions, Decoded, decoder};
use event_log::Ticket;
use exchange::OfferedTool;
use http_body_util::Full;
use hyper::Request;
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use model::event::{ErrorFact, Event, Kind};
use model::{ConversationId, Json};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::note::Note;
use crate::answer::{ANTHROPIC_VERSION, AnswerOutcome, Hearing, failure, no_key, post, put_key};
use crate::call::Call;
use crate::driver::RunParts;
use crate::settings::{ModelApi, Provider, RunnerConfig};
use crate::streams::Streams;
use crate::tools::tool;

mod request;

use request::Tools;

/// The name of who answers, in error texts.
const WHO: &str = "model";

/// A request to a model and its answer. Owned by a task of its own, which the run aborts to close the
/// connection.
#[derive(Debug)]
pub(super) struct ModelCall {
    /// What requests to models and agents have in common.
    call: Call,
    /// The settings of the agent.
    config: Arc<RunnerConfig>,
    /// The conversation that the request is made of, as it is when the request is sent.
    conversation: ConversationId,
    /// Tools that the caller executes.
    tools: Arc<[OfferedTool]>,
    /// Whether the model may call no tools.
    without_tools: bool,
    /// How the caller wants the model to answer.
    sampling: Map<String, Value>,
    /// The number of the request, which distinguishes its answer from others.
    number: u64,
    /// The sender of notes, which the run reads.
    inbox: mpsc::Sender<Note>,
    /// Sinks that get the raw events of the answer.
    streams: Streams,
}

impl ModelCall {
    /// Makes the request with this number in a run. `ticket` is reached when the log has everything that the
    /// model is told. Notes go to `inbox`, raw events to `streams`.
    pub(super) fn new(
        parts: &RunParts,
        config: &Arc<RunnerConfig>,
        (number, ticket): (u64, Ticket),
        inbox: mpsc::Sender<Note>,
        streams: Streams,
    ) -> Self {
        Self {
            // The agent itself watches for how long the model is silent.
            call: Call::new(parts, WHO, &config.provider.upstream, ticket),
            config: Arc::clone(config),
            conversation: parts.place.conversation.clone(),
            tools: Arc::clone(&parts.tools),
            without_tools: parts.terms.without_tools,
            sampling: parts.terms.sampling.clone(),
            number,
            inbox,
            streams,
        }
    }

    /// Sends the request and reports the answer. The last note is always [`Note::Silent`].
    pub(super) async fn run(self) {
        let failure = self.talk().await.err();
        // The run may have given up this answer; then nobody reads the note.
        drop(self.inbox.send(Note::Silent(self.number, failure)).await);
    }

    /// Sends the request and reads the answer. Fails where nothing could be sent, and where the answer was
    /// not complete.
    async fn talk(&self) -> Result<(), ErrorFact> {
        self.call.kept().await?;
        let api = self.config.provider.api;
        // Only Anthropic's API needs to know tools that must not be called.
        let needs_none = self.without_tools && api != ModelApi::Anthropic;
        let servers: &[CompactString] = if needs_none { &[] } else { &self.config.tools };
        let offer = self.call.host().tools.offer(servers, api).await;
        if !offer.missing.is_empty() {
            drop(self.inbox.send(Note::Missing(offer.missing)).await);
        }
        let answer = self.call.send(self.request(self.offered(offer.tools))?).await?;
        let dialect = match self.config.provider.api {
            ModelApi::OpenAi => dialects::openai_chat::NAME,
            ModelApi::Anthropic => dialects::anthropic::NAME,
        };
        let options = DecodeOptions {
            run_goes_on: true,
            text_calls: self.config.text_calls,
            text_rules: self.config.text_rules.clone(),
            ..self.call.options()
        };
        let decoder = match &self.config.dialect {
            Some(own) => Some(own.decoder(options)),
            None => decoder(dialect, options),
        };
        self.listen(self.call.hearing(answer, decoder)?.tapped(self.streams.tap())).await
    }

    /// The tools in `ours` and those of the caller. Of two with the same name, the caller's is used.
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

    /// Reads the answer to its end.
    async fn listen(&self, mut hearing: Hearing) -> Result<(), ErrorFact> {
        let mut heard = AnswerOutcome::default();
        while let Some(out) = self.call.next(&mut hearing).await? {
            self.pass(out, &mut heard, hearing.is_refused()).await;
            self.call.room().await;
        }
        hearing.verdict(heard)
    }

    /// Reports decoded events. Of a refusal, only its reason counts. The first error of the answer counts.
    async fn pass(&self, out: Decoded, heard: &mut AnswerOutcome, is_refused: bool) {
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
            drop(self.inbox.send(Note::Events(self.number, events)).await);
        }
    }

    /// The request with its headers and key. Fails with `no_key` if the settings name a variable that is not
    /// set.
    fn request(&self, tools: Vec<Value>) -> Result<Request<Full<Bytes>>, ErrorFact> {
        let view = self.call.host().view(&self.conversation);
        let view = view.ok_or_else(|| failure("internal", "the conversation is gone", false))?;
        let tools = if self.without_tools { Tools::Closed(tools) } else { Tools::Open(tools) };
        let body = request::body(&view, &self.config, tools, &self.sampling);
        drop(view);
        let Provider { upstream, path, api, key_env, needs_key } = &self.config.provider;
        let mut request = post(upstream, path, "application/json", body)?;
        let name = match api {
            ModelApi::OpenAi => AUTHORIZATION,
            ModelApi::Anthropic => {
                request
                    .headers_mut()
                    .insert(ANTHROPIC_VERSION.0, HeaderValue::from_static(ANTHROPIC_VERSION.1));
                HeaderName::from_static("x-api-key")
            }
        };
        if let Some(variable) = key_env
            && !put_key(&mut request, name, variable)?
            && *needs_key
        {
            return Err(no_key(WHO, variable));
        }
        Ok(request)
    }
}
