//! Reading an answer as it comes, and the verdict when it is over.
//!
//! ```text
//! new ──▶ next, next, … None ──▶ verdict
//!           │ bytes ─▶ decoder ─▶ events of the caller's run
//!           └ copy of the bytes ─▶ tap
//! ```
//!
//! The end is told in three ways: by the dialect (`AnswerOutcome::has_ended`), by the connection, which may break
//! off, and by a status that is a refusal. [`Hearing::verdict`] weighs them.

use std::time::Duration;

use dialects::{Decode, Decoded, failure_in};
use http_body_util::BodyExt as _;
use hyper::Response;
use model::event::ErrorFact;
use tokio::time::{Instant, timeout_at};
use upstream::{ResponseBody, reason, retry_after_ms};

use super::failure::{failure, named, of_status};
use crate::streams::Tap;
use event_log::clock;

/// How long the rest of a refusal may take before its connection is closed.
const REST: Duration = Duration::from_secs(5);

/// How much of the beginning of an answer is kept, in bytes.
const BEGINNING_BYTES: usize = 16 << 10;

/// One answer of a model or agent while it is read. Dropping it closes the connection.
#[derive(Debug)]
pub(crate) struct Hearing {
    /// Who answers, for error texts: `model` or `agent`.
    who: &'static str,
    /// What is left of the answer.
    body: ResponseBody,
    /// `None` once the answer is over.
    decoder: Option<Box<dyn Decode>>,
    /// The status of the answer.
    status: u16,
    /// How long the server asks to wait before the next request, in milliseconds.
    retry_after_ms: Option<u64>,
    /// When to stop waiting; only for refusals.
    until: Option<Instant>,
    /// Why the connection broke off, if it did.
    cut: Option<String>,
    /// The first bytes of the answer.
    beginning: Vec<u8>,
    /// Gets a copy of the bytes, if anybody wants one.
    tap: Option<Tap>,
}

/// How far an answer came, and how it ended, as its reader has noticed.
#[derive(Debug, Default)]
pub(crate) struct AnswerOutcome {
    /// Whether anything was said that belongs to an answer.
    pub(crate) has_begun: bool,
    /// Whether the answer said how it ended.
    pub(crate) has_ended: bool,
    /// The error that the answer itself reports.
    pub(crate) failure: Option<ErrorFact>,
}

impl Hearing {
    /// Reads an answer of `who`, which `decoder` understands.
    pub(crate) fn new(who: &'static str, answer: Response<ResponseBody>, decoder: Box<dyn Decode>) -> Self {
        let status = answer.status().as_u16();
        let retry_after_ms = retry_after_ms(answer.headers(), clock::now_ms());
        let is_refused = !answer.status().is_success();
        Self {
            who,
            body: answer.into_body(),
            decoder: Some(decoder),
            status,
            retry_after_ms,
            until: is_refused.then(|| Instant::now() + REST),
            cut: None,
            beginning: Vec::new(),
            tap: None,
        }
    }

    /// Passes the bytes on to `tap` as well, as they come.
    pub(crate) fn tapped(mut self, tap: Option<Tap>) -> Self {
        self.tap = tap;
        self
    }

    /// Whether the status says that this is a refusal instead of an answer.
    pub(crate) fn is_refused(&self) -> bool {
        self.until.is_some()
    }

    /// The first bytes of the answer, undecoded.
    pub(crate) fn beginning(&self) -> &[u8] {
        &self.beginning
    }

    /// The next decoded events; `None` when the answer is over. A refusal is read for at most [`REST`]. Where
    /// the connection breaks off, the last call returns what the decoder makes of the end, and the verdict
    /// names the cause.
    pub(crate) async fn next(&mut self) -> Option<Decoded> {
        let decoder = self.decoder.as_mut()?;
        let frame = match self.until {
            None => self.body.frame().await,
            Some(until) => timeout_at(until, self.body.frame()).await.unwrap_or_default(),
        };
        let mut out = Decoded::default();
        if let Some(Ok(frame)) = frame {
            let bytes = frame.into_data().unwrap_or_default();
            let room = BEGINNING_BYTES.saturating_sub(self.beginning.len()).min(bytes.len());
            self.beginning.extend_from_slice(bytes.get(..room).unwrap_or_default());
            if let Some(tap) = &mut self.tap {
                tap.hear(&bytes);
            }
            decoder.feed(&bytes, &mut out);
            return Some(out);
        }
        self.cut = frame.and_then(Result::err).map(|error| reason(&error));
        decoder.end(&mut out);
        self.decoder = None;
        if let Some(tap) = self.tap.take() {
            tap.end();
        }
        Some(out)
    }

    /// Decides whether the answer was complete, and if not, what went wrong: the error that the answer
    /// reports, else the refusal's own words, else its status, else that it broke off or was no answer. An
    /// answer that said how it ended is complete even if the connection broke off afterwards.
    pub(crate) fn verdict(self, heard: AnswerOutcome) -> Result<(), ErrorFact> {
        let (who, status, is_refused) = (self.who, self.status, self.is_refused());
        let refusal = || failure_in(is_refused.then_some(self.beginning.as_slice())?);
        let said = heard.failure.or_else(refusal).map(|said| {
            // If the refusal has only a message, its status is the code.
            let is_nameless = is_refused && said.code == "error";
            if is_nameless { ErrorFact { code: of_status(status, None).code, ..said } } else { said }
        });
        if let Some(fact) = said {
            let retry_after_ms = fact.retry_after_ms.or(self.retry_after_ms);
            return Err(named(ErrorFact { retry_after_ms, ..fact }, status));
        }
        if is_refused {
            return Err(of_status(status, self.retry_after_ms));
        }
        match self.cut {
            _ if heard.has_ended => Ok(()),
            Some(why) => Err(failure("upstream_cut", &format!("the {who}'s answer broke off: {why}"), true)),
            None if heard.has_begun => {
                Err(failure("upstream_cut", &format!("the {who}'s answer stopped before its end"), true))
            }
            None => {
                let what = format!("the {who}'s server answered, and not with an answer of the {who}");
                Err(failure("no_answer", &what, true))
            }
        }
    }
}
