//! Painting: turns the changes of the model into signals, once per frame of the screen.
//!
//! ```text
//! frames of the hub ─▶ Model (folds at once) ─▶ Touched (what changed)
//!                                                  │  requestAnimationFrame
//!                                                  ▼
//!              paint: signals of single items, of rows, of items and calls as a whole, then the seq
//!                                                  │  effects of the components run
//!                                                  ▼
//!                                     stay_at_end: scrolls, if the view follows
//! ```
//!
//! A component tracks the signal of the one item that it draws, so a delta of a text draws that text and
//! nothing else. A signal is made when it is first tracked; what nobody draws costs nothing.

use std::collections::HashMap;

use leptos::prelude::*;
use model::event::ToolState;
use model::fold::ViewChange;
use model::view::Item;
use model::{RunId, ToolCallId};

use super::Store;
use crate::browser::{self, OncePerFrame};
use crate::failed::States;
use crate::model::{Model, Touched};
use crate::scroll::{HeldRow, Scroller};
use crate::speech;
use crate::spinners;

/// The shortest time between two paintings while the page catches up, in milliseconds: nobody needs the
/// states in between.
const CATCH_UP_MS: u64 = 250;

/// The signals of single items, made when a component first tracks one, and what was painted last.
#[derive(Default)]
pub(super) struct Painter {
    /// The signals of items, runs and messages, as far as components have tracked them.
    signals: HashMap<ViewChange, ArcTrigger>,
    /// The signals of runs whose rows or states of calls change.
    rows: HashMap<RunId, ArcTrigger>,
    /// The states of calls at the last painting, by which a change of state is told from other changes of a
    /// call.
    states: States,
    /// Requests paintings; made with the first request.
    frame: Option<OncePerFrame>,
    /// Scrolls to the end after a painting.
    end: Option<OncePerFrame>,
    /// What the reader looked at before the last painting added rows above it.
    held: Option<HeldRow>,
    /// When the last painting was, in milliseconds since 1970.
    painted_at: u64,
    /// Whether a delayed painting is already requested.
    is_waiting: bool,
    /// The number of messages and runs at the last painting.
    n_items: usize,
    /// How many rings the list draws, counted when it last changed.
    n_listed: usize,
    /// Whether all rings stand still, because there are too many to turn.
    is_still: bool,
}

impl Painter {
    /// The signal of the item, run or message that `change` names; made if there is none.
    pub(super) fn signal(&mut self, change: &ViewChange) -> ArcTrigger {
        match self.signals.get(change) {
            Some(signal) => signal.clone(),
            None => self.signals.entry(change.clone()).or_default().clone(),
        }
    }

    /// The signal of the rows of a run; made if there is none.
    pub(super) fn rows(&mut self, run: &RunId) -> ArcTrigger {
        self.rows.entry(run.clone()).or_default().clone()
    }

    /// Forgets all signals. To be called for another conversation: its items may have the same ids.
    pub(super) fn forget(&mut self) {
        self.signals.clear();
        self.rows.clear();
        self.states.forget();
        self.n_items = 0;
    }
}

/// What must be notified after a painting. It is collected while the painter is borrowed, and notified
/// afterwards.
#[derive(Default)]
struct Notifications {
    /// The signals of single items and of the rows of runs.
    signals: Vec<ArcTrigger>,
    /// Whether a call was added or changed its state.
    tools: bool,
    /// Whether a message or a run was added or removed.
    items: bool,
    /// How many rows were added, for the button that goes to the end.
    new_rows: usize,
    /// The announcements of calls that have just failed.
    failures: Vec<String>,
}

impl Notifications {
    /// Adds the signal of the rows of `run`, unless it is in `told` already.
    fn rows(&mut self, painter: &Painter, run: &RunId, told: &mut Vec<RunId>) {
        if !told.contains(run) {
            told.push(run.clone());
            self.signals.extend(painter.rows.get(run).cloned());
        }
    }
}

impl Store {
    /// Requests a painting before the next frame of the screen; while the page catches up, at most every
    /// [`CATCH_UP_MS`]. Requests within a frame are one.
    pub(super) fn ask_painting(self) {
        let is_live = self.reading.model(Model::is_live);
        let wait = self.reading.painter.try_update_value(|painter| {
            let since = browser::now_ms().saturating_sub(painter.painted_at);
            if !is_live && since < CATCH_UP_MS {
                return (!std::mem::replace(&mut painter.is_waiting, true)).then_some(CATCH_UP_MS);
            }
            painter.frame.get_or_insert_with(|| OncePerFrame::new(move || self.paint())).ask();
            // The effects run between the two. Scrolling only when the browser reports the new size would
            // make it lay out the page twice per frame.
            painter.end.get_or_insert_with(|| OncePerFrame::new(move || self.stay_at_end())).ask();
            None
        });
        if let Some(ms) = wait.flatten() {
            browser::after(i32::try_from(ms).unwrap_or(0), move || {
                self.reading.painter.update_value(|painter| {
                    painter.is_waiting = false;
                    painter.painted_at = 0;
                });
                self.ask_painting();
            });
        }
    }

    /// Notifies all signals of what changed since the last painting. For another conversation all signals are
    /// forgotten first, and the view follows its end.
    fn paint(self) {
        let Some(touched) = self.reading.model.try_update_value(Model::take_touched) else { return };
        if touched.fleet {
            self.fleet.notify();
        }
        let conversation = self.reading.model(|model| model.conversation().cloned());
        let is_other = self.reading.conversation.with_untracked(|shown| *shown != conversation);
        if is_other {
            self.reading.painter.update_value(Painter::forget);
            self.reading.unseen.set(0);
            self.spoken.leave();
            self.reading.conversation.set(conversation);
            self.reading.follow();
        }
        if touched.grown {
            // What the reader looks at stays where it is while earlier rows are added above it.
            let held = self.reading.scroller.with_value(Scroller::first_held);
            self.reading.painter.update_value(|painter| painter.held = held);
        }
        let due =
            self.reading.painter.try_update_value(|painter| self.look(painter, &touched)).unwrap_or_default();
        for signal in &due.signals {
            signal.notify();
        }
        if due.items || touched.replaced {
            self.reading.items.notify();
        }
        if due.tools || touched.replaced {
            self.reading.tools.notify();
        }
        if !self.reading.following.get_untracked() && due.new_rows > 0 {
            self.reading.unseen.update(|n| *n = n.saturating_add(due.new_rows));
        }
        if !self.panel.wall.get_untracked() {
            due.failures.into_iter().for_each(|words| self.spoken.tell(words));
        }
        self.still_rings(touched.fleet);
        self.tell_words();
        self.tell_mark();
    }

    /// Scrolls to the end of what was painted, if the view follows it; otherwise puts back what the reader looks at, if rows were added above it.
    fn stay_at_end(self) {
        if let Some(held) = self.reading.painter.try_update_value(|painter| painter.held.take()).flatten() {
            held.put_back();
        }
        self.reading.scroller.with_value(Scroller::stick);
    }

    /// Collects the signals that the changes concern. If the view was replaced, these are all.
    fn look(self, painter: &mut Painter, touched: &Touched) -> Notifications {
        painter.painted_at = browser::now_ms();
        let mut due = Notifications::default();
        let mut told = Vec::new();
        self.reading.model(|model| {
            let view = model.view();
            let n_items = view.items.len();
            due.items = std::mem::replace(&mut painter.n_items, n_items) != n_items;
            if touched.replaced {
                // Every signal, in any order: each is notified once.
                due.signals.extend(painter.signals.values().chain(painter.rows.values()).cloned());
                // During a replay nothing is announced, and the view is replaced often.
                if model.replay().is_none() {
                    painter.states.see_all(view);
                }
                return;
            }
            for change in &touched.changes {
                due.signals.extend(painter.signals.get(change).cloned());
                match change {
                    ViewChange::Added(run, item) => {
                        due.new_rows = due.new_rows.saturating_add(1);
                        due.tools |= matches!(item, Item::Tool(_));
                        due.rows(painter, run, &mut told);
                    }
                    ViewChange::Item(run, Item::Tool(id)) => {
                        let state =
                            view.runs.get(run).and_then(|run| run.tools.get(id)).map(|tool| tool.state);
                        let key = (run.clone(), id.clone());
                        if let Some(state) = state
                            && painter.states.see(key, state)
                        {
                            due.tools = true;
                            due.rows(painter, run, &mut told);
                            due.failures.extend(failure(model, run, id));
                        }
                    }
                    ViewChange::Run(run) => due.rows(painter, run, &mut told),
                    ViewChange::Item(..) | ViewChange::Message(_) => {}
                }
            }
            for (run, tool) in &touched.progress {
                let change = ViewChange::Item(run.clone(), Item::Tool(tool.clone()));
                due.signals.extend(painter.signals.get(&change).cloned());
            }
        });
        due
    }

    /// Makes the rings stand still while there are too many: a class on the body stops their animation.
    fn still_rings(self, is_list_new: bool) {
        let stands = self.reading.painter.try_update_value(|painter| {
            let in_view = self.reading.model(|model| {
                if is_list_new {
                    painter.n_listed = model.fleet().map_or(0, |rows| spinners::of_rows(rows.values()));
                }
                spinners::of_view(model.view())
            });
            let stands = spinners::stand(painter.is_still, painter.n_listed.saturating_add(in_view));
            (std::mem::replace(&mut painter.is_still, stands) != stands).then_some(stands)
        });
        if let (Some(stands), Some(body)) = (stands.flatten(), browser::document().body()) {
            drop(body.class_list().toggle_with_force("still", stands));
        }
    }

    /// Shows and announces the notice of a reconnection, if there is one.
    fn tell_mark(self) {
        let Some(mark) = self.reading.model.try_update_value(Model::take_mark).flatten() else { return };
        let words = mark.words(&browser::time_of_day(browser::now_ms()));
        self.spoken.tell(words.clone());
        self.reading.model.update_value(|model| model.keep_mark(words.clone()));
        self.link.tell_mark(words);
    }

    /// Sets the signals that hold values of the model; the seq last, so that who reads it finds the others
    /// set.
    fn tell_words(self) {
        let part = self.reading.model(|model| model.earlier().map(|earlier| earlier.window.to_string()));
        let has_other_part = self.reading.part.with_untracked(|shown| *shown != part);
        set(self.reading.part, part);
        self.go_on_with_whole();
        let (seq, is_live, is_running, viewers, names) = self.reading.model(|model| {
            let view = model.view();
            // Active runs are among the newest. Checking all of ten thousand at each painting would be
            // expensive.
            let is_running = view.runs.values().rev().take(16).any(model::view::RunView::is_running);
            (view.seq, model.is_live(), is_running, model.viewers(), model.viewer_names().to_vec())
        });
        self.tell_replay();
        set(self.link.viewers, viewers);
        set(self.link.viewer_names, names);
        set(self.reading.live, is_live);
        set(self.reading.running, is_running);
        if has_other_part {
            // The head may be the same, but much that was made of the view is not.
            self.reading.seq.set(seq);
        } else {
            set(self.reading.seq, seq);
        }
    }
}

/// The announcement of a call that has just failed; `None` during a replay and while the page catches up.
fn failure(model: &Model, run: &RunId, id: &ToolCallId) -> Option<String> {
    let tool = model.view().runs.get(run)?.tools.get(id)?;
    let is_now = model.replay().is_none() && model.conversation().is_some() && model.is_live();
    (is_now && tool.state == ToolState::Error).then(|| speech::failure(&tool.name, tool.latency_ms()))
}

/// Sets a signal, unless it has the value already.
fn set<T: PartialEq + Send + Sync + 'static>(signal: RwSignal<T>, value: T) {
    if signal.with_untracked(|old| *old != value) {
        signal.set(value);
    }
}
