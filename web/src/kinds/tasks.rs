//! To-do lists of coding agents.
//!
//! | tool | arguments |
//! |---|---|
//! | Claude Code's `TodoWrite`, opencode's `todowrite` | `{"todos": [{"content", "status"}]}` |
//! | Codex' `update_plan` | `{"plan": [{"step", "status"}]}` |
//! | Gemini CLI's `write_todos` | `{"todos": [{"description", "status"}]}` |

use super::parts::text_of;
use super::tree::{Node, container};

/// The most tasks of a list; a longer list is shown as JSON.
const TASKS_MAX: usize = 500;

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// The task has not begun.
    Pending,
    /// The task has begun.
    Current,
    /// The task is done.
    Done,
    /// The task was given up.
    Cancelled,
}

impl TaskState {
    /// The state of this name; `None` for a name that no known tool uses.
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "pending" | "not_started" | "todo" | "blocked" => Self::Pending,
            "in_progress" | "in-progress" | "current" | "active" => Self::Current,
            "completed" | "complete" | "done" => Self::Done,
            "cancelled" | "canceled" => Self::Cancelled,
            _ => return None,
        })
    }

    /// The state in words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "to do",
            Self::Current => "in progress",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
        }
    }

    /// The sign before the task.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Pending => "☐",
            Self::Current => "◐",
            Self::Done => "☑",
            Self::Cancelled => "☒",
        }
    }
}

/// A task of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// What is to be done.
    pub text: String,
    /// The state of the task.
    pub state: TaskState,
    /// How it is called while it is worked on; empty if it is not said.
    pub active: String,
    /// The other fields of the task: a priority, an id. Empty where there are none.
    pub rest: String,
}

/// Whether a field of this name may hold a list of tasks.
pub(super) fn is_list(name: &str) -> bool {
    matches!(name, "todos" | "plan" | "tasks" | "items")
}

/// The tasks of a list, if `json` is one: objects that each have a text and a known state.
pub(super) fn tasks(json: &str) -> Option<Vec<Task>> {
    let Some(Node::Array(items)) = container(json) else { return None };
    if items.is_empty() || items.len() > TASKS_MAX {
        return None;
    }
    items.iter().map(|item| task(item)).collect()
}

/// One task. An object with two fields of one name is none: a reader would see one of them.
fn task(item: &str) -> Option<Task> {
    let Some(Node::Object(fields)) = container(item) else { return None };
    let is_twice =
        |(at, (name, _)): (usize, &(String, _))| fields.iter().take(at).any(|(key, _)| key == name);
    if fields.iter().enumerate().any(is_twice) {
        return None;
    }
    let names = ["content", "step", "description", "text", "title", "task"];
    let (name, text) = names.iter().find_map(|name| Some((*name, text_of(&fields, name)?)))?;
    let state = TaskState::of(&text_of(&fields, "status")?)?;
    let active = text_of(&fields, "activeForm").unwrap_or_default();
    let known = |key: &str| key == name || key == "status" || (key == "activeForm" && !active.is_empty());
    let rest = fields.iter().filter(|(key, _)| !known(key));
    let rest: Vec<String> = rest.map(|(key, value)| format!("{key}: {}", value.trim_matches('"'))).collect();
    Some(Task { text, state, active, rest: rest.join(" · ") })
}
