//! Reading single things, with the word when to look again.

use std::ops::Range;

use leptos::prelude::*;
use model::fold::ViewChange;
use model::view::{Item, RunView, ToolView};
use model::{RunId, ToolCallId};

use super::ReadingStore;
use crate::flow::{self, Flow};

impl ReadingStore {
    /// Reads a run, and looks again when it changes.
    pub(crate) fn run<T>(self, id: &RunId, read: impl FnOnce(&RunView) -> T) -> Option<T> {
        self.track(&ViewChange::Run(id.clone()));
        self.view(|view| view.runs.get(id).map(read))
    }

    /// Reads a call, and looks again when it changes.
    pub(crate) fn tool<T>(
        self,
        run: &RunId,
        id: &ToolCallId,
        read: impl FnOnce(&ToolView) -> T,
    ) -> Option<T> {
        self.track(&ViewChange::Item(run.clone(), Item::Tool(id.clone())));
        self.view(|view| view.runs.get(run)?.tools.get(id).map(read))
    }

    /// How a run is drawn; computed again when rows come or calls change their state.
    pub(crate) fn flow(self, run: &RunId) -> Memo<Flow> {
        let run = run.clone();
        Memo::new(move |_| {
            self.track_rows(&run);
            self.view(|view| view.runs.get(&run).map(Flow::of)).unwrap_or_default()
        })
    }

    /// Which items of a run stand in its stretch that begins at `from`; computed again when messages or runs come.
    pub(crate) fn stretch(self, run: &RunId, from: usize) -> Memo<Range<usize>> {
        let run = run.clone();
        Memo::new(move |_| {
            self.track_items();
            self.view(|view| flow::stretch_from(view, &run, from))
        })
    }

    /// How a stretch of a run is drawn; computed again when rows come or calls change their state.
    pub(crate) fn flow_of(self, run: &RunId, stretch: Memo<Range<usize>>) -> Memo<Flow> {
        let run = run.clone();
        Memo::new(move |_| {
            self.track_rows(&run);
            let items = stretch.get();
            let flow = |run: &RunView| Flow::of_stretch(run, items.start..items.end.min(run.items.len()));
            self.view(|view| view.runs.get(&run).map(flow)).unwrap_or_default()
        })
    }

    /// Since when nobody speaks for a run that goes on, by the hub's clock: what of it runs is not known to.
    pub(crate) fn silent_since(self, run: &RunId) -> Memo<Option<u64>> {
        let run = run.clone();
        Memo::new(move |_| self.run(&run, |run| run.stalled_at.filter(|_| run.is_running())).flatten())
    }
}
