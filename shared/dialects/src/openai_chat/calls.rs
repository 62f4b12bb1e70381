//! Puts tool calls together from their fragments. By the specification a fragment has an `index`, its first
//! one id and name, the others only argument text. In the field any of these is missing, repeated, or means
//! something else:
//!
//! | server | what it does |
//! |---|---|
//! | Mistral | no `index`, several whole calls in one chunk |
//! | Kimi through Novita | repeats id and name, or sends them empty |
//! | Writer, Kimi | `arguments: null` at first |
//! | compatibility layers of Anthropic | count from 1 |
//! | others | send `{}` before the real arguments, or one index for all calls |
//!
//! Fragments with an index belong together by it, those without by their id, those without either to the last
//! call. A name and another id, or a name after whole arguments, begin another call all the same.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use compact_str::CompactString;
use indexmap::IndexMap;

use super::wire::{CallFragment, ChatFunction};
use crate::Decoded;
use crate::field::ForeignField;
use crate::writer::{EventWriter, OpenCall};
use model::ids::AgentId;
use model::limits::PART_BYTES_MAX;

/// The index of the one call of the legacy form, which has none.
const LEGACY_INDEX: u64 = u64::MAX;

/// The calls of one choice, in the order of their first fragments.
#[derive(Debug, Default)]
pub(super) struct ChoiceCalls {
    /// All calls; the maps below have their indices. Their number is bounded by that of the items of a run.
    slots: Vec<CallSlot>,
    /// The newest call with each `index` of the dialect.
    by_index: BTreeMap<u64, usize>,
    /// The newest call with each id.
    by_id: IndexMap<CompactString, usize>,
    /// Slots whose call is not written yet. Servers repeat the end of a message: each end costs only what is
    /// open.
    open: BTreeSet<usize>,
}

/// One call, and the id by which its fragments name it.
#[derive(Debug, Default)]
struct CallSlot {
    /// The dialect's id; empty when there was none.
    id: CompactString,
    /// Nothing until a fragment says more than that a call will come.
    call: Option<OpenCall>,
    /// Argument text that came after a whole object: then the first one was only a placeholder.
    again: String,
    /// The run has no room for it: its fragments are dropped.
    is_refused: bool,
    /// The tool takes any text, not JSON.
    is_custom: bool,
}

/// A fragment with its fields, empty where they are absent.
struct ReadFragment<'a> {
    index: Option<u64>,
    id: Cow<'a, str>,
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
    /// A call of a tool that takes any text.
    is_custom: bool,
}

impl<'a> ReadFragment<'a> {
    /// Reads a fragment; one that is no object is blank.
    fn read(field: ForeignField<'a>) -> Self {
        let call: CallFragment<'_> = field.object();
        let is_custom = call.custom.is_some() && !call.function.is_some();
        let body = if is_custom { call.custom } else { call.function };
        let function: ChatFunction<'_> = body.object();
        let arguments = function.arguments.words().or_else(|| function.input.words());
        Self {
            index: call.index.count(),
            id: call.id.words().unwrap_or_default(),
            name: function.name.word().unwrap_or_default(),
            arguments: arguments.unwrap_or_default(),
            is_custom,
        }
    }

    /// Whether the fragment says nothing but that a call may come.
    fn is_blank(&self) -> bool {
        self.id.is_empty() && self.name.is_empty() && self.arguments.is_empty()
    }
}

impl ChoiceCalls {
    /// Takes one fragment of `tool_calls`.
    pub(super) fn fragment(
        &mut self,
        field: ForeignField<'_>,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        self.take(&ReadFragment::read(field), agent, w, out);
    }

    /// Takes a fragment that has nothing but an index and arguments.
    pub(super) fn arguments(
        &mut self,
        index: Option<u64>,
        arguments: ForeignField<'_>,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let arguments = arguments.words().unwrap_or_default();
        let (id, name) = (Cow::Borrowed(""), Cow::Borrowed(""));
        self.take(&ReadFragment { index, id, name, arguments, is_custom: false }, agent, w, out);
    }

    /// Takes a `function_call`: one call without index and id.
    pub(super) fn legacy(
        &mut self,
        field: ForeignField<'_>,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let function: ChatFunction<'_> = field.object();
        let fragment = ReadFragment {
            index: Some(LEGACY_INDEX),
            id: Cow::Borrowed(""),
            name: function.name.word().unwrap_or_default(),
            arguments: function.arguments.words().unwrap_or_default(),
            is_custom: false,
        };
        self.take(&fragment, agent, w, out);
    }

    /// Gives the fragment to the call that it belongs to, or to a new one.
    fn take(
        &mut self,
        fragment: &ReadFragment<'_>,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let at = match self.slot_of(fragment) {
            Some(at) => at,
            None if fragment.index.is_none() && fragment.is_blank() => return,
            None => self.new_slot(fragment, w, out),
        };
        let Some(slot) = self.slots.get_mut(at) else { return };
        if slot.id.is_empty() && !fragment.id.is_empty() && !slot.is_refused {
            slot.id = CompactString::new(&fragment.id);
            self.by_id.insert(slot.id.clone(), at);
        }
        slot.take(fragment, agent, w, out);
        if slot.call.as_ref().is_some_and(|call| !call.is_written()) {
            self.open.insert(at);
        }
    }

    /// Writes the open calls, since no more fragments are expected. Of a stream that broke off (not
    /// `is_whole`) only those with whole arguments are written.
    pub(super) fn finish(&mut self, is_whole: bool, w: &mut EventWriter, out: &mut Decoded) {
        for at in std::mem::take(&mut self.open) {
            if let Some(slot) = self.slots.get_mut(at) {
                slot.finish(is_whole, w, out);
            }
        }
    }

    /// The slot that the fragment belongs to; nothing if it begins a call.
    fn slot_of(&self, fragment: &ReadFragment<'_>) -> Option<usize> {
        let at = match fragment.index {
            Some(index) => *self.by_index.get(&index)?,
            None if !fragment.id.is_empty() => return self.by_id.get(&*fragment.id).copied(),
            None => self.slots.len().checked_sub(1)?,
        };
        (!self.slots.get(at)?.is_other(fragment)).then_some(at)
    }

    /// Writes the last call if its arguments are whole, since something else begins. Fragments of parallel
    /// calls may also interleave, so one that is not whole stays open.
    pub(super) fn pause(&mut self, w: &mut EventWriter, out: &mut Decoded) {
        if let Some(last) = self.slots.last_mut() {
            last.finish(false, w, out);
        }
    }

    /// Adds a slot for the call that the fragment begins. Without room in the run it is one that drops its
    /// fragments.
    fn new_slot(&mut self, fragment: &ReadFragment<'_>, w: &mut EventWriter, out: &mut Decoded) -> usize {
        self.pause(w, out);
        if !w.has_room(out) {
            if self.slots.last().is_none_or(|last| !last.is_refused) {
                self.slots.push(CallSlot { is_refused: true, ..CallSlot::default() });
            }
            return self.slots.len().saturating_sub(1);
        }
        let (at, id) = (self.slots.len(), CompactString::new(&fragment.id));
        if let Some(index) = fragment.index {
            self.by_index.insert(index, at);
        }
        if !id.is_empty() {
            self.by_id.insert(id.clone(), at);
        }
        self.slots.push(CallSlot { id, ..CallSlot::default() });
        at
    }
}

impl CallSlot {
    /// Whether the fragment begins another call although it says that it belongs here.
    fn is_other(&self, fragment: &ReadFragment<'_>) -> bool {
        let Some(call) = &self.call else { return false };
        if fragment.name.is_empty() {
            return false;
        }
        if !fragment.id.is_empty() && !self.id.is_empty() {
            return fragment.id != self.id.as_str();
        }
        // No ids to go by: a name with arguments, after arguments that are whole, or any other name after arguments.
        let is_renamed = fragment.name != call.name();
        let starts_anew = call.is_whole() && (!fragment.arguments.is_empty() || is_renamed);
        starts_anew || (fragment.index.is_none() && is_renamed)
    }

    /// Takes a fragment of this call: opens it, merges the name, writes the arguments. After a whole object
    /// arguments are kept apart, since the first object was perhaps only a placeholder.
    fn take(
        &mut self,
        fragment: &ReadFragment<'_>,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        if self.is_refused || (self.call.is_none() && fragment.is_blank()) {
            return;
        }
        let call =
            self.call.get_or_insert_with(|| w.open_call(&fragment.id, &fragment.name, false, agent, out));
        merge_name(call, &fragment.name);
        self.is_custom |= fragment.is_custom;
        if self.is_custom {
            call.take_any_text();
        }
        if self.is_custom || !call.is_whole() {
            call.args(&fragment.arguments, w, out);
        } else if self.again.len().saturating_add(fragment.arguments.len()) <= PART_BYTES_MAX {
            self.again.push_str(fragment.arguments.trim());
        }
    }

    /// Writes the call, if it is open and whole. Arguments that followed a whole object replace it if they
    /// are JSON.
    fn finish(&mut self, is_whole: bool, w: &mut EventWriter, out: &mut Decoded) {
        let Some(call) = &mut self.call else { return };
        if call.is_written() || !(is_whole || (call.is_whole() && !self.is_custom)) {
            return;
        }
        let again = std::mem::take(&mut self.again);
        let arguments = Some(again).filter(|again| !again.is_empty() && model::Json::parse(again).is_some());
        call.written(arguments, w, out);
    }
}

/// Merges the name of a fragment into that of the call: some servers repeat it on each fragment, some send it
/// in pieces, some send it longer each time.
fn merge_name(call: &mut OpenCall, name: &str) {
    if name.is_empty() || name == call.name() {
        return;
    }
    if name.starts_with(call.name()) {
        call.set_name(name);
    } else if call.is_empty() {
        let joined = format!("{}{name}", call.name());
        call.set_name(&joined);
    }
}
