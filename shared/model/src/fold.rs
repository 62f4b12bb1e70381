//! The fold: one event onto the view. Total (any event in any state, never a panic, never an error; oddities become
//! anomalies), O(1) for each event, without clock or randomness (invariants I3 and I6).
//!
//! # What must hold for conflation (I5)
//! Deltas of one part may reach a fold joined. So nothing in a view may depend on how text was cut: no counter of
//! deltas, no time of the last delta, and an oddity of deltas is noted once for each text, not once for each delta.
//!
//! ```text
//! envelope ─▶ fold ─┬─ message, fork, label, anomaly    at the view
//!                   └─ everything else ─▶ its run (made if it is not there) ─▶ run, agent, part, tool, note, loss
//! ```

use crate::anomaly::{Anomalies, AnomalyCode};
use crate::command::COMMANDED;
use crate::envelope::Envelope;
use crate::event::{Event, Kind, Message};
use crate::ids::{MessageId, RunId};
use crate::limits::{MESSAGES_MAX, RUNS_MAX};
use crate::position::Seq;
use crate::view::{Item, MessageView, RunView, TopItem, View, Within};

mod agent;
mod complete;
mod loss;
mod note;
mod part;
mod run;
mod tool;

pub use complete::{complete, mismatch};
pub(crate) use loss::before_loss;
pub use note::{cut_raw, raw_bytes};

/// What an event touched, so that a page redraws only that.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ViewChange {
    /// A message came or was replaced.
    Message(MessageId),
    /// A run was added, or something about the run itself changed (state, title, usage).
    Run(RunId),
    /// An item was added to a run.
    Added(RunId, Item),
    /// An item of a run changed.
    Item(RunId, Item),
}

/// Applies `envelope` to `view` and tells `changed` what it touched. Ephemeral events leave the view as it is.
pub fn fold(view: &mut View, envelope: &Envelope, changed: &mut dyn FnMut(ViewChange)) {
    view.seq = view.seq.max(envelope.seq);
    let event = &envelope.event;
    match &event.kind {
        Kind::Message(message) => {
            heard(view, &event.run, changed);
            fold_message(view, message, envelope, changed);
        }
        Kind::Fork { from } => {
            heard(view, &event.run, changed);
            view.forked_from = Some(from.clone());
        }
        Kind::Label(change) => {
            heard(view, &event.run, changed);
            view.label.take(change);
        }
        Kind::Anomaly(anomaly) => {
            heard(view, &event.run, changed);
            view.anomalies.note(anomaly.code, || anomaly.detail.clone());
        }
        Kind::ToolProgress(_) | Kind::Rate { .. } => {}
        _ => fold_in_run(view, envelope, changed),
    }
}

/// Applies the events of one frame: all or, when the frame does not continue the view, none. Returns whether it did.
pub fn fold_batch(
    view: &mut View,
    from: Seq,
    to: Seq,
    envelopes: &[Envelope],
    changed: &mut dyn FnMut(ViewChange),
) -> bool {
    if view.seq.saturating_add(1) != from {
        return false;
    }
    for envelope in envelopes {
        fold(view, envelope, changed);
    }
    view.seq = view.seq.max(to);
    true
}

/// Notes that something came of `run`, if there is one.
fn heard(view: &mut View, run: &RunId, changed: &mut dyn FnMut(ViewChange)) {
    if let Some((id, run)) = view.runs.get_full_mut(run).map(|(_, id, run)| (id, run)) {
        loss::heard(id, run, changed);
    }
}

/// A message that comes again replaces the text and keeps its place.
fn fold_message(
    view: &mut View,
    message: &Message,
    envelope: &Envelope,
    changed: &mut dyn FnMut(ViewChange),
) {
    let id = &message.message;
    let within = within(view, &envelope.event.run);
    let new = MessageView {
        role: message.role.clone(),
        text: message.text.as_str().into(),
        files: message.files.clone(),
        at: envelope.at,
        within,
    };
    if let Some(old) = view.messages.get_mut(id) {
        *old = MessageView { at: old.at, within: old.within.take(), ..new };
    } else if view.messages.len() < MESSAGES_MAX {
        view.messages.insert(id.clone(), new);
        view.items.push(TopItem::Message(id.clone()));
    } else {
        note_full(&mut view.anomalies, &mut view.full, "messages");
        return;
    }
    changed(ViewChange::Message(id.clone()));
}

/// Where a message stands that came now: inside of the run that it names; where that is none which is there, inside of
/// the newest run, as long as that goes on or may come back. Order is that of seq, so what comes after it in that run stands below.
fn within(view: &View, named: &RunId) -> Option<Within> {
    let newest = || view.runs.last().filter(|(_, run)| run.is_running() || run.loss.is_some());
    let (id, run) = view.runs.get_key_value(named).or_else(newest)?;
    Some(Within { run: id.clone(), items: run.items.len() })
}

/// Notes once that the view holds no more of `what`.
fn note_full(anomalies: &mut Anomalies, full: &mut bool, what: &str) {
    if !*full {
        *full = true;
        anomalies.note(AnomalyCode::TooMany, || what.to_owned());
    }
}

/// What the functions of one run need beside it.
struct RunFold<'a> {
    /// The run that the event belongs to.
    run_id: &'a RunId,
    /// The event that is folded.
    event: &'a Event,
    /// When the hub took it, in milliseconds since 1970.
    at: u64,
    /// The anomalies of the view, to which oddities are added.
    anomalies: &'a mut Anomalies,
    /// The listener that is told what changed.
    changed: &'a mut dyn FnMut(ViewChange),
}

impl RunFold<'_> {
    /// Notes an oddity; `detail` is called only if it is kept.
    fn note(&mut self, code: AnomalyCode, detail: impl FnOnce() -> String) {
        self.anomalies.note(code, detail);
    }

    /// Tells that the run itself changed.
    fn run_changed(&mut self) {
        (self.changed)(ViewChange::Run(self.run_id.clone()));
    }

    /// Tells that an item of the run changed.
    fn item_changed(&mut self, item: Item) {
        (self.changed)(ViewChange::Item(self.run_id.clone(), item));
    }

    /// Adds `item` to the order of the run; false when the run is full.
    fn add(&mut self, run: &mut RunView, item: Item) -> bool {
        if run.items.len() >= crate::limits::ITEMS_PER_RUN_MAX {
            note_full(self.anomalies, &mut run.full, "items");
            return false;
        }
        run.items.push(item.clone());
        (self.changed)(ViewChange::Added(self.run_id.clone(), item));
        true
    }
}

/// Applies an event that belongs to a run. A run that nobody began is made, with an anomaly.
fn fold_in_run(view: &mut View, envelope: &Envelope, changed: &mut dyn FnMut(ViewChange)) {
    let Envelope { event, at, .. } = envelope;
    let (run_id, at) = (&event.run, *at);
    if !view.runs.contains_key(run_id) {
        if view.runs.len() >= RUNS_MAX {
            note_full(&mut view.anomalies, &mut view.full, "runs");
            return;
        }
        if !matches!(event.kind, Kind::RunStart(_)) {
            view.anomalies.note(AnomalyCode::RunWithoutStart, || run_id.to_string());
        }
        // Only who begins a run can have it: what was said in it before would be anybody's.
        let own = envelope.by_hub && matches!(event.kind, Kind::RunStart(_));
        view.runs.insert(run_id.clone(), RunView { started_at: at, own, ..RunView::default() });
        view.items.push(TopItem::Run(run_id.clone()));
        changed(ViewChange::Run(run_id.clone()));
    }
    let Some(run) = view.runs.get_mut(run_id) else { return };
    if !matches!(event.kind, Kind::RunStalled { .. }) {
        loss::heard(run_id, run, changed);
    }
    let mut scene = RunFold { run_id, event, at, anomalies: &mut view.anomalies, changed };
    if !run.is_running() && !run.late && !may_come_late(&event.kind) {
        run.late = true;
        scene.note(AnomalyCode::AfterRunEnd, || run_id.to_string());
    }
    fold_kind(run, &mut scene);
    let title = match &event.kind {
        Kind::RunStart(start) => start.title.as_ref(),
        Kind::RunUpdate(update) => update.title.as_ref(),
        _ => None,
    };
    if title.is_some() {
        view.title = title.cloned();
    }
}

/// Events that are fine for a run that has ended: it goes on, somebody learnt more, the caller gives back what the
/// calls that were handed over to it did, or the hub says who commanded something in it.
fn may_come_late(kind: &Kind) -> bool {
    matches!(kind, Kind::Custom { name, .. } if name == COMMANDED)
        || matches!(
            kind,
            Kind::RunStart(_)
                | Kind::RunUpdate(_)
                | Kind::RunStalled { .. }
                | Kind::ToolState(_)
                | Kind::ToolOutput { .. }
                | Kind::ToolResult(_)
                | Kind::ApprovalRequest { .. }
                | Kind::ApprovalAnswer { .. }
        )
}

/// Applies the kind of the event to its run.
fn fold_kind(run: &mut RunView, scene: &mut RunFold<'_>) {
    match &scene.event.kind {
        Kind::RunStart(start) => run::start(run, scene, start),
        Kind::RunUpdate(update) => run::update(run, scene, update),
        Kind::RunStalled { since } => loss::stalled(run, scene, *since),
        Kind::RunEnd(end) => run::end(run, scene, end),
        Kind::AgentStart(start) => agent::start(run, scene, start),
        Kind::AgentEnd(end) => agent::end(run, scene, end),
        Kind::PartStart { part, kind } => part::start(run, scene, part, *kind),
        Kind::PartDelta { part, off, text } => part::delta(run, scene, part, *off, text),
        Kind::PartReplace { part, text } => part::replace(run, scene, part, text),
        Kind::PartEnd(end) => part::end(run, scene, end),
        Kind::ToolStart(start) => tool::start(run, scene, start),
        Kind::ToolArgs { tool, off, text } => tool::args(run, scene, tool, *off, text),
        Kind::ToolCall { tool, name, arguments } => {
            tool::call(run, scene, tool, name.as_deref(), arguments.as_deref());
        }
        Kind::ToolState(change) => tool::state(run, scene, change),
        Kind::ToolOutput { tool, off, text } => tool::output(run, scene, tool, *off, text),
        Kind::ToolResult(result) => tool::result(run, scene, result),
        Kind::ApprovalRequest { tool, text } => tool::ask(run, scene, tool, text.as_deref()),
        Kind::ApprovalAnswer { tool, approved, .. } => tool::answer(run, scene, tool, *approved),
        Kind::Status { text } => {
            (run.activity, run.activity_at) = (Some(text.clone()), Some(scene.at));
            scene.run_changed();
        }
        Kind::Error(error) => note::error(run, scene, error),
        Kind::Custom { name, value } => note::custom(run, scene, name, value),
        Kind::Raw { name, value } => note::raw(run, scene, name, value),
        Kind::Unknown(unknown) => note::unknown(run, scene, unknown),
        Kind::Fork { .. }
        | Kind::Label(_)
        | Kind::Message(_)
        | Kind::Anomaly(_)
        | Kind::ToolProgress(_)
        | Kind::Rate { .. } => {}
    }
}

#[cfg(test)]
mod tests;
