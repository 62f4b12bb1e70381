//! Collects what the log indexes, as soon as it is complete: the texts that search finds, and the tool calls
//! of the figures.
//!
//! | event | collected |
//! |---|---|
//! | end of a part | its text, as an answer or as reasoning; files are left out |
//! | end of a run | the texts of parts that it leaves open |
//! | arguments of a call | as one text, with the name of the tool |
//! | result of a call | as one text; and the call itself, if it had not ended before |
//! | state of a call | the call itself, if it is complete or failed now and had not ended before |
//! | message | its text, with the role |

use event_log::{EndedToolCall, SearchDocument, SearchDocumentKind, SearchDocumentPlace};
use model::event::{Kind, PartKind, ToolState};
use model::fold::fold;
use model::limits::DOCUMENT_BYTES_MAX;
use model::mask::Hideable;
use model::view::{Item, RunView};
use model::{Envelope, Mask, PartId, RunId, SharedText, ToolCallId, View};

/// What was collected from a series of events.
#[derive(Debug, Default)]
pub(super) struct IndexEntries {
    /// Texts to be searched.
    pub(super) documents: Vec<SearchDocument>,
    /// Tool calls that have ended.
    pub(super) calls: Vec<EndedToolCall>,
}

/// Folds `envelope` onto `view`, and adds to `into` what became complete with it. What is open must be looked
/// at before the fold, because the fold ends it.
pub(super) fn fold_and_index(view: &mut View, envelope: &Envelope, into: &mut IndexEntries) {
    let run = &envelope.event.run;
    let was_open = match &envelope.event.kind {
        Kind::ToolState(change) => is_open(view, run, &change.tool),
        Kind::ToolResult(result) => is_open(view, run, &result.tool),
        _ => false,
    };
    let unended = match &envelope.event.kind {
        Kind::RunEnd(_) => unended(view, run),
        _ => Vec::new(),
    };
    fold(view, envelope, &mut |_| {});
    let mut collector = IndexCollector { view, envelope, into };
    match &envelope.event.kind {
        Kind::PartEnd(end) => collector.collect_part(&end.part),
        Kind::RunEnd(_) => unended.iter().for_each(|part| collector.collect_part(part)),
        Kind::ToolCall { tool, .. } => collector.arguments(tool),
        Kind::ToolState(change) => collector.over(&change.tool, was_open),
        Kind::ToolResult(result) => {
            collector.over(&result.tool, was_open);
            collector.result(&result.tool);
        }
        Kind::Message(message) => {
            let place = SearchDocumentPlace::Message(message.message.clone());
            collector.document(
                place,
                SearchDocumentKind::Message,
                &message.role,
                message.text.as_str().into(),
            );
        }
        _ => {}
    }
}

/// Whether the call has not ended yet, or its end may still be corrected.
fn is_open(view: &View, run: &RunId, tool: &ToolCallId) -> bool {
    let call = view.runs.get(run).and_then(|run| run.tools.get(tool));
    // A call that begins with its result was open until then.
    call.is_none_or(|call| !call.state.is_final() || call.state == ToolState::Interrupted)
}

/// The parts that are still open and that the end of the run ends.
fn unended(view: &View, run: &RunId) -> Vec<PartId> {
    let open = view.runs.get(run).into_iter().flat_map(|run| &run.open);
    open.filter_map(|item| if let Item::Part(part) = item { Some(part.clone()) } else { None }).collect()
}

/// Collects from one event, after it was folded.
struct IndexCollector<'a> {
    /// The state after the event.
    view: &'a View,
    /// The event, from which documents get their run, seq and time.
    envelope: &'a Envelope,
    /// The entries that what is found is added to.
    into: &'a mut IndexEntries,
}

impl<'a> IndexCollector<'a> {
    /// The run of the event.
    fn run(&self) -> Option<&'a RunView> {
        self.view.runs.get(&self.envelope.event.run)
    }

    /// Collects the text of a part that has ended. Files are not searched.
    fn collect_part(&mut self, id: &PartId) {
        let Some(part) = self.run().and_then(|run| run.parts.get(id)) else { return };
        let kind = match part.kind {
            PartKind::Text | PartKind::Refusal => SearchDocumentKind::Text,
            PartKind::Thinking => SearchDocumentKind::Thinking,
            PartKind::File => return,
        };
        self.document(SearchDocumentPlace::Item(Item::Part(id.clone())), kind, "", part.body.text.clone());
    }

    /// Collects the arguments of a call.
    fn arguments(&mut self, id: &ToolCallId) {
        let Some(call) = self.run().and_then(|run| run.tools.get(id)) else { return };
        let place = SearchDocumentPlace::Item(Item::Tool(id.clone()));
        self.document(place, SearchDocumentKind::Arguments, &call.name, call.arguments.text.clone());
    }

    /// Collects the result of a call.
    fn result(&mut self, id: &ToolCallId) {
        let Some(call) = self.run().and_then(|run| run.tools.get(id)) else { return };
        let Some(result) = &call.result else { return };
        let place = SearchDocumentPlace::Item(Item::Tool(id.clone()));
        self.document(place, SearchDocumentKind::Result, &call.name, result.to_text().as_ref().into());
    }

    /// Collects a call that has ended, unless it had ended before.
    fn over(&mut self, id: &ToolCallId, was_open: bool) {
        let Some(call) = self.run().and_then(|run| run.tools.get(id)) else { return };
        if was_open && matches!(call.state, ToolState::Complete | ToolState::Error) {
            let (failed, latency_ms) = (call.is_error, call.latency_ms());
            self.into.calls.push(EndedToolCall { name: call.name.clone(), failed, latency_ms });
        }
    }

    /// Adds a document, shortened to what is searched, unless it is a blank text that every role sees. What a role may not see is counted even if it
    /// is blank, because hits have numbers: those of other hits would tell the role whether it is.
    fn document(
        &mut self,
        place: SearchDocumentPlace,
        kind: SearchDocumentKind,
        name: &str,
        text: SharedText,
    ) {
        let text = if text.len() > DOCUMENT_BYTES_MAX { SharedText::from(beginning(&text)) } else { text };
        if kind == SearchDocumentKind::Text && text.trim().is_empty() {
            return;
        }
        self.into.documents.push(SearchDocument {
            run: self.envelope.event.run.clone(),
            place,
            kind,
            name: name.into(),
            seq: self.envelope.seq,
            at: self.envelope.at,
            text,
        });
    }
}

/// Whether `mask` leaves a document of this kind, where `name` is that of its tool, or who speaks in its message.
pub fn shows_document(mask: &Mask, kind: SearchDocumentKind, name: &str) -> bool {
    match kind {
        SearchDocumentKind::Text => true,
        SearchDocumentKind::Thinking => !mask.hides(Hideable::Thinking),
        SearchDocumentKind::Arguments => !mask.hides_arguments_of(name),
        SearchDocumentKind::Result => !mask.hides_results_of(name),
        SearchDocumentKind::Message => !mask.hides_message_of(name),
    }
}

/// The beginning of `text` that is searched, at most `DOCUMENT_BYTES_MAX` bytes.
fn beginning(text: &str) -> &str {
    text.get(..text.floor_char_boundary(DOCUMENT_BYTES_MAX)).unwrap_or(text)
}

#[cfg(test)]
mod tests;
