//! The answer of a call on its way into the run that the call belongs to.

use std::collections::BTreeSet;

use compact_str::CompactString;

use dialects::{Decode, DecodeOptions, Decoded, by_status, decoder};
use model::anomaly::AnomalyCode;
use model::envelope::Envelope;
use model::event::{ErrorFact, Event, Kind, RunStatus, RunUpdate};
use model::ids::{ConversationId, RunId, ToolCallId};

mod listen;
mod response;

use super::api::ModelApi;
use super::turns::ComparedWords;
use listen::AnswerCalls;
pub(super) use listen::HandedOverCall;
use response::ResponseIdReader;

/// Reads the answer of one model call: the decoder of the API's dialect, whose events are made to belong to
/// the run of the call. The end of the run is held back, since it depends on what the caller does next;
/// [`super::CallJoiner::heard`] decides it.
#[derive(Debug)]
pub struct AnswerReader {
    conversation: ConversationId,
    run: RunId,
    ticket: CallTicket,
    decoder: Box<dyn Decode>,
    decoded: Decoded,
    listener: AnswerCalls,
    sniffer: Option<ResponseIdReader>,
    /// The model that the events of the run named last.
    model: Option<CompactString>,
    status: u16,
    retry_after_ms: Option<u64>,
    /// How the model call ended, as far as the stream said.
    end: Option<RunContinuation>,
    has_failed: bool,
    /// [`AnswerReader::settle`] was called: the stream said its end before the body ended.
    is_settled: bool,
    /// The caller went away or the upstream broke off: an anomaly that reports a truncated stream would say
    /// nothing new then.
    is_broken: bool,
}

/// The loop and the call that an answer belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallTicket {
    pub(super) agent_loop: u64,
    pub(super) call: u64,
}

/// What becomes of the run after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunContinuation {
    /// The run goes on: the caller has to carry out calls and sends their results.
    GoesOn,
    /// The run is over, with this status.
    Ends(RunStatus),
}

/// The way in which an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerEnd {
    /// The body came to its end.
    Whole,
    /// The caller went away.
    Cancelled,
    /// There was no answer, or it broke off: the upstream refused, was silent too long or cut the connection.
    Failed(ErrorFact),
}

/// What was heard of an answer, for [`super::CallJoiner::heard`].
#[derive(Debug)]
pub struct AnswerSummary {
    pub(super) conversation: ConversationId,
    pub(super) run: RunId,
    pub(super) ticket: CallTicket,
    pub(super) verdict: RunContinuation,
    /// What the model said, including the beginning that the request prescribed.
    pub(super) words: ComparedWords,
    /// The calls that the caller has to carry out or a person has to consent to.
    pub(super) calls: Vec<HandedOverCall>,
    /// The ids of all calls of the answer.
    pub(super) used: Vec<ToolCallId>,
    /// The id of the answer, for APIs whose requests name the answer that they continue.
    pub(super) response: Option<CompactString>,
}

/// What `AnswerReader::new` needs to read an answer.
#[derive(Debug)]
pub(super) struct AnswerContext {
    pub(super) api: ModelApi,
    pub(super) conversation: ConversationId,
    pub(super) run: RunId,
    pub(super) ticket: CallTicket,
    pub(super) model: Option<CompactString>,
    /// The name of the call, which no other call has. Ids that the decoder makes up begin with it.
    pub(super) name: CompactString,
    /// The ids that calls of the run have already.
    pub(super) used: BTreeSet<ToolCallId>,
    /// The beginning of the answer that the request prescribes; empty for most requests.
    pub(super) words: ComparedWords,
}

impl AnswerReader {
    pub(super) fn new(opening: AnswerContext) -> Self {
        let AnswerContext { api, conversation, run, ticket, model, name, used, words } = opening;
        let prefix = compact_str::format_compact!("{name}.");
        let options = DecodeOptions {
            run: run.clone(),
            part_prefix: prefix.clone(),
            run_goes_on: true,
            ..DecodeOptions::default()
        };
        let decoder = decoder(api.dialect(), options.clone())
            .unwrap_or_else(|| dialects::openai_chat::decoder(options));
        Self {
            conversation,
            run,
            ticket,
            decoder,
            decoded: Decoded::default(),
            listener: AnswerCalls::new(prefix, used, words),
            sniffer: (api == ModelApi::OpenAiResponses).then(ResponseIdReader::default),
            model,
            status: 200,
            retry_after_ms: None,
            end: None,
            has_failed: false,
            is_settled: false,
            is_broken: false,
        }
    }

    /// The conversation that the events go to.
    pub fn conversation(&self) -> &ConversationId {
        &self.conversation
    }

    /// The run that the events belong to.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Takes the head of the answer: its HTTP status, and the time in milliseconds to wait before the next
    /// attempt, if the head names one.
    pub fn begin(&mut self, status: u16, retry_after_ms: Option<u64>) {
        (self.status, self.retry_after_ms) = (status, retry_after_ms);
    }

    /// Decodes the next bytes of the body, without their encoding (gzip and the like), and appends the events
    /// to `out`. The body may be cut at any byte.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Decoded) {
        if let Some(sniffer) = &mut self.sniffer {
            sniffer.feed(bytes);
        }
        self.decoder.feed(bytes, &mut self.decoded);
        self.pass(out);
    }

    /// Whether the stream itself has said its end. Callers go on then, however long the body takes to end.
    /// False again after [`AnswerReader::settle`].
    pub fn is_over(&self) -> bool {
        // The decoder reports a message that another one follows in the same body as interrupted.
        let is_said = !matches!(self.end, None | Some(RunContinuation::Ends(RunStatus::Interrupted)));
        !self.is_settled && self.status < 400 && is_said
    }

    /// Summarizes an answer whose stream has said its end before the body ended. The rest of the body is
    /// still decoded, but does not change the summary.
    pub fn settle(&mut self, out: &mut Decoded) -> AnswerSummary {
        self.is_settled = true;
        let verdict = self.whole(out);
        self.heard(verdict)
    }

    /// Takes the end of the body. It must be called, or the run never ends. The result is nothing if the
    /// answer was settled before.
    pub fn end(mut self, ending: AnswerEnd, out: &mut Decoded) -> Option<AnswerSummary> {
        // What happened after the end that the stream itself gave does not matter for the run.
        let is_whole = ending == AnswerEnd::Whole || self.end.is_some();
        self.is_broken = !is_whole;
        self.decoder.end(&mut self.decoded);
        self.pass(out);
        if self.is_settled {
            return None;
        }
        let verdict = match ending {
            _ if is_whole => self.whole(out),
            AnswerEnd::Failed(fact) => {
                self.fail(fact, out);
                RunContinuation::Ends(RunStatus::Error)
            }
            _ => RunContinuation::Ends(RunStatus::Cancelled),
        };
        Some(self.heard(verdict))
    }

    /// Makes the summary. The id of the answer is taken out, so that a second summary has none.
    fn heard(&mut self, verdict: RunContinuation) -> AnswerSummary {
        let response = self.sniffer.take().and_then(ResponseIdReader::into_id);
        let (words, calls, used) = self.listener.heard();
        let (conversation, run) = (self.conversation.clone(), self.run.clone());
        AnswerSummary { conversation, run, ticket: self.ticket, verdict, words, calls, used, response }
    }

    /// What becomes of the run after a complete body.
    fn whole(&mut self, out: &mut Decoded) -> RunContinuation {
        if self.status >= 400 {
            if !self.has_failed {
                let code = compact_str::format_compact!("http_{}", self.status);
                let message = format!("the upstream answered with status {}", self.status);
                self.fail(ErrorFact { code, message, retryable: None, retry_after_ms: None }, out);
            }
            return RunContinuation::Ends(RunStatus::Error);
        }
        match self.end {
            Some(RunContinuation::Ends(RunStatus::Interrupted)) | None if !self.has_failed => {
                let fact = ErrorFact {
                    code: CompactString::const_new("truncated"),
                    message: String::from("the answer broke off before its end"),
                    retryable: Some(true),
                    retry_after_ms: None,
                };
                self.fail(fact, out);
                RunContinuation::Ends(RunStatus::Interrupted)
            }
            None => RunContinuation::Ends(RunStatus::Error),
            Some(verdict) => verdict,
        }
    }

    /// Appends a failure of the run to `out`.
    fn fail(&mut self, mut fact: ErrorFact, out: &mut Decoded) {
        self.has_failed = true;
        self.complete(&mut fact);
        out.push(&self.run, Kind::Error(fact));
    }

    /// Adds to a failure what the status and the head of the answer say about another attempt.
    fn complete(&self, fact: &mut ErrorFact) {
        fact.retryable = by_status(self.status, fact.retryable);
        fact.retry_after_ms = fact.retry_after_ms.or(self.retry_after_ms);
    }

    /// Passes on what was decoded, as events of the run.
    fn pass(&mut self, out: &mut Decoded) {
        let mut decoded = std::mem::take(&mut self.decoded);
        for envelope in decoded.envelopes.drain(..) {
            self.pass_one(envelope, out);
        }
        self.decoded = decoded;
    }

    /// Passes on one event. The start and the end of a run, which the decoder reports for each model call,
    /// become updates of the run that goes on.
    fn pass_one(&mut self, envelope: Envelope, out: &mut Decoded) {
        let Envelope { event, producer_at, .. } = envelope;
        let Event { kind, agent, .. } = event;
        let kind = match kind {
            // The run began with the request.
            Kind::RunStart(start) => match self.news(start.model) {
                Some(model) => Kind::RunUpdate(RunUpdate { model: Some(model), ..RunUpdate::default() }),
                None => return,
            },
            Kind::RunEnd(end) => {
                self.end = Some(RunContinuation::Ends(end.status));
                return;
            }
            Kind::RunUpdate(update) => {
                if update.model.is_none() && update.title.is_none() {
                    // Decoders that leave the run open say how the model call ended.
                    self.end = Some(RunContinuation::GoesOn);
                }
                let model = self.news(update.model);
                Kind::RunUpdate(RunUpdate { model, ..update })
            }
            Kind::Error(mut fact) => {
                self.has_failed = true;
                self.complete(&mut fact);
                Kind::Error(fact)
            }
            Kind::Anomaly(odd) if self.is_broken && odd.code == AnomalyCode::Truncated => return,
            kind => self.listener.hear(kind, agent.is_none()),
        };
        if kind == Kind::RunUpdate(RunUpdate::default()) {
            return;
        }
        out.event_at(Event::new(&self.run, kind).by(agent), producer_at);
    }

    /// The model, if it differs from the one that is known. It is known from then on.
    fn news(&mut self, model: Option<CompactString>) -> Option<CompactString> {
        let model = model.filter(|model| self.model.as_ref() != Some(model))?;
        self.model = Some(model.clone());
        Some(model)
    }
}

#[cfg(test)]
mod tests;
