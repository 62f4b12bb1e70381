//! Results that are too large to travel in an event. The event has the beginning and a reference; the log
//! keeps the whole beside it. All viewers get the beginning at once, and whoever wants the whole asks for it
//! by its hash.

use std::borrow::Cow;
use std::sync::Arc;

use event_log::{Attachment, Document, DocumentKind, LogError, blocking};
use model::digest::digest;
use model::event::{Event, Kind, ResultRef};
use model::frame::Durability;
use model::limits::{
    DOCUMENT_BYTES_MAX, RESULT_BEGINNING_BYTES, RESULT_BYTES_MAX, RESULT_INLINE_BYTES_MAX, WHOLE_BYTES_MAX,
};
use model::{Envelope, Json, View};

use super::{Conversation, Hub};

/// Removes the reference of a result that comes from outside: only this hub can say where a whole result is.
pub(super) fn disown(event: &mut Event) {
    if let Kind::ToolResult(result) = &mut event.kind {
        result.reference = None;
    }
}

/// Does the same for a view that comes from outside. Calls keep how many bytes their results lack.
pub(super) fn disown_all(view: &mut View) {
    for tool in view.runs.values_mut().flat_map(|run| run.tools.values_mut()) {
        if tool.result_ref.is_some() {
            tool.result_cut = tool.left_out();
            tool.result_ref = None;
        }
    }
}

/// Shortens a result that is over [`RESULT_INLINE_BYTES_MAX`] to its beginning, as a JSON string, and returns
/// the whole, of which at most [`RESULT_BYTES_MAX`] bytes of text are kept. The reference has the number of
/// bytes that came. `None` if the event has no such result. Afterwards the event's output is the first
/// [`RESULT_BEGINNING_BYTES`] bytes of the text.
pub(super) fn shorten(event: &mut Event) -> Option<Attachment> {
    let Kind::ToolResult(result) = &mut event.kind else { return None };
    let bytes = result.output.as_str().len();
    if bytes <= RESULT_INLINE_BYTES_MAX {
        return None;
    }
    let (json, beginning) = {
        let text = result.output.to_text();
        let kept = (bytes > RESULT_BYTES_MAX).then(|| Json::string(beginning(&text, RESULT_BYTES_MAX)));
        let json: Arc<str> = Arc::from(kept.as_ref().unwrap_or(&result.output).as_str());
        (json, Json::string(beginning(&text, RESULT_BEGINNING_BYTES)))
    };
    let hash = digest(&json);
    result.output = beginning;
    result.reference = Some(ResultRef { bytes: bytes as u64, hash: hash.clone() });
    Some(Attachment { hash, json })
}

/// The first `bytes` bytes of `text` at most, cut between characters.
fn beginning(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// Replaces the text of documents that were made of shortened results by more of the whole, since search
/// covers more than an event holds.
pub(super) fn lengthen(documents: &mut [Document], logged: &[Arc<Envelope>], attachments: &[Attachment]) {
    if attachments.is_empty() {
        return;
    }
    for document in documents.iter_mut().filter(|document| document.kind == DocumentKind::Result) {
        let event = logged.iter().find(|envelope| envelope.seq == document.seq);
        let hash = event.and_then(|envelope| reference(&envelope.event)).map(|reference| &reference.hash);
        let whole = attachments.iter().find(|it| Some(&it.hash) == hash).and_then(|it| Json::parse(&it.json));
        if let Some(whole) = whole {
            beginning(&whole.to_text(), DOCUMENT_BYTES_MAX).clone_into(&mut document.text);
        }
    }
}

/// The reference of a shortened result.
fn reference(event: &Event) -> Option<&ResultRef> {
    if let Kind::ToolResult(result) = &event.kind { result.reference.as_ref() } else { None }
}

impl Hub {
    /// The whole result with the given hash, as JSON; `None` if the log does not have it, or no longer. Waits
    /// until the log has stored what is in its queue.
    pub async fn whole_result(
        &self,
        conversation: &Conversation,
        hash: &str,
    ) -> Result<Option<Arc<str>>, LogError> {
        let level = Durability::Stored.min(self.log().durability());
        let reached = event_log::reached(self.log(), conversation.ticket(), level).await;
        let found = blocking(|| self.log().attachment(conversation.id(), hash))?;
        // A log that can no longer write still has what it wrote before.
        if found.is_none() {
            reached?;
        }
        Ok(found)
    }

    /// The whole of a result, if the log has it already. Waits for the disk. A failure is logged, and the
    /// result stays short.
    fn whole(&self, conversation: &Conversation, reference: &ResultRef) -> Option<Json> {
        let found = self.log().attachment(conversation.id(), &reference.hash);
        let found = found.unwrap_or_else(|error| {
            tracing::warn!(%error, conversation = %conversation.id(), "a result cannot be read");
            None
        });
        found.and_then(|json| Json::parse(&json))
    }

    /// Returns `envelope` with its result whole, if the log has that; otherwise unchanged. Waits for the
    /// disk.
    pub fn made_whole<'a>(&self, conversation: &Conversation, envelope: &'a Envelope) -> Cow<'a, Envelope> {
        let whole = reference(&envelope.event).and_then(|it| blocking(|| self.whole(conversation, it)));
        let Some(whole) = whole else { return Cow::Borrowed(envelope) };
        let mut envelope = envelope.clone();
        if let Kind::ToolResult(result) = &mut envelope.event.kind {
            result.output = whole;
            result.reference = None;
        }
        Cow::Owned(envelope)
    }

    /// Makes the results of `view` whole if the log has them, the newest first, up to [`WHOLE_BYTES_MAX`]
    /// bytes together. The bound counts what the log has, whatever a reference claims. Waits for the disk.
    pub fn make_whole(&self, conversation: &Conversation, view: &mut View) {
        let mut left = WHOLE_BYTES_MAX;
        let tools = view.runs.values_mut().rev().flat_map(|run| run.tools.values_mut().rev());
        for tool in tools {
            let kept = |it: &&ResultRef| it.bytes.min(RESULT_BYTES_MAX as u64) <= left as u64;
            let Some(reference) = tool.result_ref.as_ref().filter(kept) else { continue };
            let whole = self.whole(conversation, reference);
            if let Some(whole) = whole.filter(|whole| whole.as_str().len() <= left) {
                left -= whole.as_str().len();
                tool.result = Some(whole);
                tool.result_ref = None;
            }
        }
    }
}

#[cfg(test)]
mod tests;
