//! The items of an output, each with the events that make it.
//!
//! | type of item | becomes |
//! |---|---|
//! | `message` | text and refusal parts |
//! | `reasoning` | reasoning parts; one without text is hidden, since the provider keeps it encrypted |
//! | `function_call`, `custom_tool_call`, `mcp_call`, `…_call` | a call |
//! | `mcp_approval_request` | a call that asks a person first |
//! | `…_output` | the result of a call |
//! | `compaction` | a custom event |
//! | anything else | raw, when it is whole |

use super::call::{ResponsesCall, ResponsesResult};
use super::prose::{ProseItem, SectionKind};
use super::wire::{OutputItem, ResponsesStreamEvent};
use crate::Decoded;
use crate::field::ForeignField;
use crate::writer::EventWriter;
use model::anomaly::AnomalyCode;

/// An item that has begun, until the end of its response. What it is follows from the type at its start, or
/// from the first event about it.
#[derive(Debug)]
pub(super) enum OpenItem {
    /// A message, or reasoning.
    Prose(ProseItem),
    /// A tool call.
    Call(ResponsesCall),
    /// The result of a call that another item began.
    Result(ResponsesResult),
    /// Only its end says what it is. Events about it are not written.
    Late {
        /// The events before the end are known, and what they say is in the end again. Otherwise each of them
        /// is passed on raw.
        is_known: bool,
    },
    /// The item is whole, or there was no room for it. Repetitions are ignored.
    Done,
}

impl OpenItem {
    /// Begins an item, as `body` has it at its start.
    pub(super) fn start(body: &OutputItem<'_>, w: &mut EventWriter, out: &mut Decoded) -> Self {
        let kind = body.kind.text().unwrap_or_default();
        match &*kind {
            // The caller has to find the tools, and the id of the call may still change.
            "tool_search_call" if body.execution.text().is_some_and(|place| place == "client") => {
                Self::Late { is_known: true }
            }
            _ => Self::start_at_once(&kind, body, w, out),
        }
    }

    /// Begins an item of type `kind`, without waiting for its end.
    fn start_at_once(kind: &str, body: &OutputItem<'_>, w: &mut EventWriter, out: &mut Decoded) -> Self {
        match kind {
            _ if !w.has_room(out) => Self::Done,
            "message" => Self::Prose(ProseItem::default()),
            "reasoning" => Self::Prose(ProseItem::reasoning(w, out)),
            _ if kind.ends_with("_output") => Self::Result(ResponsesResult::start(body)),
            _ => ResponsesCall::start(kind, body, w, out).map_or(Self::Late { is_known: false }, Self::Call),
        }
    }

    /// Begins the item at `index` whose start was not received, from the type of the first event about it,
    /// with an anomaly. Calls whose id is known only at their end wait for it.
    pub(super) fn without_start(
        index: u64,
        fact: &str,
        event: &ResponsesStreamEvent<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) -> Self {
        let about = fact.split_once('.').map_or(fact, |(about, _)| about);
        let (kind, is_known) = match about {
            "content_part" | "output_text" | "output_text_annotation" | "refusal" => ("message", true),
            _ if about.starts_with("reasoning") => ("reasoning", true),
            // Results name the id of the item.
            _ if about.starts_with("mcp_call") => ("mcp_call", true),
            "code_interpreter_call_code" => ("code_interpreter_call", true),
            "web_search_call" | "file_search_call" | "image_generation_call" | "code_interpreter_call" => {
                (about, true)
            }
            _ => (about, about.contains("_call")),
        };
        if !is_known {
            return Self::Late { is_known };
        }
        let is_prose = matches!(kind, "message" | "reasoning");
        let code = if is_prose { AnomalyCode::PartWithoutStart } else { AnomalyCode::ToolWithoutStart };
        w.anomaly(code, format!("output item {index}: {kind}"), out);
        // The end of the item knows the id by which results will name the call.
        let is_named = is_prose || kind.ends_with("_call");
        if !is_named || matches!(kind, "shell_call" | "tool_search_call") {
            return Self::Late { is_known };
        }
        let body = OutputItem { id: event.item_id, ..OutputItem::default() };
        Self::start_at_once(kind, &body, w, out)
    }

    /// Takes an event about the item, of the type `response.{fact}`; returns false if it is unknown.
    pub(super) fn fact(
        &mut self,
        fact: &str,
        event: &ResponsesStreamEvent<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) -> bool {
        match self {
            Self::Prose(prose) => prose_fact(prose, fact, event, w, out),
            Self::Call(call) => call.fact(fact, event, w, out),
            Self::Result(result) => result.fact(fact, event, w, out),
            Self::Late { is_known } => *is_known,
            // Servers repeat themselves.
            Self::Done => true,
        }
    }

    /// Takes the end of the item: `whole` and `body` have all of it. If the end is that of another type of
    /// item, by a server that mixes up places, the open one just stops.
    pub(super) fn whole(
        &mut self,
        whole: ForeignField<'_>,
        body: &OutputItem<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        if matches!(self, Self::Late { .. }) {
            let kind = body.kind.text().unwrap_or_default();
            *self = Self::start_at_once(&kind, body, w, out);
        }
        let is_prose = body.kind.text().is_some_and(|kind| matches!(&*kind, "message" | "reasoning"));
        if matches!(self, Self::Prose(_)) != is_prose && matches!(self, Self::Prose(_) | Self::Call(_)) {
            // The end of another item, by a server that mixes up their places.
            return self.stop(true, w, out);
        }
        match std::mem::replace(self, Self::Done) {
            Self::Prose(mut prose) => prose.whole(body, w, out),
            Self::Call(mut call) => call.whole(body, w, out),
            Self::Result(result) => result.whole(body, w, out),
            Self::Late { .. } if body.kind.text().is_some_and(|kind| kind == "compaction") => {
                w.custom("compaction", whole, None, out);
            }
            Self::Late { .. } => w.raw(whole, None, out),
            Self::Done => {}
        }
    }

    /// Ends an item at the end of its response, without an end of its own. `is_whole` says whether the
    /// response is whole.
    pub(super) fn stop(&mut self, is_whole: bool, w: &mut EventWriter, out: &mut Decoded) {
        match std::mem::replace(self, Self::Done) {
            Self::Prose(mut prose) => prose.stop(is_whole, w, out),
            Self::Call(mut call) => call.stop(is_whole, w, out),
            Self::Result(_) | Self::Late { .. } | Self::Done => {}
        }
    }

    /// Whether it is a call that asks a person before it is executed.
    pub(super) fn is_asking(&self) -> bool {
        matches!(self, Self::Call(call) if call.is_asking())
    }
}

/// Takes an event about a message or reasoning; returns false if it is unknown.
fn prose_fact(
    prose: &mut ProseItem,
    fact: &str,
    event: &ResponsesStreamEvent<'_>,
    w: &mut EventWriter,
    out: &mut Decoded,
) -> bool {
    let (about, word) = fact.rsplit_once('.').unwrap_or(("", fact));
    match (about, word) {
        ("content_part" | "reasoning_part" | "reasoning_summary_part", "added" | "done") => {
            prose.part(event, word == "done", w, out);
        }
        ("output_text.annotation" | "output_text_annotation", "added") => prose.annotation(event, w, out),
        (_, "delta" | "done") => {
            let Some(voice) = SectionKind::of_event(about) else { return false };
            if word == "delta" {
                prose.delta(voice, event, w, out);
            } else {
                prose.done(voice, event, w, out);
            }
        }
        _ => return false,
    }
    true
}
