//! Encodes tool calls: arguments, results, and custom events for what the protocol has no events for
//! (consent, progress, output).
//!
//! | step | event |
//! |---|---|
//! | a call begins | `TOOL_CALL_START` |
//! | arguments, while the call is open | `TOOL_CALL_ARGS` |
//! | the call is written, or over before that | `TOOL_CALL_END`, once |
//! | consent is asked for, given or declined | `CUSTOM` `approval_request`, `approval_answer` |
//! | progress, output | `CUSTOM` `tool_progress`, `tool_output` |
//! | its first result | `TOOL_CALL_RESULT`, also after the end of the run |
//!
//! That a call is executed has no event, and a result that comes again is left out.

use super::{AgUiEncoder, custom, event};
use crate::{FactContext, ToolStep, data_event};
use model::Json;
use model::ids::ToolCallId;
use model::view::ToolView;

impl AgUiEncoder {
    /// Writes one step of a call.
    ///
    /// Results are not among the steps here: see [`AgUiEncoder::result`], which needs no open run.
    pub(super) fn call(
        &mut self,
        scene: &FactContext<'_>,
        tool_id: &ToolCallId,
        tool: &ToolView,
        step: ToolStep<'_>,
        out: &mut Vec<u8>,
    ) {
        let id = self.calls.of(scene.run_id, tool_id.as_str());
        match step {
            ToolStep::Start => {
                self.written.insert(id.clone());
                event(scene, "TOOL_CALL_START", out, |event| {
                    event.put("toolCallId", &id).put("toolCallName", tool.name.as_str());
                });
            }
            ToolStep::Args(text) if self.written.contains(&id) => {
                event(scene, "TOOL_CALL_ARGS", out, |event| {
                    event.put("toolCallId", &id).put("delta", text);
                });
            }
            ToolStep::Called | ToolStep::Closed => {
                if self.written.remove(&id) {
                    event(scene, "TOOL_CALL_END", out, |event| {
                        event.put("toolCallId", &id);
                    });
                }
            }
            ToolStep::Asked => {
                let value = serde_json::json!({"toolCallId": id, "message": tool.question});
                custom(scene, "approval_request", &Json::of(&value), out);
            }
            ToolStep::Answered(approved, text) => {
                let value = serde_json::json!({"toolCallId": id, "approved": approved, "message": text});
                custom(scene, "approval_answer", &Json::of(&value), out);
            }
            ToolStep::Progress(progress) => {
                let value = serde_json::json!({"toolCallId": id, "text": progress.text,
                    "current": progress.current, "total": progress.total});
                custom(scene, "tool_progress", &Json::of(&value), out);
            }
            ToolStep::Output(text) => {
                let value = serde_json::json!({"toolCallId": id, "delta": text});
                custom(scene, "tool_output", &Json::of(&value), out);
            }
            ToolStep::Executing | ToolStep::Args(_) | ToolStep::Result { .. } => {}
        }
    }

    /// Writes the result of a call, now or when the next run begins.
    ///
    /// The result is a message of its own, whose id is that of the call and `-result`. Nothing is written for
    /// a call without one.
    pub(super) fn result(
        &mut self,
        scene: &FactContext<'_>,
        tool_id: &ToolCallId,
        tool: &ToolView,
        out: &mut Vec<u8>,
    ) {
        let id = self.calls.of(scene.run_id, tool_id.as_str());
        let Some(result) = &tool.result else { return };
        let mut events = Vec::new();
        data_event(&mut events, |event| {
            event.put("type", "TOOL_CALL_RESULT").put("messageId", &format!("{id}-result"));
            event.put("toolCallId", &id).put("content", &result.to_text()).put("role", "tool");
            // After the end of a run, the client no longer knows its sub-agents.
            event.put_some("subagentRunId", scene.agent.filter(|_| self.is_open));
        });
        self.tell_in_run(events, out);
    }
}
