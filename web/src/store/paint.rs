//! Painting: what the model says has changed becomes signals, once for each frame of the screen.

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
use crate::scroll::Scroller;
use crate::speech;
use crate::spinners;

/// Between two paintings while the view catches up, in milliseconds: intermediate states are of no use to anybody.
const CATCH_UP_MS: u64 = 250;

/// The signals of single things, made when somebody first looks at one.
#[derive(Default)]
pub(super) struct Painter {
    signals: HashMap<ViewChange, ArcTrigger>,
    rows: HashMap<RunId, ArcTrigger>,
    states: States,
    frame: Option<OncePerFrame>,
    end: Option<OncePerFrame>,
    painted_at: u64,
    is_waiting: bool,
    n_items: usize,
    /// Rings of the list, as it was when it last changed.
    n_listed: usize,
    /// Whether all rings stand still.
    is_still: bool,
}

impl Painter {
    /// The signal of what `change` names.
    pub(super) fn signal(&mut self, change: &ViewChange) -> ArcTrigger {
        match self.signals.get(change) {
            Some(signal) => signal.clone(),
            None => self.signals.entry(change.clone()).or_default().clone(),
        }
    }

    /// The signal of the rows of a run.
    pub(super) fn rows(&mut self, run: &RunId) -> ArcTrigger {
        self.rows.entry(run.clone()).or_default().clone()
    }

    /// Starts again for another conversation.
    pub(super) fn forget(&mut self) {
        self.signals.clear();
        self.rows.clear();
        self.states.forget();
        self.n_items = 0;
    }
}

/// What is to be told after a look at the changes.
#[derive(Default)]
struct Word {
    signals: Vec<ArcTrigger>,
    tools: bool,
    items: bool,
    new_rows: usize,
    failures: Vec<String>,
}

impl Word {
    /// Tells the rows of `run`, once.
    fn rows(&mut self, painter: &Painter, run: &RunId, told: &mut Vec<RunId>) {
        if !told.contains(run) {
            told.push(run.clone());
            self.signals.extend(painter.rows.get(run).cloned());
        }
    }
}

impl Store {
    /// Asks for a painting before the next frame of the screen.
    pub(super) fn ask_painting(self) {
        let is_live = self.reading.model(Model::is_live);
        let wait = self.reading.painter.try_update_value(|painter| {
            let since = browser::now_ms().saturating_sub(painter.painted_at);
            if !is_live && since < CATCH_UP_MS {
                return (!std::mem::replace(&mut painter.is_waiting, true)).then_some(CATCH_UP_MS);
            }
            painter.frame.get_or_insert_with(|| OncePerFrame::new(move || self.paint())).ask();
            // Between the two the effects run. Who goes to the end only when the browser says that the content has
            // grown has it go through the page twice in each frame.
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

    /// Tells everybody what changed.
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
        let word =
            self.reading.painter.try_update_value(|painter| self.look(painter, &touched)).unwrap_or_default();
        for signal in &word.signals {
            signal.notify();
        }
        if word.items || touched.replaced {
            self.reading.items.notify();
        }
        if word.tools || touched.replaced {
            self.reading.tools.notify();
        }
        if !self.reading.following.get_untracked() && word.new_rows > 0 {
            self.reading.unseen.update(|n| *n = n.saturating_add(word.new_rows));
        }
        if !self.panel.wall.get_untracked() {
            word.failures.into_iter().for_each(|words| self.spoken.tell(words));
        }
        self.still_rings(touched.fleet);
        self.tell_words();
        self.tell_mark();
    }

    /// Shows the end of what was painted just now, where the view follows it.
    fn stay_at_end(self) {
        self.reading.scroller.with_value(Scroller::stick);
    }

    /// Which signals the changes concern.
    fn look(self, painter: &mut Painter, touched: &Touched) -> Word {
        painter.painted_at = browser::now_ms();
        let mut word = Word::default();
        let mut told = Vec::new();
        self.reading.model(|model| {
            let view = model.view();
            let n_items = view.items.len();
            word.items = std::mem::replace(&mut painter.n_items, n_items) != n_items;
            if touched.replaced {
                // Every signal, in whatever order: each is told once.
                word.signals.extend(painter.signals.values().chain(painter.rows.values()).cloned());
                // Nothing is told of the past, and it is replaced often.
                if model.replay().is_none() {
                    painter.states.see_all(view);
                }
                return;
            }
            for change in &touched.changes {
                word.signals.extend(painter.signals.get(change).cloned());
                match change {
                    ViewChange::Added(run, item) => {
                        word.new_rows = word.new_rows.saturating_add(1);
                        word.tools |= matches!(item, Item::Tool(_));
                        word.rows(painter, run, &mut told);
                    }
                    ViewChange::Item(run, Item::Tool(id)) => {
                        let state =
                            view.runs.get(run).and_then(|run| run.tools.get(id)).map(|tool| tool.state);
                        let key = (run.clone(), id.clone());
                        if let Some(state) = state
                            && painter.states.see(key, state)
                        {
                            word.tools = true;
                            word.rows(painter, run, &mut told);
                            word.failures.extend(failure(model, run, id));
                        }
                    }
                    ViewChange::Run(run) => word.rows(painter, run, &mut told),
                    ViewChange::Item(..) | ViewChange::Message(_) => {}
                }
            }
            for (run, tool) in &touched.progress {
                let change = ViewChange::Item(run.clone(), Item::Tool(tool.clone()));
                word.signals.extend(painter.signals.get(&change).cloned());
            }
        });
        word
    }

    /// Lets the rings stand still while there are too many of them.
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

    /// Tells for a while that the link came back.
    fn tell_mark(self) {
        let Some(mark) = self.reading.model.try_update_value(Model::take_mark).flatten() else { return };
        let words = mark.words(&browser::time_of_day(browser::now_ms()));
        self.spoken.tell(words.clone());
        self.reading.model.update_value(|model| model.keep_mark(words.clone()));
        self.link.tell_mark(words);
    }

    /// The few words that stand in signals of their own; the seq comes last.
    fn tell_words(self) {
        let (seq, is_live, is_running, viewers) = self.reading.model(|model| {
            let view = model.view();
            // Runs that go on are among the newest; to look at all of ten thousand would cost at each painting.
            let is_running = view.runs.values().rev().take(16).any(model::view::RunView::is_running);
            (view.seq, model.is_live(), is_running, model.viewers())
        });
        self.tell_replay();
        set(self.link.viewers, viewers);
        set(self.reading.live, is_live);
        set(self.reading.running, is_running);
        set(self.reading.seq, seq);
    }
}

/// What to say of a call that has just failed; nothing of the past, nor of what is only caught up.
fn failure(model: &Model, run: &RunId, id: &ToolCallId) -> Option<String> {
    let tool = model.view().runs.get(run)?.tools.get(id)?;
    let is_now = model.replay().is_none() && model.conversation().is_some() && model.is_live();
    (is_now && tool.state == ToolState::Error).then(|| speech::failure(&tool.name, tool.latency_ms()))
}

/// Sets a signal if that changes it.
fn set<T: PartialEq + Send + Sync + 'static>(signal: RwSignal<T>, value: T) {
    if signal.with_untracked(|old| *old != value) {
        signal.set(value);
    }
}
