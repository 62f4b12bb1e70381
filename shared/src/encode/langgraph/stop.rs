//! How a graph stops: with a question, at its end, or in the middle.

use serde_json::json;

use super::modes::Mode;
use super::{Graph, arguments, event};
use crate::encode::Scene;
use crate::event::RunStatus;
use crate::ids::ToolCallId;
use crate::view::ToolView;

impl Graph {
    /// A call waits for a person: the graph stops with a question.
    pub(super) fn ask(&mut self, scene: &Scene<'_>, id: &ToolCallId, tool: &ToolView, out: &mut Vec<u8>) {
        self.executes(scene, out);
        let request = json!({"name": tool.name, "args": arguments(tool), "description": tool.question});
        let ask = json!({"__interrupt__": [{"value": {"action_requests": [request]}, "id": id}]});
        if self.modes.wants(Mode::Updates) {
            event(out, "updates", &ask);
        } else if self.modes.wants(Mode::Values) {
            event(out, "values", &ask);
        }
    }

    /// The run is over, well or not.
    pub(super) fn end_run(&mut self, scene: &Scene<'_>, out: &mut Vec<u8>) {
        let run = scene.run;
        match run.status {
            RunStatus::Complete => {
                let usage = run.usage.map(|usage| {
                    json!({"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens,
                        "total_tokens": usage.input_tokens.saturating_add(usage.output_tokens)})
                });
                if usage.is_some() || (self.answers == 0 && self.late.is_empty()) {
                    self.answer(scene, out);
                }
                self.close(scene, usage.as_ref(), out);
                self.settle(out);
            }
            RunStatus::Error | RunStatus::Cancelled => {
                let fault = run.error.as_ref().filter(|_| run.status == RunStatus::Error);
                let (code, text) = match fault {
                    Some(fault) => (fault.code.as_str(), fault.message.as_str()),
                    None if run.status == RunStatus::Error => ("Error", "the run failed"),
                    None => ("UserInterrupt", "the run was cancelled"),
                };
                event(out, "error", &json!({"error": code, "message": text}));
            }
            RunStatus::Running | RunStatus::Interrupted => {
                self.answer(scene, out);
                self.tell_piece(scene, &json!({"content": ""}), out);
            }
        }
        self.open = None;
    }
}
