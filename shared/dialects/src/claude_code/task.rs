//! Tasks: sub-agents and commands that run beside the main agent. A sub-agent begins with its call, a task
//! line names it and says what it does, and a task line or the result of the call ends it, whichever comes
//! first.

use std::borrow::Cow;

use compact_str::CompactString;

use super::ClaudeStream;
use crate::Decoded;
use crate::field::ForeignFields;
use model::event::{AgentStart, RunStatus};

impl ClaudeStream {
    /// The id by which a line about a task names it: that of the call that started it, else the task's own.
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

    /// Takes a `task_started` line: a sub-agent begins, and its call is executed. Commands in the background
    /// have no agent.
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
        self.executes(&id, out);
    }

    /// Takes a `task_progress` line, which comes before the line that it describes: progress of the call, or
    /// a status.
    pub(super) fn task_progress(&mut self, fields: &ForeignFields<'_>, out: &mut Decoded) {
        let id = self.task_of(fields);
        let text = fields.any(&["summary", "description", "last_tool_name"]).word().unwrap_or_default();
        if self.calls.contains_key(&*id) {
            self.writer.progress(&id, &text, None, out);
        } else {
            self.status(&text, out);
        }
    }

    /// Takes a `task_notification` line, or a `task_updated` line with a state: the sub-agent ends. A task
    /// that was stopped may be reported by either.
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

    /// Takes a `tool_progress` line: the call is executed, for so many seconds.
    pub(super) fn tool_progress(&mut self, fields: &ForeignFields<'_>, out: &mut Decoded) {
        let id = fields.get("tool_use_id").words().unwrap_or_default();
        if !self.writer.is_running() || !self.calls.contains_key(&*id) {
            return;
        }
        self.executes(&id, out);
        let seconds = fields.get("elapsed_time_seconds").count().unwrap_or(0);
        self.writer.progress(&id, &format!("{seconds} s"), None, out);
    }
}
