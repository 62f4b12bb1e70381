//! Functions that read a single item and track it.

use std::ops::Range;

use leptos::prelude::*;
use model::fold::ViewChange;
use model::view::{Item, RunView, ToolView};
use model::{RunId, ToolCallId};

use super::ReadingStore;
use crate::flow::{self, Flow};

impl ReadingStore {
    /// Reads a run, and tracks it.
    pub(crate) fn run<T>(self, id: &RunId, read: impl FnOnce(&RunView) -> T) -> Option<T> {
        self.track(&ViewChange::Run(id.clone()));
        self.view(|view| view.runs.get(id).map(read))
    }

    /// Reads a call, and tracks it.
    pub(crate) fn tool<T>(
        self,
        run: &RunId,
        id: &ToolCallId,
        read: impl FnOnce(&ToolView) -> T,
    ) -> Option<T> {
        self.track(&ViewChange::Item(run.clone(), Item::Tool(id.clone())));
        self.view(|view| view.runs.get(run)?.tools.get(id).map(read))
    }

    /// The rows of a run, computed again when rows are added or calls change their states.
    pub(crate) fn flow(self, run: &RunId) -> Memo<Flow> {
        let run = run.clone();
        Memo::new(move |_| {
            self.track_rows(&run);
            self.view(|view| view.runs.get(&run).map(Flow::of)).unwrap_or_default()
        })
    }

    /// The range of items in the section of a run that begins at `from`, computed again when messages or runs
    /// are added.
    pub(crate) fn stretch(self, run: &RunId, from: usize) -> Memo<Range<usize>> {
        let run = run.clone();
        Memo::new(move |_| {
            self.track_items();
            self.view(|view| flow::stretch_from(view, &run, from))
        })
    }

    /// The rows of a section of a run, computed again when rows are added or calls change their states.
    pub(crate) fn flow_of(self, run: &RunId, stretch: Memo<Range<usize>>) -> Memo<Flow> {
        let run = run.clone();
        Memo::new(move |_| {
            self.track_rows(&run);
            let items = stretch.get();
            let flow = |run: &RunView| Flow::of_stretch(run, items.start..items.end.min(run.items.len()));
            self.view(|view| view.runs.get(&run).map(flow)).unwrap_or_default()
        })
    }

    /// Since when a run is stalled, by the hub's clock, in milliseconds since 1970: whether its calls still
    /// execute is unknown.
    pub(crate) fn silent_since(self, run: &RunId) -> Memo<Option<u64>> {
        let run = run.clone();
        Memo::new(move |_| self.run(&run, |run| run.stalled_at.filter(|_| run.is_running())).flatten())
    }
}
