//! A view as somebody sees it through a lens.
//!
//! What is seen of a view must be what the events that pass the same lens fold to ([`super::pass`]): whoever
//! joins with a snapshot and whoever was there all along see the same (I4).

use std::collections::HashMap;

use indexmap::IndexMap;

use super::kinds::KindFamily;
use super::window::{RunCut, RunShare};
use super::{Lens, Level};
use crate::anomaly::Anomalies;
use crate::event::ToolState;
use crate::ids::RunId;
use crate::limits::RAW_BYTES_PER_RUN_MAX;
use crate::view::{
    AgentView, Closed, Item, Loss, MessageView, Note, NoteBody, PartView, RunView, Streamed, ToolView,
    TopItem, View, Within,
};

impl Lens {
    /// `view` as it is seen: a copy without what the lens hides. All runs stay, whatever is seen of them;
    /// anomalies are left out, since they are those of the whole stream.
    pub fn project(&self, view: &View) -> View {
        if self.is_clear() {
            return view.clone();
        }
        let messages = self.wants_messages();
        let mut places = MessagePlacement { lens: self, view, seen: HashMap::new() };
        let is_seen = |item: &TopItem| messages || matches!(item, TopItem::Run(_));
        let reduced = self.is_reduced();
        let mut seen = View {
            seq: view.seq,
            title: view.title.clone(),
            forked_from: view.forked_from.clone(),
            label: view.label.clone(),
            earlier: self.window.as_ref().map(|window| window.earlier().clone()),
            items: Vec::new(),
            messages: IndexMap::new(),
            runs: IndexMap::new(),
            anomalies: if reduced { Anomalies::default() } else { view.anomalies.clone() },
            full: view.full,
        };
        if let Some(window) = &self.window {
            seen.items = window.items(view).filter(is_seen).collect();
            let messages = window.messages(view).filter(|_| messages);
            seen.messages = messages.map(|(id, message)| (id.clone(), places.message(message))).collect();
            seen.runs = window.runs(view).map(|(id, run, cut)| (id.clone(), self.run(run, cut))).collect();
        } else {
            seen.items = view.items.iter().filter(|item| is_seen(item)).cloned().collect();
            let messages = view.messages.iter().filter(|_| messages);
            seen.messages = messages.map(|(id, message)| (id.clone(), places.message(message))).collect();
            seen.runs = view.runs.iter().map(|(id, run)| (id.clone(), self.run(run, None))).collect();
        }
        seen
    }

    /// Whether messages of the history are seen.
    pub(super) fn wants_messages(&self) -> bool {
        self.wants_kind(Some(KindFamily::Message))
    }

    /// After an event of `run` was folded onto a view that is seen through this lens: takes out what only the whole
    /// stream can tell.
    pub fn tidy(&self, view: &mut View, run: &RunId) {
        if !self.is_reduced() {
            return;
        }
        if view.anomalies.total > 0 {
            view.anomalies = Anomalies::default();
        }
        if let Some(run) = view.runs.get_mut(run) {
            run.late = false;
        }
    }

    /// A run with what is seen of its items, from `cut` on. Notes are numbered anew.
    pub(super) fn run(&self, run: &RunView, cut: Option<&RunCut>) -> RunView {
        if !self.is_reduced() && cut.is_none() {
            return run.clone();
        }
        let whole = RunCut::default();
        let from = cut.unwrap_or(&whole);
        let notes = self.notes(run, cut);
        let seen = |item: &Item| match item {
            Item::Note(number) => notes.get(*number).copied().flatten().map(Item::Note),
            item => self.sees_item(run, cut, item).then(|| item.clone()),
        };
        let (mut parts, mut tools) = (IndexMap::new(), IndexMap::new());
        for (_, item) in from.items(run).filter(|(_, item)| self.sees_item(run, cut, item)) {
            match item {
                Item::Part(id) => parts.extend(run.parts.get(id).map(|part| (id.clone(), self.part(part)))),
                Item::Tool(id) => tools.extend(run.tools.get(id).map(|tool| (id.clone(), self.tool(tool)))),
                Item::Agent(_) | Item::Note(_) => {}
            }
        }
        RunView {
            status: run.status,
            own: run.own,
            model: run.model.clone(),
            dialect: run.dialect.clone(),
            title: run.title.clone(),
            name: run.name.clone(),
            host: run.host.clone(),
            started_at: run.started_at,
            ended_at: run.ended_at,
            finish_reason: run.finish_reason.clone(),
            usage: run.usage,
            error: run.error.clone().filter(|_| self.wants_kind(Some(KindFamily::Error))),
            activity: run.activity.clone().filter(|_| self.wants_kind(Some(KindFamily::Status))),
            activity_at: run.activity_at.filter(|_| self.wants_kind(Some(KindFamily::Status))),
            items: from.items(run).filter_map(|(_, item)| seen(item)).collect(),
            parts,
            tools,
            agents: run
                .agents
                .iter()
                .enumerate()
                .filter(|(_, (id, _))| self.sees(run, Some(id)))
                .map(|(place, (id, agent))| {
                    let has_task = cut.is_none_or(|cut| cut.has_agent(place, id));
                    let task = agent.task.clone().filter(|_| has_task);
                    (id.clone(), AgentView { task, ..agent.clone() })
                })
                .collect(),
            notes: run
                .notes
                .iter()
                .zip(&notes)
                .filter(|(_, seen)| seen.is_some())
                .map(|(note, _)| self.note(run, note))
                .collect(),
            raw_bytes: self.raw_bytes(run),
            open: run.open.iter().filter_map(seen).collect(),
            late: run.late && !self.is_reduced(),
            full: run.full,
            stalled_at: run.stalled_at,
            loss: run.loss.as_ref().and_then(|loss| self.loss(run, cut, loss)).map(Box::new),
        }
    }

    /// What is kept of a run whose publisher was lost, as far as it is seen.
    fn loss(&self, run: &RunView, cut: Option<&RunCut>, loss: &Loss) -> Option<Loss> {
        let errors = self.wants_kind(Some(KindFamily::Error));
        if run.is_running() && !errors {
            // Only the failure came so far.
            return None;
        }
        let seen = |closed: &&Closed| self.sees_item(run, cut, &closed.item);
        Some(Loss {
            error: loss.error.clone().filter(|_| errors),
            activity: loss.activity.clone().filter(|_| self.wants_kind(Some(KindFamily::Status))),
            activity_at: loss.activity_at.filter(|_| self.wants_kind(Some(KindFamily::Status))),
            open: loss.open.iter().filter(seen).cloned().collect(),
        })
    }

    /// Whether an item of `run` is seen: by its kind, by the agent that it belongs to, and because it is not before `cut`.
    pub(super) fn sees_item(&self, run: &RunView, cut: Option<&RunCut>, item: &Item) -> bool {
        match item {
            Item::Part(id) => {
                self.wants_kind(Some(KindFamily::Part))
                    && run.parts.get_full(id).is_some_and(|(place, _, part)| {
                        self.sees(run, part.agent.as_ref()) && cut.is_none_or(|cut| cut.has_part(place, id))
                    })
            }
            Item::Tool(id) => {
                self.wants_kind(Some(KindFamily::Tool))
                    && run.tools.get_full(id).is_some_and(|(place, _, tool)| {
                        self.sees(run, tool.agent.as_ref()) && cut.is_none_or(|cut| cut.has_tool(place, id))
                    })
            }
            Item::Agent(id) => self.sees(run, Some(id)),
            Item::Note(number) => {
                cut.is_none_or(|cut| *number >= cut.notes)
                    && run.notes.get(*number).is_some_and(|note| self.sees_note(run, note))
            }
        }
    }

    /// Whether a note is seen. Of an error it does not matter which agent it belongs to.
    fn sees_note(&self, run: &RunView, note: &Note) -> bool {
        match &note.body {
            // What failed concerns whoever looks at the run.
            NoteBody::Error(_) => self.wants_kind(Some(KindFamily::Error)),
            NoteBody::Custom { .. } => {
                self.wants_kind(Some(KindFamily::Custom)) && self.sees(run, note.agent.as_ref())
            }
            NoteBody::Raw { .. } => {
                self.wants_kind(Some(KindFamily::Raw)) && self.sees(run, note.agent.as_ref())
            }
        }
    }

    /// For each note its number among those that are seen.
    fn notes(&self, run: &RunView, cut: Option<&RunCut>) -> Vec<Option<usize>> {
        let mut count = 0_usize;
        let first = cut.map_or(0, |cut| cut.notes);
        let numbers = run.notes.iter().enumerate().map(|(at, note)| {
            let number = (at >= first && self.sees_note(run, note)).then_some(count);
            count = count.saturating_add(usize::from(number.is_some()));
            number
        });
        numbers.collect()
    }

    /// A note, without the agent if that is not seen.
    fn note(&self, run: &RunView, note: &Note) -> Note {
        let agent = note.agent.clone().filter(|agent| self.sees(run, Some(agent)));
        Note { at: note.at, agent, body: note.body.clone() }
    }

    /// A part, with as much of its text as the level shows.
    pub(super) fn part(&self, part: &PartView) -> PartView {
        PartView {
            kind: part.kind,
            agent: part.agent.clone(),
            body: self.text(&part.body, part.ended_at.is_some()),
            started_at: part.started_at,
            ended_at: part.ended_at,
            duration_ms: part.duration_ms,
            hidden: part.hidden,
            signature: part.signature.clone(),
        }
    }

    /// A call, with as much of its arguments and output as the level shows. Its result is always whole.
    pub(super) fn tool(&self, tool: &ToolView) -> ToolView {
        ToolView {
            arguments: self.text(&tool.arguments, tool.state != ToolState::Writing),
            output: if self.has_deltas() { tool.output.clone() } else { Streamed::default() },
            name: tool.name.clone(),
            agent: tool.agent.clone(),
            given_id: tool.given_id.clone(),
            result: tool.result.clone(),
            result_ref: tool.result_ref.clone(),
            files: tool.files.clone(),
            embeds: tool.embeds.clone(),
            question: tool.question.clone(),
            approved: tool.approved,
            rejected: tool.rejected,
            state: tool.state,
            server: tool.server,
            result_cut: tool.result_cut,
            is_error: tool.is_error,
            started_at: tool.started_at,
            pending_at: tool.pending_at,
            asked_at: tool.asked_at,
            executing_at: tool.executing_at,
            ended_at: tool.ended_at,
            queued_ms: tool.queued_ms,
            exec_ms: tool.exec_ms,
        }
    }

    /// A text at this level: as it grows, once it is whole, or not at all.
    fn text(&self, text: &Streamed, is_whole: bool) -> Streamed {
        match self.level {
            Level::Deltas => text.clone(),
            Level::Parts if is_whole => Streamed::whole(&text.text),
            Level::Parts | Level::Critical => Streamed::default(),
        }
    }

    /// Bytes of the raw events that are seen, also of those before the window, since what is kept of later ones depends on them. Once there
    /// were more than are kept, nobody knows which of them would have been.
    fn raw_bytes(&self, run: &RunView) -> u64 {
        if run.raw_bytes > RAW_BYTES_PER_RUN_MAX {
            return run.raw_bytes;
        }
        let seen = run.notes.iter().filter(|note| self.sees_note(run, note));
        let bytes = seen.map(|note| match &note.body {
            NoteBody::Raw { value, .. } => value.as_str().len() as u64,
            NoteBody::Error(_) | NoteBody::Custom { .. } => 0,
        });
        bytes.sum()
    }
}

/// Where messages stand inside of runs of which not everything is seen.
struct MessagePlacement<'a> {
    lens: &'a Lens,
    view: &'a View,
    /// For each run of which something is seen, the places of the items that are seen, in order.
    seen: HashMap<&'a RunId, Option<Vec<usize>>>,
}

impl<'a> MessagePlacement<'a> {
    /// A message, at its place among the items that are seen.
    fn message(&mut self, message: &'a MessageView) -> MessageView {
        let within = message.within.as_ref().and_then(|within| self.within(within));
        MessageView {
            role: message.role.clone(),
            text: message.text.clone(),
            files: message.files.clone(),
            at: message.at,
            within,
        }
    }

    /// The place of a message in its run, counted in items that are seen; `None` if the run is not.
    fn within(&mut self, within: &'a Within) -> Option<Within> {
        let (lens, view) = (self.lens, self.view);
        let seen = self.seen.entry(&within.run).or_insert_with(|| {
            let (place, _, run) = view.runs.get_full(&within.run)?;
            let share = lens.share(Some(place));
            if matches!(share, RunShare::Nothing) {
                return None;
            }
            let whole = RunCut::default();
            let items = share.cut().unwrap_or(&whole).items(run);
            let seen = items.filter(|(_, item)| lens.sees_item(run, share.cut(), item));
            Some(seen.map(|(place, _)| place).collect())
        });
        let items = seen.as_ref()?.partition_point(|place| *place < within.items);
        Some(Within { run: within.run.clone(), items })
    }
}
