//! System lines: what the program says about itself. Each release adds some.
//!
//! | subtype | becomes |
//! |---|---|
//! | `init` | the start of the run, and a custom event `session` with folder, tools and servers |
//! | `task_*` | a sub-agent: see `task` |
//! | `api_retry`, `status`, `informational`, `hook_*`, `permission_denied`, `model_fallback` | a status |
//! | `compact_boundary` | a custom event `compaction` |
//! | `local_command*` | a system message |
//! | anything else | raw |

use super::{ClaudeLine, ClaudeStream};
use crate::Decoded;
use crate::field::{ForeignField, ForeignFields};
use model::event::Kind;
use model::json::Json;

impl ClaudeStream {
    /// Takes a system line. Between two runs only `init` counts.
    pub(crate) fn system(&mut self, line: ClaudeLine<'_, '_>, whole: ForeignField<'_>, out: &mut Decoded) {
        let fields = line.fields;
        let subtype = fields.get("subtype").word().unwrap_or_default();
        if subtype == "init" {
            return self.init(fields, out);
        }
        if !self.writer.is_running() && self.writer.has_begun() {
            return;
        }
        self.begin(None, out);
        match &*subtype {
            "task_started" => self.task_started(fields, out),
            "task_progress" => self.task_progress(fields, out),
            "task_notification" => self.task_ended(fields, fields, out),
            "task_updated" => self.task_ended(fields, &ForeignFields::of(fields.get("patch")), out),
            "api_retry" | "api_error" => {
                let text = retry(fields);
                self.status(&text, out);
            }
            "status" => {
                let text = fields.get("status").words().unwrap_or_default().into_owned();
                self.status(&text, out);
            }
            "informational" => {
                let text = fields.get("content").words().unwrap_or_default().into_owned();
                self.status(&text, out);
            }
            "hook_started" | "hook_progress" | "hook_response" => self.hook(fields, out),
            "compact_boundary" => {
                let metadata = fields.any(&["compact_metadata", "metadata"]);
                self.writer.custom("compaction", metadata, None, out);
            }
            "permission_denied" | "model_fallback" => {
                let text = fields.any(&["message", "reason", "tool_name", "content"]).words();
                let text = format!("{}: {}", subtype.replace('_', " "), text.unwrap_or_default());
                self.status(&text, out);
            }
            "local_command" | "local_command_output" => {
                let text = fields.get("content").words().unwrap_or_default();
                self.writer.message("system", &text, out);
            }
            _ => self.writer.raw(whole, None, out),
        }
    }

    /// Begins a run. A second `init` while one is open says more about it.
    fn init(&mut self, fields: &ForeignFields<'_>, out: &mut Decoded) {
        self.begin(fields.get("model").word().as_deref(), out);
        let said = fields.pick(&[
            "session_id",
            "cwd",
            "permissionMode",
            "claude_code_version",
            "tools",
            "mcp_servers",
            "agents",
        ]);
        if let Some(value) = Json::parse(&said) {
            self.writer.push(Kind::Custom { name: "session".into(), value }, out);
        }
    }

    /// Writes that a hook runs, or how it ended, as a status.
    fn hook(&mut self, fields: &ForeignFields<'_>, out: &mut Decoded) {
        let name = fields.any(&["hook_name", "hook_event"]).words().unwrap_or_default();
        let outcome = fields.any(&["outcome", "exit_code"]).words();
        let text =
            outcome.map_or_else(|| format!("hook {name}"), |outcome| format!("hook {name}: {outcome}"));
        self.status(&text, out);
    }
}

/// A status: the model's API failed and is asked again.
fn retry(fields: &ForeignFields<'_>) -> String {
    let word = |names: &[&str]| fields.any(names).words().unwrap_or_default();
    let (attempt, most) = (word(&["attempt", "retryAttempt"]), word(&["max_retries"]));
    let ms = fields.any(&["retry_delay_ms", "retryInMs"]).count().unwrap_or(0);
    let status = word(&["error_status"]);
    let error = fields.get("error").word().unwrap_or_else(|| "API error".into());
    let error = format!("{error} {status}");
    format!("{}: attempt {attempt} of {most} in {ms} ms", error.trim_end())
}
