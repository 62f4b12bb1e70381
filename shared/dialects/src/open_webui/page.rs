//! What was written of the message so far: texts, reasoning and calls. A message that is received again
//! begins at its top; its texts are recognised by their places, its calls by their ids.

use std::borrow::Cow;

use compact_str::CompactString;
use indexmap::IndexMap;

use crate::Decoded;
use crate::writer::{CallOutcome, EndedPart, EventWriter, WholePart};
use model::event::{PartKind, ToolState};

/// What was written of a message: its texts, its reasoning and its calls.
#[derive(Debug, Default)]
pub(super) struct OpenWebUiMessage {
    /// The texts of the message, in order.
    texts: PartList,
    /// The reasoning of the message, in order.
    thoughts: PartList,
    /// The calls of the message, by their ids, or by their places if they have none.
    calls: IndexMap<CompactString, OpenWebUiCall>,
    /// The number of calls without an id since the top.
    nameless: usize,
}

/// A call that was written.
#[derive(Debug)]
struct OpenWebUiCall {
    id: CompactString,
    /// The call has its result.
    is_over: bool,
    /// The call has failed.
    has_failed: bool,
}

/// A call as the message has it.
#[derive(Debug, Default)]
pub(super) struct MessageCall<'a> {
    pub(super) id: Cow<'a, str>,
    pub(super) name: Cow<'a, str>,
    pub(super) arguments: Cow<'a, str>,
    /// The outcome of the call; nothing while it is executed.
    pub(super) outcome: Option<CallOutcome>,
}

/// The parts of one kind, and the place that is being read.
#[derive(Debug, Default)]
struct PartList {
    all: Vec<PartProgress>,
    /// The index of the part at this place.
    at: usize,
    /// Something was received for this place since the top.
    is_told: bool,
}

/// A part that is open or has ended.
#[derive(Debug)]
enum PartProgress {
    Open(WholePart),
    Over(EndedPart),
}

impl OpenWebUiMessage {
    /// Goes back to the top, since the message is received again.
    pub(super) fn begin_again(&mut self) {
        for pieces in [&mut self.texts, &mut self.thoughts] {
            (pieces.at, pieces.is_told) = (0, false);
        }
        self.nameless = 0;
    }

    /// Takes back what is left from before, since that was all of the message.
    pub(super) fn end_again(&mut self, w: &EventWriter, out: &mut Decoded) {
        for pieces in [&mut self.texts, &mut self.thoughts] {
            let at = pieces.at.saturating_add(usize::from(pieces.is_told));
            for piece in pieces.all.iter_mut().skip(at) {
                piece.set("", w, out);
            }
        }
    }

    /// Writes more of the text at this place, which is `whole` with it.
    pub(super) fn text(&mut self, more: &str, whole: &str, w: &mut EventWriter, out: &mut Decoded) {
        self.thoughts.next(w, out);
        self.texts.delta(PartKind::Text, more, whole, w, out);
    }

    /// Makes `whole` the text at this place.
    pub(super) fn set_text(&mut self, whole: &str, w: &mut EventWriter, out: &mut Decoded) {
        self.texts.set(PartKind::Text, whole, w, out);
    }

    /// Goes on to the place after this text.
    pub(super) fn next_text(&mut self, w: &EventWriter, out: &mut Decoded) {
        self.texts.next(w, out);
    }

    /// Writes more reasoning; open text ends.
    pub(super) fn think(&mut self, more: &str, w: &mut EventWriter, out: &mut Decoded) {
        self.texts.next(w, out);
        self.thoughts.delta(PartKind::Thinking, more, more, w, out);
    }

    /// Makes `whole` the reasoning at this place.
    pub(super) fn thought(&mut self, whole: &str, is_over: bool, w: &mut EventWriter, out: &mut Decoded) {
        self.thoughts.set(PartKind::Thinking, whole, w, out);
        if is_over {
            self.thoughts.next(w, out);
        }
    }

    /// Takes a call. It is written when it is new; its outcome once, and again if it has failed after it was
    /// complete.
    pub(super) fn call(&mut self, told: MessageCall<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let key = if told.id.is_empty() {
            self.nameless = self.nameless.saturating_add(1);
            compact_str::format_compact!("#{}", self.nameless)
        } else {
            CompactString::new(&told.id)
        };
        if !self.calls.contains_key(&key) {
            if !w.has_room(out) {
                return;
            }
            let arguments = if told.arguments.is_empty() { "{}" } else { &told.arguments };
            let open = w.whole_call(&told.id, &told.name, Some(arguments), None, out);
            if told.outcome.is_none() {
                w.state(open.id(), ToolState::Executing, None, out);
            }
            self.calls.insert(
                key.clone(),
                OpenWebUiCall { id: open.id().into(), is_over: false, has_failed: false },
            );
        }
        let Some(call) = self.calls.get_mut(&key) else { return };
        let Some(outcome) = told.outcome else { return };
        // A block cannot be taken back: pipes write a second one for a call that failed after it was complete.
        if !std::mem::replace(&mut call.is_over, true) || (outcome.is_error && !call.has_failed) {
            call.has_failed = outcome.is_error;
            w.result(&call.id, outcome, None, out);
        }
    }

    /// Writes the result of a call that is an item of its own, once.
    pub(super) fn result(&mut self, id: &str, outcome: CallOutcome, w: &mut EventWriter, out: &mut Decoded) {
        if !self.calls.contains_key(id) {
            if !w.has_room(out) {
                return;
            }
            self.calls.insert(
                CompactString::new(id),
                OpenWebUiCall { id: id.into(), is_over: false, has_failed: false },
            );
        }
        if let Some(call) = self.calls.get_mut(id)
            && !std::mem::replace(&mut call.is_over, true)
        {
            w.result(&call.id, outcome, None, out);
        }
    }

    /// Ends all parts, since the message is over.
    pub(super) fn close(mut self, w: &EventWriter, out: &mut Decoded) {
        for piece in self.texts.all.drain(..).chain(self.thoughts.all.drain(..)) {
            piece.end(w, out);
        }
    }
}

impl PartList {
    /// Writes more of the part at this place.
    fn delta(&mut self, kind: PartKind, more: &str, whole: &str, w: &mut EventWriter, out: &mut Decoded) {
        if self.has(kind, more, w, out) {
            match self.all.get_mut(self.at) {
                Some(PartProgress::Open(part)) => part.delta(more, w, out),
                Some(PartProgress::Over(part)) => part.set(whole, w, out),
                None => {}
            }
        }
    }

    /// Makes `whole` the text of the part at this place.
    fn set(&mut self, kind: PartKind, whole: &str, w: &mut EventWriter, out: &mut Decoded) {
        if self.has(kind, whole, w, out)
            && let Some(piece) = self.all.get_mut(self.at)
        {
            piece.set(whole, w, out);
        }
    }

    /// Makes sure that there is a part at this place, if there is text for it. False if there is none.
    fn has(&mut self, kind: PartKind, text: &str, w: &mut EventWriter, out: &mut Decoded) -> bool {
        if self.at < self.all.len() {
            self.is_told = true;
            return true;
        }
        if text.is_empty() || !w.has_room(out) {
            return false;
        }
        (self.at, self.is_told) = (self.all.len(), true);
        self.all.push(PartProgress::Open(WholePart::new(w.open_part(kind, None, out))));
        true
    }

    /// Ends the part at this place, if something was received for it, and goes on to the next place.
    fn next(&mut self, w: &EventWriter, out: &mut Decoded) {
        if !std::mem::take(&mut self.is_told) {
            return;
        }
        if matches!(self.all.get(self.at), Some(PartProgress::Open(_)))
            && let PartProgress::Open(part) = self.all.remove(self.at)
        {
            self.all.insert(self.at, PartProgress::Over(part.end(false, w, out)));
        }
        self.at = self.at.saturating_add(1);
    }
}

impl PartProgress {
    /// Makes `whole` the text of the part.
    fn set(&mut self, whole: &str, w: &EventWriter, out: &mut Decoded) {
        match self {
            Self::Open(part) => part.set(whole, w, out),
            Self::Over(part) => part.set(whole, w, out),
        }
    }

    /// Ends the part, if it is open.
    fn end(self, w: &EventWriter, out: &mut Decoded) {
        if let Self::Open(part) = self {
            part.end(false, w, out);
        }
    }
}
