//! Encodes tool calls as dynamic parts: a viewer has no types for the tools of an agent.
//!
//! | step | part |
//! |---|---|
//! | start, arguments, arguments are final | `tool-input-start`, `tool-input-delta`, `tool-input-available` (`tool-input-error` if they are no JSON) |
//! | consent is asked | `tool-approval-request` |
//! | consent is refused | `tool-output-denied` |
//! | progress, output | transient parts `data-tool-progress`, `data-tool-output` |
//! | result; failure; end without a result | `tool-output-available`; `tool-output-error` |
//!
//! A call that is not the caller's to execute is `providerExecuted`: otherwise the page would send its
//! messages again for it.

use super::{AiSdkEncoder, event};
use crate::{FactContext, ObjectWriter, ToolStep};
use model::Json;
use model::event::ToolState;
use model::ids::ToolCallId;
use model::view::ToolView;

impl AiSdkEncoder {
    /// Writes one step of a call. After the end of its run only a result is written.
    pub(super) fn call(
        &mut self,
        scene: &FactContext<'_>,
        tool_id: &ToolCallId,
        tool: &ToolView,
        step: ToolStep<'_>,
        out: &mut Vec<u8>,
    ) {
        let id = self.calls.of(scene.run_id, tool_id.as_str());
        let elsewhere =
            tool.server || self.caller.as_ref().is_some_and(|caller| !caller.tools.contains(&tool.name));
        match step {
            // The result of a call that was left to the caller may come after the end of the run.
            ToolStep::Result { again: false } => result(&id, tool, elsewhere, out),
            _ if !self.is_open => {}
            ToolStep::Start => event(out, "tool-input-start", |event| {
                named(event, &id, tool, elsewhere);
            }),
            ToolStep::Args(text) => event(out, "tool-input-delta", |event| {
                event.put("toolCallId", &id).put("inputTextDelta", text);
            }),
            ToolStep::Called => input(&id, tool, elsewhere, out),
            ToolStep::Asked => event(out, "tool-approval-request", |event| {
                event.put("approvalId", &format!("{id}-approval")).put("toolCallId", &id);
            }),
            ToolStep::Progress(progress) => event(out, "data-tool-progress", |event| {
                event.put("id", &id).nest("data", |fields| {
                    fields.put_some("text", progress.text.as_ref()).put_some("current", progress.current);
                    fields.put_some("total", progress.total);
                });
                event.put("transient", &true);
            }),
            ToolStep::Output(text) => event(out, "data-tool-output", |event| {
                event.nest("data", |fields| {
                    fields.put("toolCallId", &id).put("delta", text);
                });
                event.put("transient", &true);
            }),
            ToolStep::Answered(false, _) => {
                event(out, "tool-output-denied", |event| {
                    event.put("toolCallId", &id);
                });
                self.denied.insert(id);
            }
            ToolStep::Closed if self.denied.contains(&id) => {}
            ToolStep::Closed if tool.question.is_some() && tool.state == ToolState::Cancelled => {
                event(out, "tool-output-denied", |event| {
                    event.put("toolCallId", &id);
                });
            }
            ToolStep::Closed => event(out, "tool-output-error", |event| {
                event.put("toolCallId", &id).put("errorText", tool.state.as_str()).put("dynamic", &true);
            }),
            ToolStep::Answered(true, _) | ToolStep::Executing | ToolStep::Result { .. } => {}
        }
    }
}

/// Writes the id and the name of a call.
fn named(event: &mut ObjectWriter<'_>, id: &str, tool: &ToolView, elsewhere: bool) {
    event.put("toolCallId", id).put("toolName", tool.name.as_str());
    event.put_some("providerExecuted", elsewhere.then_some(true)).put("dynamic", &true);
}

/// Writes the arguments of a call, as an error if they are not JSON.
fn input(id: &str, tool: &ToolView, elsewhere: bool, out: &mut Vec<u8>) {
    let text = &tool.arguments.text;
    let is_json = text.trim().is_empty() || Json::parse(text).is_some();
    let kind = if is_json { "tool-input-available" } else { "tool-input-error" };
    event(out, kind, |event| {
        named(event, id, tool, elsewhere);
        event.put_arguments("input", text);
        event.put_some("errorText", (!is_json).then_some("the arguments are not JSON"));
    });
}

/// Writes the result of a call, or its failure.
fn result(id: &str, tool: &ToolView, elsewhere: bool, out: &mut Vec<u8>) {
    let Some(result) = &tool.result else { return };
    if tool.is_error {
        return event(out, "tool-output-error", |event| {
            event.put("toolCallId", id).put("errorText", &result.to_text());
            ran(event, tool, elsewhere);
        });
    }
    event(out, "tool-output-available", |event| {
        event.put("toolCallId", id).put("output", result);
        ran(event, tool, elsewhere);
    });
}

/// Writes that the call was executed elsewhere, if that is so.
fn ran(event: &mut ObjectWriter<'_>, tool: &ToolView, elsewhere: bool) {
    event.put_some("providerExecuted", (elsewhere && !tool.server).then_some(true)).put("dynamic", &true);
}
