//! Results that are too large to travel in an event, and files of messages. The event has the beginning of a result, or
//! the name of a file, and a hash; the log keeps the whole beside it. All viewers get the event at once, and
//! whoever wants the whole asks for it by its hash.

use std::borrow::Cow;
use std::sync::Arc;

use event_log::{Attachment, LogError, SearchDocument, SearchDocumentKind, blocking};
use model::digest::digest;
use model::event::{Event, Kind, MessageFile, ResultRef};
use model::frame::Durability;
use model::limits::{
    DOCUMENT_BYTES_MAX, FILES_BYTES_MAX, FILES_PER_MESSAGE_MAX, NAME_BYTES_MAX, RESULT_BEGINNING_BYTES,
    RESULT_BYTES_MAX, RESULT_INLINE_BYTES_MAX, WHOLE_BYTES_MAX,
};
use model::{Envelope, Json, View};

use super::{Conversation, Hub};

/// Removes the reference of a result that comes from outside: only this hub can say where a whole result is.
pub(super) fn disown(event: &mut Event) {
    match &mut event.kind {
        Kind::ToolResult(result) => result.reference = None,
        Kind::Message(message) => message.files.iter_mut().for_each(|file| file.hash = None),
        _ => {}
    }
}

/// Does the same for a view that comes from outside. Calls keep how many bytes their results lack.
pub(super) fn disown_all(view: &mut View) {
    for file in view.messages.values_mut().flat_map(|message| message.files.iter_mut()) {
        (file.hash, file.data) = (None, None);
    }
    for tool in view.runs.values_mut().flat_map(|run| run.tools.values_mut()) {
        if tool.result_ref.is_some() {
            tool.result_cut = tool.left_out();
            tool.result_ref = None;
        }
    }
}

/// Takes out of an event what the log keeps beside it: a large result, or the contents of files.
pub(super) fn take_apart(event: &mut Event) -> Vec<Attachment> {
    match &mut event.kind {
        Kind::Message(message) if !message.files.is_empty() => take_files(&mut message.files),
        _ => shorten(event).into_iter().collect(),
    }
}

/// Takes the contents out of `files`, which keep their hash. A file that is not taken, since it is over a limit, of
/// another type or no base64, keeps only its name and type; so do those after the first
/// [`FILES_PER_MESSAGE_MAX`] or over [`FILES_BYTES_MAX`] together.
fn take_files(files: &mut Vec<MessageFile>) -> Vec<Attachment> {
    files.truncate(FILES_PER_MESSAGE_MAX);
    let mut left = FILES_BYTES_MAX as u64;
    let mut taken = Vec::new();
    for file in files {
        let end = file.mime.floor_char_boundary(NAME_BYTES_MAX);
        let mime = file.mime.get(..end).unwrap_or_default();
        let (data, bytes) = (file.data.take(), file.bytes);
        let has_data = data.is_some();
        *file = MessageFile::new(&file.name, mime, data.unwrap_or_default());
        if !has_data {
            (file.data, file.bytes) = (None, bytes);
            continue;
        }
        if file.check().is_ok() && file.bytes <= left {
            left -= file.bytes;
            let json: Arc<str> = Arc::from(Json::string(file.data.as_deref().unwrap_or_default()).as_str());
            let hash = digest(&json);
            file.hash = Some(hash.clone());
            taken.push(Attachment { hash, json });
        }
        file.data = None;
    }
    taken
}

/// Shortens a result that is over [`RESULT_INLINE_BYTES_MAX`] to its beginning, as a JSON string, and returns
/// the whole, of which at most [`RESULT_BYTES_MAX`] bytes of text are kept. The reference has the number of
/// bytes that came. `None` if the event has no such result. Afterwards the event's output is the first
/// [`RESULT_BEGINNING_BYTES`] bytes of the text.
fn shorten(event: &mut Event) -> Option<Attachment> {
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
pub(super) fn lengthen(
    documents: &mut [SearchDocument],
    logged: &[Arc<Envelope>],
    attachments: &[Attachment],
) {
    if attachments.is_empty() {
        return;
    }
    for document in documents.iter_mut().filter(|document| document.kind == SearchDocumentKind::Result) {
        let event = logged.iter().find(|envelope| envelope.seq == document.seq);
        let hash = event.and_then(|envelope| reference(&envelope.event)).map(|reference| &reference.hash);
        let whole = attachments.iter().find(|it| Some(&it.hash) == hash).and_then(|it| Json::parse(&it.json));
        if let Some(whole) = whole {
            document.text = beginning(&whole.to_text(), DOCUMENT_BYTES_MAX).into();
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
        if let Kind::Message(message) = &envelope.event.kind
            && message.files.iter().any(|file| file.hash.is_some())
        {
            let mut envelope = envelope.clone();
            if let Kind::Message(message) = &mut envelope.event.kind {
                let mut left = usize::MAX;
                message.files.iter_mut().for_each(|file| self.make_file_whole(conversation, file, &mut left));
            }
            return Cow::Owned(envelope);
        }
        let whole = reference(&envelope.event).and_then(|it| blocking(|| self.whole(conversation, it)));
        let Some(whole) = whole else { return Cow::Borrowed(envelope) };
        let mut envelope = envelope.clone();
        if let Kind::ToolResult(result) = &mut envelope.event.kind {
            result.output = whole;
            result.reference = None;
        }
        Cow::Owned(envelope)
    }

    /// Gives the files of the messages of `view` their contents back if the log has them, the newest first, up to
    /// `left` bytes of base64 together, which are taken off it. Waits for the disk.
    pub fn make_files_whole(&self, conversation: &Conversation, view: &mut View, left: &mut usize) {
        let messages = view.messages.values_mut().rev();
        for file in messages.flat_map(|message| message.files.iter_mut().rev()) {
            self.make_file_whole(conversation, file, left);
        }
    }

    /// Gives one file its contents back if the log has them and they are no more than `left`.
    fn make_file_whole(&self, conversation: &Conversation, file: &mut MessageFile, left: &mut usize) {
        let Some(hash) = file.hash.clone() else { return };
        // Base64 has four characters for three bytes.
        let is_small = file.bytes.div_ceil(3).saturating_mul(4) <= *left as u64;
        let reference = ResultRef { bytes: file.bytes, hash };
        let whole = is_small.then(|| blocking(|| self.whole(conversation, &reference))).flatten();
        if let Some(data) = whole.map(|whole| whole.to_text().into_owned())
            && data.len() <= *left
        {
            *left -= data.len();
            (file.data, file.hash) = (Some(data), None);
        }
    }

    /// Makes the results of `view` whole if the log has them, the newest first, up to [`WHOLE_BYTES_MAX`]
    /// bytes together. The bound counts what the log has, whatever a reference claims. Waits for the disk.
    pub fn make_whole(&self, conversation: &Conversation, view: &mut View) {
        let mut left = WHOLE_BYTES_MAX;
        self.make_files_whole(conversation, view, &mut left);
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
