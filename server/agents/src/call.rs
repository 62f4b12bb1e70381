//! What all requests of a run have in common, to a model or to an agent elsewhere: nothing is sent before the
//! log has stored what it tells, failures name whoever answers, and the answer is read as it comes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dialects::{Decode, DecodeOptions, Decoded};
use event_log::{Ticket, clock, room};
use http_body_util::Full;
use hyper::{Request, Response};
use model::RunId;
use model::event::ErrorFact;
use tokio::time::timeout;
use upstream::{ResponseBody, Upstream};

use crate::answer::{Hearing, failure, unanswered};
use crate::driver::RunParts;
use crate::host::Host;
use crate::way::Way;

/// One request of a run and its answer. Owned by a task of its own; dropping it closes the connection.
#[derive(Debug)]
pub(crate) struct Call {
    /// The parts of the hub that it uses.
    host: Arc<Host>,
    /// What sends the request.
    way: Way,
    /// The run that the answer's events belong to.
    run: RunId,
    /// The server, for error texts.
    upstream: Upstream,
    /// Who answers, for error texts: `model` or `agent`.
    who: &'static str,
    /// How long whoever answers may be silent; `None` if somebody else watches that.
    patience: Option<Duration>,
    /// Reached when the log has everything that the request tells.
    ticket: Ticket,
}

impl Call {
    /// Makes a call for a run to `upstream`, where `who` answers. `ticket` is reached when the log has
    /// everything that the request tells.
    pub(crate) fn new(parts: &RunParts, who: &'static str, upstream: &Upstream, ticket: Ticket) -> Self {
        let (host, way, run) = (Arc::clone(&parts.host), parts.way.clone(), parts.place.run.clone());
        Self { host, way, run, upstream: upstream.clone(), who, patience: None, ticket }
    }

    /// Limits how long whoever answers may be silent.
    pub(crate) fn with_patience(self, patience: Duration) -> Self {
        Self { patience: Some(patience), ..self }
    }

    /// The parts of the hub that it uses.
    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// Waits until the log has everything that the request tells. Fails with `log_failed` where it cannot:
    /// then nothing is sent.
    pub(crate) async fn kept(&self) -> Result<(), ErrorFact> {
        let kept = self.host.kept(self.ticket).await;
        kept.map_err(|error| failure("log_failed", &error.to_string(), true))
    }

    /// Sends the request; returns the answer as soon as its head has come. Fails with `upstream_unreachable`,
    /// `upstream_failed`, or, where whoever answers is silent for too long, `model_silent` or `agent_silent`.
    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<ResponseBody>, ErrorFact> {
        let answer = self.in_time(self.way.send(request)).await?;
        answer.map_err(|fault| unanswered(self.who, &self.upstream, &fault))
    }

    /// How to decode the answer: into events of this run, with fresh names for its parts.
    pub(crate) fn options(&self) -> DecodeOptions {
        let part_prefix = format!("{}.", clock::fresh_name()).into();
        DecodeOptions { run: self.run.clone(), part_prefix, ..DecodeOptions::default() }
    }

    /// Begins to read the answer with `decoder`. Fails if there is no decoder.
    pub(crate) fn hearing(
        &self,
        answer: Response<ResponseBody>,
        decoder: Option<Box<dyn Decode>>,
    ) -> Result<Hearing, ErrorFact> {
        let decoder =
            decoder.ok_or_else(|| failure("internal", &format!("no decoder for the {}", self.who), false))?;
        Ok(Hearing::new(self.who, answer, decoder))
    }

    /// The next decoded events; `None` when the answer is over. Fails if whoever answers is silent for too
    /// long.
    pub(crate) async fn next(&self, hearing: &mut Hearing) -> Result<Option<Decoded>, ErrorFact> {
        self.in_time(hearing.next()).await
    }

    /// Waits until the log has room for more events.
    pub(crate) async fn room(&self) {
        room(self.host.hub.log()).await;
    }

    /// Waits for `work`, but fails if whoever answers is silent for too long.
    async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, ErrorFact> {
        let Some(patience) = self.patience else { return Ok(work.await) };
        timeout(patience, work).await.map_err(|_elapsed| {
            let (who, silent) = (self.who, format!("{}_silent", self.who));
            failure(&silent, &format!("the {who} said nothing for {} s", patience.as_secs()), true)
        })
    }
}
