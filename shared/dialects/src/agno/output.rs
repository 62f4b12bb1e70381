//! How runs end, and the output of a whole run (`RunOutput`), which some streams have last and bodies that
//! are not streamed have alone.

use compact_str::CompactString;

use super::asked::PauseState;
use super::wire::{AgnoEvent, AgnoMetrics};
use super::{AgnoMeaning, AgnoSpeaker, ErrorFact, Kind, RunEnding, RunStatus, Usage, fault};
use crate::Decoded;
use crate::field::ForeignField;

impl AgnoMeaning {
    /// Takes the end of a run that is complete: what its whole answer has beyond the streamed text, files,
    /// tokens. A run that was cancelled gets this event too, with what there is of it, and ends as cancelled.
    pub(super) fn completed(&mut self, key: &str, it: &AgnoEvent<'_>, out: &mut Decoded) {
        let Self { w, main, others, .. } = self;
        let voice = others.get_mut(key).unwrap_or(main);
        voice.whole(it.reasoning_content, it.content, w, out);
        for file in it.images.list().into_iter().chain(it.videos.list()).chain(it.files.list()) {
            voice.file(file, w, out);
        }
        if it.citations.is_truthy() {
            w.custom("citations", it.citations, voice.agent.as_ref(), out);
        }
        let usage = it.metrics.object::<AgnoMetrics<'_>>().usage();
        if let Some(agent) = &voice.agent {
            if let Some(total) = usage {
                w.set_agent_usage(agent, total, None);
            }
            return self.close_other(key, RunStatus::Complete, out);
        }
        self.settle_all(out);
        let status = if self.is_cancelled { RunStatus::Cancelled } else { RunStatus::Complete };
        self.close(Some(status), usage, out);
    }

    /// Takes the failure of a run. A member's failure ends only the member, since its team may go on.
    pub(super) fn failed(&mut self, key: &str, it: &AgnoEvent<'_>, out: &mut Decoded) {
        let text = [it.content, it.error]
            .into_iter()
            .find_map(ForeignField::words)
            .unwrap_or_else(|| "failed".into());
        let code = it.error_type.word().unwrap_or_else(|| "error".into());
        let fact = ErrorFact {
            code: CompactString::new(&code),
            message: text.into_owned(),
            retryable: None,
            retry_after_ms: None,
        };
        let agent = self.voice(key).agent.clone();
        if agent.is_some() {
            // A member that fails need not fail the team.
            self.w.push_by(agent.as_ref(), Kind::Error(fact), out);
            return self.close_other(key, RunStatus::Error, out);
        }
        self.w.fail(fact, out);
        self.close(Some(RunStatus::Error), None, out);
    }

    /// Takes that a run was cancelled. The outermost one ends later, with `RunCompleted` or the stream.
    pub(super) fn cancelled(&mut self, key: &str, it: &AgnoEvent<'_>, out: &mut Decoded) {
        let Self { w, main, others, .. } = self;
        others.get_mut(key).unwrap_or(main).whole(it.reasoning_content, it.content, w, out);
        if self.voice(key).agent.is_some() {
            return self.close_other(key, RunStatus::Cancelled, out);
        }
        self.is_cancelled = true;
    }

    /// Ends a member or a step, once.
    fn close_other(&mut self, key: &str, status: RunStatus, out: &mut Decoded) {
        let Self { w, others, .. } = self;
        let Some(voice) = others.get_mut(key) else { return };
        voice.pause(w, out);
        if let Some(agent) = voice.agent.clone()
            && !std::mem::replace(&mut voice.is_over, true)
        {
            w.close_agent(&agent, status, out);
        }
    }

    /// Ends the outermost run with `status`, or as interrupted without one, and forgets all about it. A run
    /// that waits for a person ends with the finish reason `paused`.
    pub(super) fn close(&mut self, status: Option<RunStatus>, usage: Option<Usage>, out: &mut Decoded) {
        if !self.w.is_running() {
            return;
        }
        let Self { w, main, others, .. } = self;
        main.pause(w, out);
        for (_, voice) in others.iter_mut() {
            voice.pause(w, out);
        }
        let is_paused =
            std::mem::take(&mut self.pause) != PauseState::No && status == Some(RunStatus::Complete);
        let finish_reason = is_paused.then(|| CompactString::const_new("paused"));
        let counted = self.usage.take();
        let usage = usage.or(counted);
        let is_whole = status == Some(RunStatus::Complete);
        // Where the run waits for a person it goes on later, perhaps in another stream.
        let status = status.filter(|_| !is_paused && !self.w.has_failed());
        self.w.end(RunEnding { is_whole, is_paused, status, finish_reason, usage }, out);
        self.main = AgnoSpeaker::default();
        self.others.clear();
        self.calls.clear();
        self.tasks.clear();
        (self.is_followed, self.is_cancelled, self.last_index) = (false, false, None);
    }

    /// Takes an object without a name: the output of a run, or an error from before any event.
    pub(super) fn bare(&mut self, it: &AgnoEvent<'_>, whole: ForeignField<'_>, out: &mut Decoded) {
        let is_output =
            it.run_id.is_some() && (it.status.is_some() || it.messages.is_some() || it.content.is_some());
        if is_output {
            return self.output(it, out);
        }
        if it.detail.is_some() || it.error.is_truthy() || (it.message.is_some() && !self.w.has_begun()) {
            return self.w.fail(fault(whole), out);
        }
        if self.w.has_begun() && !self.w.is_running() {
            return;
        }
        self.w.begin(None, out);
        self.w.raw(whole, None, out);
    }

    /// Takes the output of a whole run: what no event has said is written now.
    fn output(&mut self, it: &AgnoEvent<'_>, out: &mut Decoded) {
        let run = it.run_id.words().unwrap_or_default();
        let is_over = self.w.has_begun() && !self.w.is_running();
        let status = it.status.text().unwrap_or_default().to_ascii_uppercase();
        let is_paused = status == "PAUSED";
        let goes_on = self.pause != PauseState::No && run == self.root.as_str();
        // Events have told the run, or its pause.
        let is_told = is_over || (is_paused && self.pause == PauseState::Event);
        if is_told && run == self.root.as_str() {
            return;
        }
        self.resume("RunStarted", it, out);
        if !self.enter("RunStarted", it, out) {
            return;
        }
        self.w.begin(it.model.word().as_deref(), out);
        for message in it.messages.list().into_iter().filter(|_| !goes_on) {
            let message: AgnoEvent<'_> = message.object();
            let role = message.role.text().unwrap_or_default();
            if matches!(&*role, "user" | "system" | "developer") && !message.from_history.is_true() {
                self.w.message(&role, &message.content.words().unwrap_or_default(), out);
            }
        }
        self.main.pause(&mut self.w, out);
        if is_paused {
            self.main.whole(it.reasoning_content, it.content, &mut self.w, out);
            self.usage = it.metrics.object::<AgnoMetrics<'_>>().usage().or(self.usage);
            self.ask(it, None, out);
            self.pause = PauseState::Output;
            return;
        }
        if it.tools.is_truthy() {
            self.tool_over(&AgnoEvent { tools: it.tools, ..AgnoEvent::default() }, false, None, out);
        }
        self.is_cancelled |= status == "CANCELLED";
        if status == "ERROR" {
            return self.failed("", it, out);
        }
        self.completed("", it, out);
    }
}
