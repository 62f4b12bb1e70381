//! The window of a newcomer: the newest part of a conversation, from fixed items on.
//!
//! ```text
//! items   m1 r1 m2 r2 m3 r3 m4 r4 …          runs      r2   items: ……………… p8 t9 p9     running, so its end is seen
//!                 ├─┘          └── seen                r4   items: …… t5 t6 p7         too large, so its end is seen
//!                 running                              r5…  whole
//! ```
//!
//! A window never moves: what is in it stays in it, and everything that begins later is in it. So it obeys the law of lenses, and
//! whoever has fallen behind or was cut off goes on with the same window, whose name is made of what is in it. Most events are about
//! items that are in each window, and pass as they are.
//!
//! What happens before the window cannot always be left out. A run of which nothing is seen may go on, and one may name the whole
//! conversation: the viewer then needs the snapshot ([`Passage::Untold`]), for which the hub chooses another window where this one
//! hides a run that goes on ([`Window::hides_running`]).

use compact_str::CompactString;

use crate::event::{Event, Kind};
use crate::ids::{AgentId, PartId, ToolCallId};
use crate::limits::{NEWEST_BYTES_MAX, NEWEST_BYTES_MIN};
use crate::view::{Earlier, Item, MessageView, RunView, TopItem, View};
use crate::weigh;

mod choose;

/// Most runs beside the newest one of which the end is seen because they go on.
const RUNNING_MAX: usize = 16;

/// The newest part of one conversation. Two with the same name show the same part.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Window {
    /// Its name, made of the rest of it.
    name: CompactString,
    /// How many messages lie before it.
    messages: usize,
    /// How many runs lie before it, apart from those in `cuts`.
    runs: usize,
    /// The runs of which the newest part is seen, each with its place among all runs, in order.
    cuts: Vec<(usize, RunCut)>,
    /// What lies before it, when it was chosen.
    earlier: Earlier,
}

/// Where the part of a run begins that is seen. The default is its beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct RunCut {
    /// How many items lie before it.
    pub(super) items: usize,
    /// How many of them are parts.
    pub(super) parts: usize,
    /// How many of them are calls.
    pub(super) tools: usize,
    /// How many of them are sub-agents. All of these are known, and only their places and tasks are left out: others name them.
    pub(super) agents: usize,
    /// How many of them are notes.
    pub(super) notes: usize,
    /// Items before it that are seen all the same because they were open, each with its place, in order.
    pub(super) kept: Vec<(usize, Item)>,
}

/// How much of a run is seen.
pub(super) enum RunShare<'a> {
    /// The run lies before the window.
    Nothing,
    /// The run is seen from there on.
    From(&'a RunCut),
    /// The whole run is seen.
    Whole,
}

impl<'a> RunShare<'a> {
    /// Where it begins, if not at the beginning of the run.
    pub(super) fn cut(&self) -> Option<&'a RunCut> {
        match self {
            Self::From(cut) => Some(cut),
            Self::Nothing | Self::Whole => None,
        }
    }
}

/// What a window does with an event.
pub(super) enum Passage {
    /// The event is in it, as far as the rest of the lens shows it.
    Open,
    /// The event is not, but its run is: that something came of it may be news.
    Trace,
    /// Neither is.
    No,
    /// Nothing in the window tells what the event does there.
    Untold,
}

impl RunCut {
    /// Whether the part `id`, at this place among the parts of its run, is seen.
    pub(super) fn has_part(&self, place: usize, id: &PartId) -> bool {
        place >= self.parts || self.keeps(|item| matches!(item, Item::Part(kept) if kept == id))
    }

    /// Whether the call `id`, at this place among the calls of its run, is seen.
    pub(super) fn has_tool(&self, place: usize, id: &ToolCallId) -> bool {
        place >= self.tools || self.keeps(|item| matches!(item, Item::Tool(kept) if kept == id))
    }

    /// Whether the sub-agent `id`, at this place among those of its run, is seen with its place and task.
    pub(super) fn has_agent(&self, place: usize, id: &AgentId) -> bool {
        place >= self.agents || self.keeps(|item| matches!(item, Item::Agent(kept) if kept == id))
    }

    fn keeps(&self, is_it: impl Fn(&Item) -> bool) -> bool {
        self.kept.iter().any(|(_, item)| is_it(item))
    }

    /// The items of `run` that are in it, each with its place, in order.
    pub(super) fn items<'a>(&'a self, run: &'a RunView) -> impl Iterator<Item = (usize, &'a Item)> {
        let kept = self.kept.iter().map(|(place, item)| (*place, item));
        kept.chain(run.items.iter().enumerate().skip(self.items))
    }
}

impl Window {
    /// Its name, by which a viewer that comes back says what it has.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What lies before it, when it was chosen.
    pub fn earlier(&self) -> &Earlier {
        &self.earlier
    }

    /// How much of the run at this place among the runs is seen.
    pub(super) fn share(&self, place: usize) -> RunShare<'_> {
        match self.cuts.binary_search_by_key(&place, |(run, _)| *run) {
            Ok(found) => self.cuts.get(found).map_or(RunShare::Whole, |(_, cut)| RunShare::From(cut)),
            Err(_) if place >= self.runs => RunShare::Whole,
            Err(_) => RunShare::Nothing,
        }
    }

    /// What it does with `event`, of whose run `share` is seen; `now` is the view after the event or later.
    pub(super) fn passage(&self, event: &Event, share: &RunShare<'_>, now: &View) -> Passage {
        let is_outside = matches!(share, RunShare::Nothing);
        let outside = if is_outside { Passage::No } else { Passage::Trace };
        match &event.kind {
            Kind::Message(message) => match now.messages.get_full(&message.message) {
                Some((place, _, message)) if place >= self.messages => {
                    // The viewer would put it into another run, or into none.
                    if self.is_within_hidden(message, now) { Passage::Untold } else { Passage::Open }
                }
                _ => outside,
            },
            kind if kind.is_of_conversation() || !is_outside => Passage::Open,
            // It goes on, and with it what a viewer wants to see.
            Kind::RunStart(_) if now.runs.contains_key(&event.run) => Passage::Untold,
            // It names the conversation.
            Kind::RunUpdate(update) if update.title.is_some() && now.runs.contains_key(&event.run) => {
                Passage::Untold
            }
            _ => outside,
        }
    }

    /// Whether a message stands in a run of which nothing is seen.
    pub(super) fn is_within_hidden(&self, message: &MessageView, view: &View) -> bool {
        let place = message.within.as_ref().map(|within| view.runs.get_index_of(&within.run));
        place.is_some_and(|place| place.is_none_or(|place| matches!(self.share(place), RunShare::Nothing)))
    }

    /// Whether it shows nothing of a run that goes on. Whoever has it needs another one.
    pub fn hides_running(&self, view: &View) -> bool {
        running(view).into_iter().any(|place| matches!(self.share(place), RunShare::Nothing))
    }

    /// The items of `view` that are in it, in order.
    pub(super) fn items<'a>(&'a self, view: &'a View) -> impl Iterator<Item = TopItem> + 'a {
        let before = self.runs_before(view).map(|(id, _)| TopItem::Run(id.clone()));
        before.chain(view.items.iter().skip(self.messages.saturating_add(self.runs)).cloned())
    }

    /// The messages of `view` that are in it, in order.
    pub(super) fn messages<'a>(
        &self,
        view: &'a View,
    ) -> impl Iterator<Item = (&'a crate::ids::MessageId, &'a MessageView)> + use<'a> {
        view.messages.get_range(self.messages..).into_iter().flat_map(indexmap::map::Slice::iter)
    }

    /// The runs of `view` of which something is in it, in order.
    pub(super) fn runs<'a>(
        &'a self,
        view: &'a View,
    ) -> impl Iterator<Item = (&'a crate::ids::RunId, &'a RunView, Option<&'a RunCut>)> {
        let before = self.cuts.iter().take_while(|(place, _)| *place < self.runs);
        let before = before
            .filter_map(|(place, cut)| view.runs.get_index(*place).map(|(id, run)| (id, run, Some(cut))));
        let rest = view.runs.get_range(self.runs..).into_iter().flat_map(indexmap::map::Slice::iter);
        let rest = rest.zip(self.runs..).map(|((id, run), place)| (id, run, self.share(place).cut()));
        before.chain(rest)
    }

    /// The runs before it that go on.
    fn runs_before<'a>(
        &'a self,
        view: &'a View,
    ) -> impl Iterator<Item = (&'a crate::ids::RunId, &'a RunView)> {
        let before = self.cuts.iter().take_while(|(place, _)| *place < self.runs);
        before.filter_map(|(place, _)| view.runs.get_index(*place))
    }

    /// About the memory that the part of `view` holds that is in it, in bytes. Costs a walk over that part.
    pub fn held(&self, view: &View) -> u64 {
        let messages = self.messages(view).map(|(_, message)| weigh::message_held(message));
        let runs = self.runs(view).map(|(_, run, cut)| weigh::run_held_from(run, &cut.map_or([0; 3], from)));
        messages.chain(runs).sum::<usize>() as u64
    }
}

/// How many parts, calls and notes lie before `cut`.
fn from(cut: &RunCut) -> [usize; 3] {
    [cut.parts, cut.tools, cut.notes]
}

/// The places of the newest runs that go on, the newest first.
fn running(view: &View) -> Vec<usize> {
    view.runs
        .values()
        .enumerate()
        .rev()
        .filter(|(_, run)| run.is_running())
        .take(RUNNING_MAX)
        .map(|(place, _)| place)
        .collect()
}

/// For how many bytes a window is chosen where a viewer asks for `asked`, so that many viewers share few windows: the next smaller power of
/// two, at least [`NEWEST_BYTES_MIN`]. `None` is all of the conversation: for 0, and for more than any conversation has.
pub fn window_bytes(asked: u64) -> Option<u64> {
    if asked == 0 || asked >= NEWEST_BYTES_MAX {
        return None;
    }
    Some(1 << asked.max(NEWEST_BYTES_MIN).ilog2())
}

#[cfg(test)]
mod tests;
