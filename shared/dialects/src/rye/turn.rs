//! One turn of a thread: its text and its reasoning. Both stay open while calls are executed, since the whole
//! text that ends the turn stands for all of it.

use compact_str::CompactString;
use indexmap::IndexSet;

use crate::Decoded;
use crate::writer::{EventWriter, TextDigest, WholePart};
use model::event::PartKind;
use model::ids::AgentId;

/// The turn that a thread is in, and its calls without a result.
#[derive(Debug, Default)]
pub(super) struct RyeTurn {
    /// The number of the turn, if the lines have one.
    number: Option<u64>,
    /// The text that is being written.
    text: Option<WholePart>,
    /// The reasoning that is being written.
    reasoning: Option<WholePart>,
    /// Calls of the thread that have no result yet, in their order, by the ids that they have here: as many as a run may
    /// have.
    open: IndexSet<CompactString>,
    /// A digest of the result that was written last.
    told: Option<TextDigest>,
}

impl RyeTurn {
    /// Writes more text of this turn.
    pub(super) fn text(
        &mut self,
        number: Option<u64>,
        text: &str,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        self.go_on(number, w, out);
        if let Some(part) = part(&mut self.text, PartKind::Text, text, agent, w, out) {
            part.delta(text, w, out);
        }
    }

    /// Writes more reasoning, or makes `text` all of it (`is_all`).
    pub(super) fn reasoning(
        &mut self,
        text: &str,
        is_all: bool,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        match part(&mut self.reasoning, PartKind::Thinking, text, agent, w, out) {
            Some(part) if is_all => part.set(text, w, out),
            Some(part) => part.delta(text, w, out),
            None => {}
        }
    }

    /// Makes `whole` the text of the turn. The turn is closed by its caller.
    pub(super) fn whole(
        &mut self,
        number: Option<u64>,
        whole: Option<&str>,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        self.go_on(number, w, out);
        if let Some(whole) = whole
            && (self.text.is_some() || !whole.is_empty())
            && let Some(part) = part(&mut self.text, PartKind::Text, "?", agent, w, out)
        {
            part.set(whole, w, out);
        }
    }

    /// Ends the turn, with its open texts.
    pub(super) fn close(&mut self, w: &EventWriter, out: &mut Decoded) {
        for part in [self.reasoning.take(), self.text.take()].into_iter().flatten() {
            part.end(false, w, out);
        }
        self.number = None;
    }

    /// Notes a call of the thread.
    pub(super) fn called(&mut self, id: &str) {
        self.open.insert(CompactString::new(id));
    }

    /// Notes that a call has this result.
    pub(super) fn answered(&mut self, id: &str, result: &str) {
        self.open.shift_remove(id);
        let mut told = TextDigest::default();
        told.add(result);
        self.told = Some(told);
    }

    /// The call with that id, if it has no result yet; without an id the newest such call.
    pub(super) fn open_call(&self, id: Option<&str>) -> Option<CompactString> {
        match id {
            Some(id) => self.open.get(id).cloned(),
            None => self.open.last().cloned(),
        }
    }

    /// Whether `text` is the result that was written last.
    pub(super) fn has_told(&self, text: &str) -> bool {
        self.told.as_ref().is_some_and(|told| told.is(text))
    }

    /// Ends the turn if the number is that of another one: the end of a turn may be missing.
    fn go_on(&mut self, number: Option<u64>, w: &EventWriter, out: &mut Decoded) {
        if number.is_some() && self.number.is_some() && self.number != number {
            self.close(w, out);
        }
        self.number = number.or(self.number);
    }
}

/// The part in `open`, begun if there is text for it.
fn part<'a>(
    open: &'a mut Option<WholePart>,
    kind: PartKind,
    text: &str,
    agent: Option<&AgentId>,
    w: &mut EventWriter,
    out: &mut Decoded,
) -> Option<&'a mut WholePart> {
    if open.is_none() && !text.is_empty() && w.has_room(out) {
        *open = Some(WholePart::new(w.open_part(kind, agent, out)));
    }
    open.as_mut()
}
