//! Messages of Bernard's graph, as its server sends them (`/api/bernard/stream`): each has all its text so
//! far, and its calls with what could be read of their arguments so far.

use compact_str::CompactString;
use indexmap::IndexMap;
use serde::Deserialize;

use crate::Decoded;
use crate::field::ForeignField;
use crate::writer::{CallOutcome, EventWriter, OpenCall, WholePart};
use model::event::PartKind;
use model::limits::ITEMS_PER_RUN_MAX;

/// The messages of one run.
#[derive(Debug, Default)]
pub(super) struct BernardMessages {
    /// The open text, and the id of its message.
    part: Option<(CompactString, WholePart)>,
    /// Calls that are not written yet, by their ids, and their arguments as they were received last.
    calls: IndexMap<CompactString, (OpenCall, String)>,
    /// The messages whose text was written, and its length in bytes; they are sent again with each call.
    over: IndexMap<CompactString, u64>,
}

/// A message of the model, or the result of a call.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BernardMessage<'a> {
    #[serde(borrow)]
    id: ForeignField<'a>,
    #[serde(borrow)]
    content: ForeignField<'a>,
    #[serde(borrow)]
    tool_calls: ForeignField<'a>,
    #[serde(borrow)]
    tool_call_id: ForeignField<'a>,
    #[serde(borrow)]
    status: ForeignField<'a>,
}

/// A call with parsed arguments.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BernardToolCall<'a> {
    #[serde(borrow)]
    id: ForeignField<'a>,
    #[serde(borrow)]
    name: ForeignField<'a>,
    #[serde(borrow)]
    args: ForeignField<'a>,
}

impl BernardMessages {
    /// Takes messages of the model, each with all that there is of it so far.
    pub(super) fn partial(&mut self, list: ForeignField<'_>, w: &mut EventWriter, out: &mut Decoded) {
        for message in list.list() {
            let message: BernardMessage<'_> = message.object();
            let id = CompactString::new(message.id.words().unwrap_or_default());
            if let Some(text) = message.content.word() {
                self.text(&id, &text, w, out);
            }
            for call in message.tool_calls.list() {
                self.call(&call.object(), w, out);
            }
        }
    }

    /// Takes results of calls. The text and the calls so far are complete.
    pub(super) fn results(&mut self, list: ForeignField<'_>, w: &mut EventWriter, out: &mut Decoded) {
        self.settle(w, out);
        for message in list.list() {
            let message: BernardMessage<'_> = message.object();
            let id = message.tool_call_id.words().unwrap_or_default();
            let is_error = message.status.text().is_some_and(|status| status == "error");
            w.result(&id, CallOutcome { is_error, ..CallOutcome::of(message.content.json()) }, None, out);
        }
    }

    /// Makes `text` the text of a message. One that was written and has the same length is not written again.
    fn text(&mut self, id: &CompactString, text: &str, w: &mut EventWriter, out: &mut Decoded) {
        let len = u64::try_from(text.len()).unwrap_or(u64::MAX);
        if self.part.as_ref().is_some_and(|(open, _)| open != id) {
            self.close_part(w, out);
        }
        match &mut self.part {
            Some((_, part)) => part.set(text, w, out),
            None if self.over.get(id) == Some(&len) || !w.has_room(out) => return,
            None => {
                let mut part = WholePart::new(w.open_part(PartKind::Text, None, out));
                part.set(text, w, out);
                self.part = Some((id.clone(), part));
            }
        }
        if self.over.len() < ITEMS_PER_RUN_MAX {
            self.over.insert(id.clone(), len);
        }
    }

    /// Takes a call. It is written when something else comes, since its arguments grow.
    fn call(&mut self, call: &BernardToolCall<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let id = call.id.words().unwrap_or_default();
        let args = call.args.words().unwrap_or_default();
        if let Some((open, told)) = self.calls.get_mut(&*id) {
            let name = call.name.word().unwrap_or_default();
            if !name.is_empty() && name != open.name() {
                open.set_name(&name);
            }
            return str::clone_into(&args, told);
        }
        if w.knows_call(&id) || !w.has_room(out) {
            return;
        }
        self.close_part(w, out);
        let open = w.open_call(&id, &call.name.word().unwrap_or_default(), false, None, out);
        self.calls.insert(CompactString::new(&id), (open, args.into_owned()));
    }

    /// Writes the text and the calls so far, since something else comes.
    pub(super) fn settle(&mut self, w: &mut EventWriter, out: &mut Decoded) {
        self.close_part(w, out);
        for (_, (mut call, args)) in std::mem::take(&mut self.calls) {
            call.written(Some(args), w, out);
        }
    }

    /// Ends the text and, if the stream came to its end (`is_whole`), writes the calls.
    pub(super) fn close(&mut self, is_whole: bool, w: &mut EventWriter, out: &mut Decoded) {
        if is_whole {
            self.settle(w, out);
        }
        self.close_part(w, out);
        *self = Self::default();
    }

    fn close_part(&mut self, w: &EventWriter, out: &mut Decoded) {
        if let Some((_, part)) = self.part.take() {
            part.end(false, w, out);
        }
    }
}
