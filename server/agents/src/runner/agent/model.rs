//! The model's side of the loop: asking, what it says, what becomes of an answer that fails.

use encode::reconstruct::{PARTIAL_ANSWER, PartialResponse};
use model::anomaly::{Anomaly, AnomalyCode};
use model::event::{ErrorFact, RunStatus, RunUpdate, ToolState};
use model::flow::NEXT_ANSWER;
use model::{Event, Json, Kind, ToolCallId, backoff};

use super::{Agent, Ask, Command, Phase, failure};

impl Agent {
    /// Asks for the next answer, or once more for the one that broke off.
    pub(super) fn ask(&mut self, now: u64, out: &mut Vec<Command>) {
        if self.has_begun {
            // The next request is made of the log, which must say what was one answer.
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

    /// An event of the answer.
    pub(super) fn said(&mut self, mut event: Event, now: u64, out: &mut Vec<Command>) {
        let Phase::Asked { heard } = &mut self.phase else { return };
        *heard = now;
        self.ids.make_own(&mut event.kind);
        let mut asks = None;
        match &event.kind {
            // The run is ours: it has begun, and what ends here is an answer.
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
            // Told when it is known what becomes of it.
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
            // What the provider executes, and what sub-agents of its own call, is not for us.
            Kind::ToolStart(start) if start.server || event.agent.is_some() => self.calls.leave(&start.tool),
            Kind::ToolStart(start) => self.begun(&start.tool, &start.name),
            Kind::ToolArgs { tool, text, .. } => self.calls.more(tool, text),
            Kind::ToolCall { tool, name, arguments } if event.agent.is_none() => {
                if let Some(name) = name {
                    // Where the beginning was not told.
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

    /// The answer has more text than is kept: of a delta what fits, and of what follows nothing. It is said once.
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

    fn begun(&mut self, tool: &ToolCallId, name: &str) {
        if self.plan.handed_over.iter().any(|given| given == name) {
            (self.has_begun, self.has_handed_over) = (true, true);
            return self.calls.leave(tool);
        }
        if self.calls.begin(tool, name) {
            (self.has_begun, self.has_called) = (true, true);
        }
    }

    /// The answer is over.
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
        // What the answer itself said is told with its end; that it broke off is less than that.
        let failure = failure.or(self.failure.take());
        for tool in self.calls.drop_unwritten() {
            // Never executed: half a definition is none.
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

    /// Waits no longer until the model is asked again.
    pub(super) fn hurry(&mut self, now: u64, out: &mut Vec<Command>) {
        if matches!(self.phase, Phase::Again { at } if at > now) {
            self.phase = Phase::Again { at: now };
            let (attempt, most) = (self.attempt + 1, self.plan.attempts_max);
            self.log(Kind::Status { text: format!("retrying model in 0 s ({attempt}/{most})") }, out);
        }
    }

    /// Says what there is of an answer that broke off, where something was kept: the model is told with the next request.
    pub(super) fn note_partial(&self, out: &mut Vec<Command>) {
        if self.has_begun {
            let partial = PartialResponse { is_partial: true, completion_percentage: self.percentage() };
            self.log(Kind::Custom { name: PARTIAL_ANSWER.into(), value: Json::of(&partial) }, out);
        }
    }

    /// How much of the most that it may say the model has said: about four bytes make a token.
    fn percentage(&self) -> Option<u8> {
        let most = self.plan.tokens_max.filter(|most| *most > 0)?;
        let said = (self.said_bytes as u64) / 4;
        u8::try_from((said.saturating_mul(100) / most).min(99)).ok()
    }
}
