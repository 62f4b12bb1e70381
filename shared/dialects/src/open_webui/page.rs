//! What the message was told to be so far: texts, thoughts and calls. A message that is told again begins at its top; its
//! texts are known by their places, its calls by their ids.

use std::borrow::Cow;

use compact_str::CompactString;
use indexmap::IndexMap;

use crate::Decoded;
use crate::writer::{CallOutcome, EndedPart, EventWriter, WholePart};
use model::event::{PartKind, ToolState};

/// What a message of Open WebUI has told so far: its texts, its reasoning and its calls.
#[derive(Debug, Default)]
pub(super) struct OpenWebUiMessage {
    texts: PartList,
    thoughts: PartList,
    /// By their ids, or by their places where they have none. Whether each has its result.
    calls: IndexMap<CompactString, OpenWebUiCall>,
    /// Calls without an id that came since the top.
    nameless: usize,
}

#[derive(Debug)]
struct OpenWebUiCall {
    id: CompactString,
    is_over: bool,
    has_failed: bool,
}

/// A call as the message has it.
#[derive(Debug, Default)]
pub(super) struct MessageCall<'a> {
    pub(super) id: Cow<'a, str>,
    pub(super) name: Cow<'a, str>,
    pub(super) arguments: Cow<'a, str>,
    pub(super) outcome: Option<CallOutcome>,
}

/// Parts of one kind.
#[derive(Debug, Default)]
struct PartList {
    all: Vec<PartProgress>,
    at: usize,
    /// Something was told at this place since the top.
    is_told: bool,
}

#[derive(Debug)]
enum PartProgress {
    Open(WholePart),
    Over(EndedPart),
}

impl OpenWebUiMessage {
    /// The message is told again, from its top.
    pub(super) fn begin_again(&mut self) {
        for pieces in [&mut self.texts, &mut self.thoughts] {
            (pieces.at, pieces.is_told) = (0, false);
        }
        self.nameless = 0;
    }

    /// That was all of it: what is left from before is taken back.
    pub(super) fn end_again(&mut self, w: &EventWriter, out: &mut Decoded) {
        for pieces in [&mut self.texts, &mut self.thoughts] {
            let at = pieces.at.saturating_add(usize::from(pieces.is_told));
            for piece in pieces.all.iter_mut().skip(at) {
                piece.set("", w, out);
            }
        }
    }

    /// More of the text at this place, which is `whole` with it.
    pub(super) fn text(&mut self, more: &str, whole: &str, w: &mut EventWriter, out: &mut Decoded) {
        self.thoughts.next(w, out);
        self.texts.delta(PartKind::Text, more, whole, w, out);
    }

    /// The text at this place is `whole`.
    pub(super) fn set_text(&mut self, whole: &str, w: &mut EventWriter, out: &mut Decoded) {
        self.texts.set(PartKind::Text, whole, w, out);
    }

    /// The text at this place is over.
    pub(super) fn next_text(&mut self, w: &EventWriter, out: &mut Decoded) {
        self.texts.next(w, out);
    }

    /// Appends reasoning, and begins its part where none is open.
    pub(super) fn think(&mut self, more: &str, w: &mut EventWriter, out: &mut Decoded) {
        self.texts.next(w, out);
        self.thoughts.delta(PartKind::Thinking, more, more, w, out);
    }

    /// The reasoning at this place.
    pub(super) fn thought(&mut self, whole: &str, is_over: bool, w: &mut EventWriter, out: &mut Decoded) {
        self.thoughts.set(PartKind::Thinking, whole, w, out);
        if is_over {
            self.thoughts.next(w, out);
        }
    }

    /// A call at this place.
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

    /// What a call gave back, told apart from it.
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

    /// The message is over.
    pub(super) fn close(mut self, w: &EventWriter, out: &mut Decoded) {
        for piece in self.texts.all.drain(..).chain(self.thoughts.all.drain(..)) {
            piece.end(w, out);
        }
    }
}

impl PartList {
    fn delta(&mut self, kind: PartKind, more: &str, whole: &str, w: &mut EventWriter, out: &mut Decoded) {
        if self.has(kind, more, w, out) {
            match self.all.get_mut(self.at) {
                Some(PartProgress::Open(part)) => part.delta(more, w, out),
                Some(PartProgress::Over(part)) => part.set(whole, w, out),
                None => {}
            }
        }
    }

    fn set(&mut self, kind: PartKind, whole: &str, w: &mut EventWriter, out: &mut Decoded) {
        if self.has(kind, whole, w, out)
            && let Some(piece) = self.all.get_mut(self.at)
        {
            piece.set(whole, w, out);
        }
    }

    /// Makes sure that there is a part at this place, if there is something to say.
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

    /// What stands at this place is over.
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
    fn set(&mut self, whole: &str, w: &EventWriter, out: &mut Decoded) {
        match self {
            Self::Open(part) => part.set(whole, w, out),
            Self::Over(part) => part.set(whole, w, out),
        }
    }

    fn end(self, w: &EventWriter, out: &mut Decoded) {
        if let Self::Open(part) = self {
            part.end(false, w, out);
        }
    }
}
