//! The other way round than [`crate::fold`]: a short list of events that folds to a given view. For whoever joins a
//! conversation that is under way and is told events, not views.
//!
//! Folding what is given here gives the view again, oddities and all, but for what no event can carry: bytes that were
//! over a limit, how many oddities were not kept, times that others hide, and what a run that went on after its end had
//! open at that end. Each text comes whole, in one delta; what
//! has ended ends before the next begins, as far as the view allows it.

use std::borrow::Cow;
use std::collections::HashMap;

use indexmap::IndexMap;

use crate::anomaly::Anomaly;
use crate::envelope::Envelope;
use crate::event::{Event, Kind, Message, RunUpdate};
use crate::fold::{before_loss, fold};
use crate::ids::{AgentId, MessageId, RunId};
use crate::view::{RunView, TopItem, View};

mod run;
mod text;
mod tool;

use run::RunUnfolder;

/// Events that fold to `view`. The last has the seq of the view, the others have none.
pub fn unfold(view: &View) -> Vec<Envelope> {
    let mut out = UnfoldedEvents::default();
    let before: HashMap<&RunId, Cow<'_, RunView>> =
        view.runs.iter().map(|(id, run)| (id, before_loss(run))).collect();
    let mut runs: IndexMap<&RunId, RunUnfolder<'_>> = IndexMap::new();
    let mut said = said_inside(view);
    for item in &view.items {
        match item {
            TopItem::Run(id) => {
                // A run in which nothing more is said is told to its end before the next begins.
                for run in runs.values_mut().filter(|run| !said.contains_key(run.id)) {
                    run.finish(&mut out);
                }
                if let Some((id, run)) = view.runs.get_key_value(id)
                    && let Some(before) = before.get(id)
                {
                    let teller = RunUnfolder::new(id, before, run.ended_at.filter(|_| run.loss.is_some()));
                    teller.start(&mut out);
                    runs.insert(id, teller);
                }
            }
            TopItem::Message(id) => {
                if let Some(within) = view.messages.get(id).and_then(|message| message.within.as_ref()) {
                    if let Some(run) = runs.get_mut(&within.run) {
                        run.go_on_to(within.items, &mut out);
                    }
                    if let Some(left) = said.get_mut(&within.run) {
                        *left = left.saturating_sub(1);
                    }
                    said.retain(|_, left| *left > 0);
                } else {
                    // It came between runs. One that goes on has gone on after its end: what it did stands above.
                    for run in runs.values_mut().filter(|run| !said.contains_key(run.id)) {
                        run.finish_before_message(&mut out);
                    }
                    // The newest was over, or the message would stand inside of it. Messages that name it may still come.
                    if let Some(newest) = runs.values_mut().next_back() {
                        newest.finish_if_over(&mut out);
                    }
                }
                message(view, id, &mut out);
            }
        }
    }
    for run in runs.values_mut() {
        run.finish(&mut out);
    }
    title(view, &mut out);
    if let Some(from) = view.forked_from.clone() {
        out.push(&RunId::none(), None, 0, Kind::Fork { from });
    }
    for change in view.label.as_changes() {
        out.push(&RunId::none(), None, 0, Kind::Label(Box::new(change)));
    }
    for run in runs.values() {
        // After everything else: whatever is told of a run takes this back.
        run.lose(&mut out);
    }
    oddities(view, &mut out);
    if let Some(last) = out.envelopes.last_mut() {
        last.seq = view.seq;
    }
    out.envelopes
}

/// How many messages are still to be said inside of each run.
fn said_inside(view: &View) -> HashMap<&RunId, usize> {
    let mut said: HashMap<&RunId, usize> = HashMap::new();
    for within in view.messages.values().filter_map(|message| message.within.as_ref()) {
        let count = said.entry(&within.run).or_default();
        *count = count.saturating_add(1);
    }
    said
}

/// Tells a message; of its run, if it stands inside of one.
fn message(view: &View, id: &MessageId, out: &mut UnfoldedEvents) {
    let Some(known) = view.messages.get(id) else { return };
    let run = known.within.as_ref().map_or_else(RunId::none, |within| within.run.clone());
    let message = Message {
        message: id.clone(),
        role: known.role.clone(),
        text: known.text.to_string(),
        files: known.files.clone(),
    };
    out.push(&run, None, known.at, Kind::Message(message));
}

/// The title is that of the run that said it last, which need not be the last run.
fn title(view: &View, out: &mut UnfoldedEvents) {
    if view.title.is_none() {
        return;
    }
    let last = out.envelopes.iter().rev().find_map(|envelope| match &envelope.event.kind {
        Kind::RunStart(start) => start.title.as_ref(),
        Kind::RunUpdate(update) => update.title.as_ref(),
        _ => None,
    });
    if last == view.title.as_ref() {
        return;
    }
    if let Some((id, run)) = view.runs.iter().rev().find(|(_, run)| run.title == view.title) {
        let update = RunUpdate { title: view.title.clone(), ..RunUpdate::default() };
        out.push(id, None, run.ended_at.unwrap_or(run.started_at), Kind::RunUpdate(update));
    }
}

/// The oddities that do not come of the events by themselves.
fn oddities(view: &View, out: &mut UnfoldedEvents) {
    if view.anomalies.first.is_empty() {
        return;
    }
    let mut again = View::default();
    for envelope in &out.envelopes {
        fold(&mut again, envelope, &mut |_change| {});
    }
    let mut known: Vec<Anomaly> = again.anomalies.first;
    for anomaly in &view.anomalies.first {
        match known.iter().position(|it| it == anomaly) {
            Some(place) => drop(known.swap_remove(place)),
            None => out.push(&RunId::none(), None, 0, Kind::Anomaly(anomaly.clone())),
        }
    }
}

/// The events so far.
#[derive(Debug, Default)]
struct UnfoldedEvents {
    envelopes: Vec<Envelope>,
}

impl UnfoldedEvents {
    /// Adds an event that happened at `at`, in milliseconds since 1970.
    fn push(&mut self, run: &RunId, agent: Option<&AgentId>, at: u64, kind: Kind) {
        let event = Event::new(run, kind).by(agent.cloned());
        self.envelopes.push(Envelope {
            event,
            seq: 0,
            at,
            producer_at: None,
            publisher: None,
            by_hub: false,
        });
    }
}

#[cfg(test)]
mod tests;
