//! Tool calls: written piece by piece or at once, approved or denied, with outputs that may be preliminary.
//!
//! ```text
//! tool-input-start ── delta* ── tool-input-available ── tool-output-available
//!                                       │                  (preliminary: progress, the last one counts)
//!                                       ├─ tool-approval-request ── tool-approval-response | tool-output-denied
//!                                       └─ tool-output-error
//! tool-input-error                  the input is wrong: the call is never executed
//! ```
//!
//! `fullStream` has `tool-call` and `tool-result`, the old data stream `tool-call-streaming-start` and
//! `tool-call-delta` for the same. `dynamic` and `title` are not decoded.

use std::collections::HashMap;

use compact_str::CompactString;
use indexmap::IndexMap;

use crate::Decoded;
use crate::field::{ForeignField, ForeignFields};
use crate::writer::{CallOutcome, EventWriter, OpenCall, TextDigest};
use model::event::{Kind, ToolState};
use model::json::Json;
use model::limits::ITEMS_PER_RUN_MAX;

/// The calls of a stream. They outlive their message, since results may come in a later one; at the bound of
/// a run all are forgotten.
#[derive(Debug, Default)]
pub(super) struct AiSdkCalls {
    /// The calls by their ids.
    told: IndexMap<CompactString, AiSdkCall>,
    /// The calls that wait for a person, by the id of the question (`approvalId`).
    asked: HashMap<CompactString, CompactString>,
    /// The calls that the step has begun so far.
    step: Vec<CompactString>,
}

/// One tool call of a run.
#[derive(Debug)]
struct AiSdkCall {
    writing: OpenCall,
    stage: AiSdkCallStage,
    /// The input was wrong, so the call was never executed. The error that follows says the same again.
    is_refused: bool,
    /// The preliminary output so far.
    printed: TextDigest,
}

/// The stage of a call. The order is that of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum AiSdkCallStage {
    /// The input is being written.
    Writing,
    /// The input is complete.
    Written,
    /// A preliminary output shows that it is executed.
    Running,
    /// The call has a result, was denied, or was taken back.
    Over,
}

impl AiSdkCalls {
    /// Takes a part of the stream of this type; false if it is not about a call.
    pub(super) fn part(
        &mut self,
        kind: &str,
        part: &ForeignFields<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) -> bool {
        let inner = ForeignFields::of(part.get("toolCall"));
        let id = part.any(&["toolCallId", "id"]).words().or_else(|| inner.get("toolCallId").words());
        let id = CompactString::new(id.unwrap_or_default());
        match kind {
            "tool-input-start" | "tool-call-streaming-start" => self.start(&id, part, w, out),
            "tool-input-delta" | "tool-call-delta" => {
                let delta =
                    part.any(&["inputTextDelta", "delta", "argsTextDelta"]).text().unwrap_or_default();
                self.delta(&id, &delta, part, w, out);
            }
            "tool-input-end" => {}
            "tool-input-available" | "tool-call" => self.written(&id, part, w, out),
            "tool-input-error" => {
                self.written(&id, part, w, out);
                self.gave_back(&id, CallOutcome::error(error_of(part)), w, out);
                if let Some(call) = self.told.get_mut(&id) {
                    call.is_refused = true;
                }
            }
            "tool-output-available" | "tool-result" => {
                let output = part.any(&["output", "result"]);
                if part.get("preliminary").is_true() {
                    self.preliminary(&id, output, w, out);
                } else {
                    let is_error = part.get("isError").is_true();
                    self.gave_back(&id, CallOutcome { is_error, ..CallOutcome::of(output.json()) }, w, out);
                }
            }
            // A wrong input is told twice: as an error of the input, and as what the model gets for an output.
            "tool-output-error" if self.told.get(&id).is_some_and(|call| call.is_refused) => {}
            "tool-output-error" | "tool-error" => {
                self.gave_back(&id, CallOutcome::error(error_of(part)), w, out);
            }
            "tool-approval-request" => self.ask(&id, part, w, out),
            "tool-approval-response" => return self.answer(&id, part, w, out),
            "tool-output-denied" => self.denied(&id, w, out),
            _ => return false,
        }
        true
    }

    /// Begins a call, unless it is open.
    fn start(&mut self, id: &str, part: &ForeignFields<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let is_known = self.told.get(id).is_some_and(|call| call.stage != AiSdkCallStage::Over);
        if is_known && w.knows_call(id) || !w.has_room(out) {
            return;
        }
        let name = part.get("toolName").words().unwrap_or_default();
        let server = part.get("providerExecuted").is_true();
        let writing = w.open_call(id, &name, server, None, out);
        let call = AiSdkCall {
            writing,
            stage: AiSdkCallStage::Writing,
            is_refused: false,
            printed: TextDigest::default(),
        };
        if self.told.len() >= ITEMS_PER_RUN_MAX {
            self.told.clear();
        }
        self.told.insert(CompactString::new(id), call);
        self.step.push(CompactString::new(id));
    }

    /// Writes more of the input of a call, which begins if it is new.
    fn delta(
        &mut self,
        id: &str,
        text: &str,
        part: &ForeignFields<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        if !self.told.contains_key(id) {
            self.start(id, part, w, out);
        }
        if let Some(call) = self.told.get_mut(id).filter(|call| call.stage == AiSdkCallStage::Writing) {
            call.writing.args(text, w, out);
        }
    }

    /// Ends the input of a call. Many calls come whole, without a start.
    fn written(&mut self, id: &str, part: &ForeignFields<'_>, w: &mut EventWriter, out: &mut Decoded) {
        self.start(id, part, w, out);
        let Some(call) = self.told.get_mut(id).filter(|call| call.stage == AiSdkCallStage::Writing) else {
            return;
        };
        if let Some(name) = part.get("toolName").word() {
            call.writing.set_name(&name);
        }
        let input = part.any(&["input", "args"]);
        let input = input.words().filter(|_| !call.writing.is_whole()).map(std::borrow::Cow::into_owned);
        call.stage = AiSdkCallStage::Written;
        call.writing.written(input, w, out);
    }

    /// The call, whose input ends if it has not; nothing if it was in another stream.
    fn ready(&mut self, id: &str, w: &mut EventWriter, out: &mut Decoded) -> Option<&mut AiSdkCall> {
        let call = self.told.get_mut(id)?;
        if call.stage == AiSdkCallStage::Writing {
            call.stage = AiSdkCallStage::Written;
            call.writing.written(None, w, out);
        }
        Some(call)
    }

    /// Writes the result of a call. The result of a call in another stream becomes a message.
    fn gave_back(&mut self, id: &str, outcome: CallOutcome, w: &mut EventWriter, out: &mut Decoded) {
        let Some(call) = self.ready(id, w, out) else {
            return w.message("tool", &outcome.output.to_text(), out);
        };
        call.stage = AiSdkCallStage::Over;
        w.result(id, outcome, None, out);
    }

    /// Takes a preliminary output, which replaces the one before. If it only grows, what is new is written as
    /// output, otherwise it is progress.
    fn preliminary(&mut self, id: &str, output: ForeignField<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let text = output.words().unwrap_or_default();
        let Some(call) = self.ready(id, w, out).filter(|call| call.stage != AiSdkCallStage::Over) else {
            return;
        };
        if !w.knows_call(id) {
            return;
        }
        if call.stage < AiSdkCallStage::Running {
            call.stage = AiSdkCallStage::Running;
            w.state(id, ToolState::Executing, None, out);
        }
        match call.printed.rest(&text).map(str::to_owned) {
            Some(rest) if output.text().is_some() => {
                call.printed.add(&rest);
                w.output(id, &rest, None, out);
            }
            _ => w.progress(id, &text, None, out),
        }
    }

    /// Writes that a person is asked whether the call may run, unless the application answers itself.
    fn ask(&mut self, id: &str, part: &ForeignFields<'_>, w: &mut EventWriter, out: &mut Decoded) {
        if self.asked.len() < ITEMS_PER_RUN_MAX
            && let Some(question) = part.get("approvalId").words()
        {
            self.asked.insert(CompactString::new(question), CompactString::new(id));
        }
        if part.get("isAutomatic").is_true() {
            return;
        }
        if self.ready(id, w, out).is_some_and(|call| call.stage != AiSdkCallStage::Over) && w.knows_call(id) {
            w.push(Kind::ApprovalRequest { tool: w.tool_id(id), text: None }, out);
        }
    }

    /// Writes the answer to a question; false if the call is not in this stream or is over.
    fn answer(&mut self, id: &str, part: &ForeignFields<'_>, w: &mut EventWriter, out: &mut Decoded) -> bool {
        let question = part.get("approvalId").words().unwrap_or_default();
        let id = self.asked.remove(&*question).unwrap_or_else(|| CompactString::new(id));
        let Some(call) = self.told.get_mut(&id).filter(|call| call.stage != AiSdkCallStage::Over) else {
            return false;
        };
        if !w.knows_call(&id) {
            return false;
        }
        let approved = part.get("approved").is_true();
        if !approved {
            call.stage = AiSdkCallStage::Over;
        }
        let text = part.get("reason").word().map(std::borrow::Cow::into_owned);
        w.push(Kind::ApprovalAnswer { tool: w.tool_id(&id), approved, text }, out);
        true
    }

    /// Writes that the call was denied, unless its answer said so.
    fn denied(&mut self, id: &str, w: &mut EventWriter, out: &mut Decoded) {
        if let Some(call) = self.told.get_mut(id).filter(|call| call.stage != AiSdkCallStage::Over)
            && w.knows_call(id)
        {
            call.stage = AiSdkCallStage::Over;
            w.push(Kind::ApprovalAnswer { tool: w.tool_id(id), approved: false, text: None }, out);
        }
    }

    /// Ends a step: its calls with a whole input are written and can no longer be taken back.
    pub(super) fn finish_step(&mut self, w: &mut EventWriter, out: &mut Decoded) {
        for id in std::mem::take(&mut self.step) {
            let writing = self.told.get_mut(&id).filter(|call| call.stage == AiSdkCallStage::Writing);
            if let Some(call) = writing.filter(|call| call.writing.is_whole() && w.knows_call(&id)) {
                call.stage = AiSdkCallStage::Written;
                call.writing.written(None, w, out);
            }
        }
    }

    /// Cancels the calls that the open step has begun, since the provider is asked again.
    pub(super) fn reset(&mut self, w: &mut EventWriter, out: &mut Decoded) {
        for id in std::mem::take(&mut self.step) {
            let Some(call) = self.told.get_mut(&id) else { continue };
            if std::mem::replace(&mut call.stage, AiSdkCallStage::Over) != AiSdkCallStage::Over
                && w.knows_call(&id)
            {
                w.state(&id, ToolState::Cancelled, None, out);
            }
        }
    }

    /// Ends the message: calls are written if it is whole (`is_whole`), otherwise only those with a whole
    /// input.
    pub(super) fn end_all(&mut self, is_whole: bool, w: &mut EventWriter, out: &mut Decoded) {
        self.step.clear();
        for call in self.told.values_mut().filter(|call| call.stage == AiSdkCallStage::Writing) {
            let may_end = is_whole || call.writing.is_whole();
            if may_end && w.knows_call(call.writing.id()) {
                call.stage = AiSdkCallStage::Written;
                call.writing.written(None, w, out);
            }
        }
    }
}

/// What a call failed with: the message of an error, or the error itself.
fn error_of(part: &ForeignFields<'_>) -> Json {
    let error = part.any(&["errorText", "error"]);
    let message = ForeignFields::of(error).get("message");
    if message.is_some() { message.json() } else { error.json() }
}
