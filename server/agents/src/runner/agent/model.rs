//! The model's side of the loop: requests, answers, and what happens when an answer fails.
//!
//! ```text
//! ask ──▶ said, said, … ──▶ silent ┬─ complete ──▶ Answered: calls go on, then the next answer or the end
//!  ▲                               ├─ may pass, attempts left ──▶ Again, after a wait ─┐
//!  │                               └─ for good ──▶ Failed: calls go on, then the end   │
//!  └────────────────────────────────────── calls are over, time has come ◀─────────────┘
//! ```

use encode::reconstruct::{PARTIAL_ANSWER, PartialResponse};
use model::anomaly::{Anomaly, AnomalyCode};
use model::event::{ErrorFact, RunStatus, RunUpdate, ToolState};
use model::flow::NEXT_ANSWER;
use model::{Event, Json, Kind, ToolCallId, backoff};

use super::{Agent, Ask, Command, Phase, failure};

impl Agent {
    /// Asks for the next answer, or again for one that broke off.
    pub(super) fn ask(&mut self, now: u64, out: &mut Vec<Command>) {
        if self.has_begun {
            // The next request is made from the log, which must say where one answer ends.
            self.log(Kind::Custom { name: NEXT_ANSWER.into(), value: Json::of(&()) }, out);
        }
        (self.has_begun, self.has_called, self.has_handed_over, self.said_bytes) = (false, false, false, 0);
        self.calls.next_answer();
        self.ids.next_answer();
        self.phase = Phase::Asked { heard: now };
        if self.attempt == 0 {
            self.step += 1;
        }
        self.attempt += 1;
        out.push(Command::Ask(Ask { step: self.step, attempt: self.attempt }));
    }

    /// Takes an event of the answer. Ends of the answer and errors are kept until it is over; all else is
    /// published at once. Events of an answer that was given up are dropped.
    pub(super) fn said(&mut self, mut event: Event, now: u64, out: &mut Vec<Command>) {
        let Phase::Asked { heard } = &mut self.phase else { return };
        *heard = now;
        self.ids.make_own(&mut event.kind);
        let mut asks = None;
        match &event.kind {
            // The run is the hub's: it has begun already, and only an answer ends here.
            Kind::RunStart(start) => {
                if start.model.is_some() {
                    let model = start.model.clone();
                    self.log(Kind::RunUpdate(RunUpdate { model, ..RunUpdate::default() }), out);
                }
                return;
            }
            Kind::RunEnd(end) => {
                if matches!(end.status, RunStatus::Error | RunStatus::Interrupted) {
                    self.failure
                        .get_or_insert_with(|| failure("stream_broken", "the answer broke off", true));
                }
                return;
            }
            // Published when it is clear whether the run goes on.
            Kind::Error(fact) => {
                self.failure = Some(fact.clone());
                return;
            }
            Kind::PartDelta { text, .. } => {
                self.has_begun = true;
                let room = self.plan.text_bytes_max.saturating_sub(self.said_bytes);
                let (fits, len) = (text.floor_char_boundary(room), text.len());
                let was_full = self.said_bytes > self.plan.text_bytes_max;
                self.said_bytes += len;
                if fits < len {
                    return self.too_much(event, fits, was_full, out);
                }
            }
            // Calls that the provider or its own sub-agents execute are not the hub's.
            Kind::ToolStart(start) if start.server || event.agent.is_some() => self.calls.leave(&start.tool),
            Kind::ToolStart(start) => self.begun(&start.tool, &start.name),
            Kind::ToolArgs { tool, text, .. } => self.calls.more(tool, text),
            Kind::ToolCall { tool, name, arguments } if event.agent.is_none() => {
                if let Some(name) = name {
                    // The beginning of the call was missing.
                    self.begun(tool, name);
                } else if !self.calls.knows(tool) {
                    let detail = format!("{tool} has no name");
                    let anomaly = Anomaly { code: AnomalyCode::ToolWithoutStart, detail };
                    return self.log(Kind::Anomaly(anomaly), out);
                }
                let written =
                    self.calls.written(tool, name.as_deref(), arguments.as_deref(), &self.plan, now);
                asks = (written == Some(true)).then(|| tool.clone());
            }
            _ => {}
        }
        out.push(Command::Log(Event { run: self.run.clone(), ..event }));
        if let Some(tool) = asks {
            self.log(Kind::ApprovalRequest { tool, text: None }, out);
        }
    }

    /// Handles text over the limit: keeps the part of a delta that fits, drops what follows, and says so
    /// once.
    fn too_much(&self, mut event: Event, fits: usize, is_told: bool, out: &mut Vec<Command>) {
        if is_told {
            return;
        }
        if let Kind::PartDelta { text, .. } = &mut event.kind {
            text.truncate(fits);
        }
        if fits > 0 {
            out.push(Command::Log(Event { run: self.run.clone(), ..event }));
        }
        let detail = format!("the answer has more than {} bytes of text", self.plan.text_bytes_max);
        self.log(Kind::Anomaly(Anomaly { code: AnomalyCode::TooLarge, detail }), out);
    }

    /// Notes a new call, or one that the caller executes.
    fn begun(&mut self, tool: &ToolCallId, name: &str) {
        if self.plan.handed_over.iter().any(|given| given == name) {
            (self.has_begun, self.has_handed_over) = (true, true);
            return self.calls.leave(tool);
        }
        if self.calls.begin(tool, name) {
            (self.has_begun, self.has_called) = (true, true);
        }
    }

    /// Handles the end of an answer.
    pub(super) fn silent(
        &mut self,
        failure: Option<ErrorFact>,
        now: u64,
        random: u64,
        out: &mut Vec<Command>,
    ) {
        if !matches!(self.phase, Phase::Asked { .. }) {
            return;
        }
        // What the answer itself reported comes with its end; a broken connection says less.
        let failure = failure.or(self.failure.take());
        for tool in self.calls.drop_unwritten() {
            // Such a call is never executed, because its arguments are incomplete.
            self.change(tool, ToolState::Interrupted, out);
        }
        self.calls.all_written();
        if failure.is_some() {
            self.note_partial(out);
        }
        match failure {
            None => {
                self.attempt = 0;
                self.phase = Phase::Answered;
            }
            Some(fact) if fact.may_pass() && self.attempt < self.plan.attempts_max => {
                let wait = fact.retry_after_ms.unwrap_or_else(|| backoff::wait_ms(self.attempt, random));
                let (attempt, most) = (self.attempt + 1, self.plan.attempts_max);
                let seconds = wait.div_ceil(1_000);
                let text = format!("retrying model in {seconds} s ({attempt}/{most}): {}", fact.message);
                self.log(Kind::Status { text }, out);
                self.phase = Phase::Again { at: now.saturating_add(wait) };
            }
            Some(fact) => self.phase = Phase::Failed(fact),
        }
    }

    /// Ends the wait before the next attempt. Does nothing in any other phase.
    pub(super) fn hurry(&mut self, now: u64, out: &mut Vec<Command>) {
        if matches!(self.phase, Phase::Again { at } if at > now) {
            self.phase = Phase::Again { at: now };
            let (attempt, most) = (self.attempt + 1, self.plan.attempts_max);
            self.log(Kind::Status { text: format!("retrying model in 0 s ({attempt}/{most})") }, out);
        }
    }

    /// Notes in the log that the answer broke off, if something of it was kept: the model is told with the
    /// next request.
    pub(super) fn note_partial(&self, out: &mut Vec<Command>) {
        if self.has_begun {
            let partial = PartialResponse { is_partial: true, completion_percentage: self.percentage() };
            self.log(Kind::Custom { name: PARTIAL_ANSWER.into(), value: Json::of(&partial) }, out);
        }
    }

    /// How much the model has said of the most that it may, in percent; a token is taken as four bytes.
    /// `None` if the plan does not say what the most is; never 100, since the answer broke off.
    fn percentage(&self) -> Option<u8> {
        let most = self.plan.tokens_max.filter(|most| *most > 0)?;
        let said = (self.said_bytes as u64) / 4;
        u8::try_from((said.saturating_mul(100) / most).min(99)).ok()
    }
}
