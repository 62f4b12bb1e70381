//! What a tool reports while it runs, as Bernard's tools write it: an object with the `_type`
//! `tool_progress`. It names the tool and mostly not the call.
//!
//! ```json
//! {"_type": "tool_progress", "tool": "web_search", "phase": "progress",
//!  "message": "2/3: Found 10 results", "timestamp": 1770000000000}
//! ```
//!
//! `phase` is `step`, `progress`, `complete` or `error`. Bernard wraps the object into one with the same
//! name; LangGraph's custom events have it bare.

use std::borrow::Cow;

use compact_str::CompactString;
use serde::Deserialize;

use super::field::ForeignField;
use model::event::ToolProgress;
use model::ids::ToolCallId;

/// What [`ProgressReport`] is called in a stream: the value of its field `_type`, and of `type` around it.
pub(super) const TOOL_PROGRESS: &str = "tool_progress";

/// The phase that says nothing but how far the tool is.
const PLAIN: &str = "progress";

/// The phase of a tool that failed.
const FAILURE: &str = "error";

/// A `tool_progress` object as it was received; fields that are absent or of another type are empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ProgressReport<'a> {
    #[serde(borrow, rename = "_type")]
    kind: ForeignField<'a>,
    #[serde(borrow)]
    tool: ForeignField<'a>,
    #[serde(borrow)]
    tool_call_id: ForeignField<'a>,
    #[serde(borrow)]
    phase: ForeignField<'a>,
    #[serde(borrow)]
    message: ForeignField<'a>,
    #[serde(borrow, rename = "data")]
    detail: ForeignField<'a>,
    #[serde(borrow)]
    timestamp: ForeignField<'a>,
}

impl<'a> ProgressReport<'a> {
    /// The report in `value`; nothing if the object is not of the type `tool_progress`.
    pub(super) fn read(value: ForeignField<'a>) -> Option<Self> {
        let report: Self = value.object();
        report.kind.text().is_some_and(|kind| kind == TOOL_PROGRESS).then_some(report)
    }

    /// The name of the tool; empty if the report has none.
    pub(super) fn tool(&self) -> Cow<'a, str> {
        self.tool.words().unwrap_or_default()
    }

    /// The id of the call; empty where it is not said.
    pub(super) fn call(&self) -> Cow<'a, str> {
        self.tool_call_id.words().unwrap_or_default()
    }

    /// Whether the phase is `error`: the tool failed.
    pub(super) fn is_failure(&self) -> bool {
        self.phase.text().is_some_and(|phase| phase == FAILURE)
    }

    /// When it was reported by the tool's own clock, in milliseconds since 1970.
    pub(super) fn time(&self) -> Option<u64> {
        self.timestamp.count().filter(|time| *time > 0)
    }

    /// The report in one line for a person: its message, else its phase.
    pub(super) fn line(&self) -> Cow<'a, str> {
        self.message.words().or_else(|| self.phase.words()).unwrap_or_default()
    }

    /// The report as the progress of the call `tool`. The count at the beginning of the message is taken out
    /// of the text; the phase `progress` is left out, since it adds nothing.
    pub(super) fn progress(&self, tool: ToolCallId) -> ToolProgress {
        let message = self.message.words().unwrap_or_default();
        let (count, text) = count(&message);
        let (current, total) = count.unzip();
        let text = Some(text.to_owned()).filter(|text| !text.is_empty());
        let phase = self.phase.word().filter(|phase| phase != PLAIN).map(CompactString::from);
        let data = self.detail.is_some().then(|| self.detail.json());
        ToolProgress { tool, text, current, total, phase, data }
    }
}

/// "2/3: Found 10 results" counts units done and in all; the rest is the text.
fn count(message: &str) -> (Option<(u64, u64)>, &str) {
    let counted = || {
        let (numbers, text) = message.split_once(':').unwrap_or((message, ""));
        let (current, total) = numbers.split_once('/')?;
        Some(((current.trim().parse().ok()?, total.trim().parse().ok()?), text.trim_start()))
    };
    counted().map_or((None, message), |(count, text)| (Some(count), text))
}
