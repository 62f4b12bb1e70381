//! Chooses a window: from the newest item back, for as long as there is room.
//!
//! Everything is weighed as it will be sent, projected and masked: neither the size of a window nor where it begins may depend on what a
//! role hides.

use std::collections::BTreeMap;
use std::hash::{Hash as _, Hasher as _};

use compact_str::format_compact;

use super::{RunCut, Window, running};
use crate::ids::{MessageId, RunId};
use crate::lens::Lens;
use crate::mask::Mask;
use crate::snapshot::{head, size_of_json};
use crate::view::{Earlier, Item, MessageView, Note, RunView, TopItem, View};

/// Most open items that one run keeps although they lie before the window.
const KEPT_MAX: usize = 64;

/// How often a window is chosen anew because what every window has left no room for the rest. Then it gets nothing but that.
const TRIES: u32 = 4;

/// Room for what a view says of what lies before it.
const EARLIER_BYTES: usize = 256;

/// What an entry of a list or map has around it.
const MARKS: usize = 2;

impl Window {
    /// The newest part of `view`, so that what is seen of it through `lens` and `mask` has at most `bytes_max` bytes as JSON; but at least the
    /// newest item, and all sub-agents of the runs that it has. `None` if all of the view fits. `whole_bytes` is about what all of it holds.
    pub fn choose(
        view: &View,
        lens: &Lens,
        mask: Option<&Mask>,
        bytes_max: u64,
        whole_bytes: u64,
    ) -> Option<Self> {
        let scale = Scale { lens, mask };
        let room = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        let room = room.saturating_sub(scale.head(view)).saturating_sub(EARLIER_BYTES);
        let walk = Walk::that_fits(scale, view, room);
        let (messages, runs, cuts) = (walk.messages, walk.runs, walk.cuts);
        let cuts: Vec<_> = cuts.into_iter().filter(|(place, cut)| *place < runs || cut.items > 0).collect();
        if messages == 0 && runs == 0 && cuts.is_empty() {
            return None;
        }
        let before = cuts.iter().filter(|(place, _)| *place < runs).count();
        let items = cuts.iter().map(|(_, cut)| cut.items.saturating_sub(cut.kept.len()) as u64).sum();
        let mut hasher = fnv::FnvHasher::default();
        (messages, runs, &cuts).hash(&mut hasher);
        let name = format_compact!("{:016x}", hasher.finish());
        let earlier = Earlier {
            window: name.clone(),
            messages: messages as u64,
            runs: runs.saturating_sub(before) as u64,
            items,
            bytes: None,
        };
        let mut window = Self { name, messages, runs, cuts, earlier };
        // How much lies before it says how large hidden contents are.
        if mask.is_none() {
            window.earlier.bytes = Some(whole_bytes.saturating_sub(window.held(view)));
        }
        Some(window)
    }
}

/// A window that grows backwards.
struct Walk<'a> {
    scale: Scale<'a>,
    view: &'a View,
    /// How many bytes are left.
    room: usize,
    /// How many bytes were taken although there was no room for them: every window has the newest item, the newest run, and all that go on.
    excess: usize,
    /// How many messages lie before what was taken.
    messages: usize,
    /// How many runs lie before what was taken.
    runs: usize,
    /// Where runs begin that are not taken whole, and all that go on, by place.
    cuts: BTreeMap<usize, RunCut>,
}

impl<'a> Walk<'a> {
    /// Takes as much as fits into `room`, and what every window has. If that takes more than the room, others make room for it.
    fn that_fits(scale: Scale<'a>, view: &'a View, mut room: usize) -> Self {
        for _ in 0..TRIES {
            let walk = Self::into_room(scale, view, room);
            if walk.excess == 0 || room == 0 {
                return walk;
            }
            room = room.saturating_sub(walk.excess);
        }
        Self::into_room(scale, view, 0)
    }

    /// Takes what fits into `room` and what every window has, as it comes.
    fn into_room(scale: Scale<'a>, view: &'a View, room: usize) -> Self {
        let (messages, runs) = (view.messages.len(), view.runs.len());
        let mut walk = Self { scale, view, room, excess: 0, messages, runs, cuts: BTreeMap::new() };
        walk.take_running();
        walk.back();
        walk.take_newest();
        walk
    }

    /// Counts `bytes` that were taken.
    fn count(&mut self, bytes: usize) {
        self.excess = self.excess.saturating_add(bytes.saturating_sub(self.room));
        self.room = self.room.saturating_sub(bytes);
    }

    /// Takes the ends of runs that go on beside the newest one, for up to half of the room.
    fn take_running(&mut self) {
        let newest = self.view.runs.len().saturating_sub(1);
        let running: Vec<_> = running(self.view).into_iter().filter(|place| *place != newest).collect();
        let each = self.room / 2 / running.len().max(1);
        for place in running {
            let Some((id, run)) = self.view.runs.get_index(place) else { continue };
            let (cut, bytes) = self.scale.cut(id, run, each, 0);
            self.count(bytes);
            self.cuts.insert(place, cut);
        }
    }

    /// Takes one item after the other, the newest first, until one does not fit whole.
    fn back(&mut self) {
        let newest = self.view.runs.len().saturating_sub(1);
        let mut is_first = true;
        for item in self.view.items.iter().rev() {
            match item {
                TopItem::Message(id) => {
                    let message = self.view.messages.get(id);
                    let bytes = message.map_or(0, |message| self.scale.message(id, message));
                    if bytes > self.room && !is_first {
                        return;
                    }
                    self.count(bytes);
                    self.messages = self.messages.saturating_sub(1);
                }
                TopItem::Run(id) => {
                    let place = self.runs.saturating_sub(1);
                    if !self.cuts.contains_key(&place) {
                        let Some(run) = self.view.runs.get(id) else { return };
                        let least = usize::from(place == newest);
                        let (cut, bytes) = self.scale.cut(id, run, self.room, least);
                        let is_whole = cut.items == 0;
                        if bytes > self.room && place != newest {
                            return;
                        }
                        self.count(bytes);
                        self.runs = place;
                        if !is_whole {
                            self.cuts.insert(place, cut);
                            return;
                        }
                    }
                    self.runs = place;
                }
            }
            is_first = false;
        }
    }

    /// Takes what there is no room for: the newest run stands for where the conversation is, also behind many messages.
    fn take_newest(&mut self) {
        let newest = self.view.runs.len().saturating_sub(1);
        if newest < self.runs
            && !self.cuts.contains_key(&newest)
            && let Some((id, run)) = self.view.runs.get_index(newest)
        {
            let (cut, bytes) = self.scale.cut(id, run, 0, 0);
            self.count(bytes);
            self.cuts.insert(newest, cut);
        }
    }
}

/// Weighs items as they will be sent.
#[derive(Clone, Copy)]
struct Scale<'a> {
    lens: &'a Lens,
    mask: Option<&'a Mask>,
}

impl Scale<'_> {
    /// The bytes of what a view has beside its messages and runs.
    fn head(&self, view: &View) -> usize {
        let mut head = self.lens.project(&head(view));
        if let Some(mask) = self.mask {
            mask.hide_in(&mut head);
        }
        size_of_json(&head)
    }

    /// The bytes of a message with its places in a view.
    fn message(&self, id: &MessageId, message: &MessageView) -> usize {
        if !self.lens.wants_messages() {
            return 0;
        }
        let is_hidden = self.mask.is_some_and(|mask| mask.hides_message_of(&message.role));
        let content = if is_hidden { 0 } else { size_of_json(&message.text) + size_of_json(&message.files) };
        let rest = MessageView { text: "".into(), files: Vec::new(), ..message.clone() };
        content
            + size_of_json(&rest)
            + size_of_json(&TopItem::Message(id.clone()))
            + size_of_json(id)
            + 16
            + 3 * MARKS
    }

    /// The newest part of a run that has at most `room` bytes with all that a run has beside its items, and what that part has. At least the
    /// newest `least` items are in it.
    fn cut(&self, id: &RunId, run: &RunView, room: usize, least: usize) -> (RunCut, usize) {
        let mut cut = RunCut::end(run);
        let mut bytes = self.base(id, run, &cut);
        // What is open may lie far back: it gets a part of the room.
        let tail = if run.open.is_empty() { room } else { room - room / 4 };
        let mut open = run.open.len();
        for (count, item) in run.items.iter().rev().enumerate() {
            let cost = self.item(run, item);
            if bytes.saturating_add(cost) > tail && count >= least {
                break;
            }
            bytes = bytes.saturating_add(cost);
            open = open.saturating_sub(usize::from(run.open.contains(item)));
            cut.back(item);
        }
        let before = run.items.iter().enumerate().take(cut.items).rev();
        let mut kept = Vec::new();
        for (place, item) in before {
            if open == 0 || kept.len() >= KEPT_MAX {
                break;
            }
            if !run.open.contains(item) {
                continue;
            }
            open = open.saturating_sub(1);
            let cost = self.item(run, item);
            if bytes.saturating_add(cost) <= room {
                bytes = bytes.saturating_add(cost);
                kept.push((place, item.clone()));
            }
        }
        kept.reverse();
        cut.kept = kept;
        (cut, bytes)
    }

    /// The bytes of a run without its items.
    fn base(&self, id: &RunId, run: &RunView, end: &RunCut) -> usize {
        let mut base = self.lens.run(run, Some(end));
        if let Some(mask) = self.mask {
            mask.hide_in_run(&mut base);
        }
        size_of_json(&base) + size_of_json(&TopItem::Run(id.clone())) + size_of_json(id) + 2 * MARKS
    }

    /// The bytes of an item with its places in a run; 0 if it is not seen.
    fn item(&self, run: &RunView, item: &Item) -> usize {
        if !self.lens.sees_item(run, None, item) {
            return 0;
        }
        let body = match item {
            Item::Part(id) => run.parts.get(id).map_or(0, |part| {
                let mut part = self.lens.part(part);
                if let Some(mask) = self.mask {
                    mask.hide_in_part(&mut part);
                }
                size_of_json(id) + size_of_json(&part)
            }),
            Item::Tool(id) => run.tools.get(id).map_or(0, |tool| {
                let mut tool = self.lens.tool(tool);
                if let Some(mask) = self.mask {
                    mask.hide_in_tool(&mut tool);
                }
                size_of_json(id) + size_of_json(&tool)
            }),
            // The sub-agent itself is in the run's base, without its task.
            Item::Agent(id) => {
                let task = run.agents.get(id).and_then(|agent| agent.task.as_ref());
                let is_hidden = self.mask.is_some_and(Mask::hides_some_arguments);
                task.filter(|_| !is_hidden).map_or(0, size_of_json)
            }
            Item::Note(number) => run.notes.get(*number).map_or(0, |note: &Note| size_of_json(note)),
        };
        // Once in the order, and where it is open, once there and once in what a loss has kept.
        let is_open = run.open.contains(item) || run.loss.is_some();
        let names = if is_open { 3 * size_of_json(item) + 48 } else { size_of_json(item) };
        body + names + 4 * MARKS
    }
}

impl RunCut {
    /// The end of `run`: nothing of it is seen yet.
    fn end(run: &RunView) -> Self {
        Self {
            items: run.items.len(),
            parts: run.parts.len(),
            tools: run.tools.len(),
            agents: run.agents.len(),
            notes: run.notes.len(),
            kept: Vec::new(),
        }
    }

    /// Takes in `item`, which stands before what is in it.
    fn back(&mut self, item: &Item) {
        let count = match item {
            Item::Part(_) => &mut self.parts,
            Item::Tool(_) => &mut self.tools,
            Item::Agent(_) => &mut self.agents,
            Item::Note(_) => &mut self.notes,
        };
        *count = count.saturating_sub(1);
        self.items = self.items.saturating_sub(1);
    }
}
