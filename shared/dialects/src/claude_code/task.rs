//! Tasks: agents and commands that go on beside the main agent.

use std::borrow::Cow;

use compact_str::CompactString;

use super::ClaudeStream;
use crate::Decoded;
use crate::field::ForeignFields;
use model::event::{AgentStart, RunStatus};

impl ClaudeStream {
    /// The call or agent that a line about a task is about: the call that started it, else the task itself.
    fn task_of(&mut self, fields: &ForeignFields<'_>) -> String {
        let id = fields.get("task_id").words().unwrap_or_default();
        match fields.get("tool_use_id").word() {
            Some(call) => {
                self.name_task(&id, &call);
                call.into_owned()
            }
            None => self.tasks.get(&*id).map_or_else(|| id.into_owned(), ToString::to_string),
        }
    }

    /// Reads a `task_started` line: a sub-agent begins.
    pub(super) fn task_started(&mut self, fields: &ForeignFields<'_>, out: &mut Decoded) {
        let id = self.task_of(fields);
        let kind = fields.get("task_type").word().unwrap_or_default();
        let is_agent = kind.contains("agent") || fields.get("prompt").is_truthy();
        if is_agent && !id.is_empty() {
            let start = AgentStart {
                name: fields.get("description").word().map(|name| CompactString::new(&name)),
                text: fields.get("prompt").word().map(Cow::into_owned),
                ..AgentStart::default()
            };
            self.start_agent(&id, start, out);
        }
        self.runs(&id, out);
    }

    /// `task_progress`. It comes before the line that it describes.
    pub(super) fn task_progress(&mut self, fields: &ForeignFields<'_>, out: &mut Decoded) {
        let id = self.task_of(fields);
        let text = fields.any(&["summary", "description", "last_tool_name"]).word().unwrap_or_default();
        if self.calls.contains_key(&*id) {
            self.writer.progress(&id, &text, None, out);
        } else {
            self.status(&text, out);
        }
    }

    /// `task_notification`, and `task_updated` with a state. A task that was stopped may be told by either.
    pub(super) fn task_ended(
        &mut self,
        fields: &ForeignFields<'_>,
        state: &ForeignFields<'_>,
        out: &mut Decoded,
    ) {
        let id = self.task_of(fields);
        if let Some(call) = self.calls.get_mut(&*id) {
            call.exec_ms = ForeignFields::of(fields.get("usage")).get("duration_ms").count().or(call.exec_ms);
        }
        let status = match state.get("status").word().as_deref() {
            Some("completed") => RunStatus::Complete,
            Some("failed" | "error") => RunStatus::Error,
            Some("stopped" | "killed" | "cancelled") => RunStatus::Cancelled,
            _ => return,
        };
        self.end_agent(&id, status, out);
        let text = fields.get("summary").words().unwrap_or_default().into_owned();
        self.status(&text, out);
    }

    /// `tool_progress`: the call runs.
    pub(super) fn tool_progress(&mut self, fields: &ForeignFields<'_>, out: &mut Decoded) {
        let id = fields.get("tool_use_id").words().unwrap_or_default();
        if !self.writer.is_running() || !self.calls.contains_key(&*id) {
            return;
        }
        self.runs(&id, out);
        let seconds = fields.get("elapsed_time_seconds").count().unwrap_or(0);
        self.writer.progress(&id, &format!("{seconds} s"), None, out);
    }
}
