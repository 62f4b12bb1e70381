//! The events of a conversation as text, with the place and the time of each.

use std::ops::Range;

use model::event::Kind;
use model::fold::{ViewChange, complete, fold};
use model::recording::RecordingClock;
use model::view::Item;
use model::{Envelope, Seq, View};

use super::kept::Checkpoints;

/// The most bytes of events that a replay holds; later events cannot be replayed.
pub const LOG_BYTES_MAX: usize = 64 << 20;

/// The most events that a replay holds.
pub const EVENTS_MAX: usize = 400_000;

/// The time between two events of a recording without times, in milliseconds of the player.
const UNTIMED_MS: u64 = 50;

/// An event on the time line of the replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The seq of the event in the log.
    pub seq: Seq,
    /// The hub's time in milliseconds since 1970, never before that of the preceding event; 0 if unknown.
    pub at: u64,
    /// Whether a step begins or ends with it.
    pub is_step: bool,
    /// The time as logged: clocks may go back.
    said: u64,
    /// The page that contains its text, and the byte range in it.
    page: u32,
    from: u32,
    to: u32,
}

/// The events of a conversation.
#[derive(Debug, Default)]
pub struct History {
    pages: Vec<String>,
    marks: Vec<Mark>,
    bytes: usize,
    is_cut: bool,
    tip: View,
    checkpoints: Checkpoints,
    /// Numbers the events, if this is a recording.
    clock: Option<RecordingClock>,
}

impl History {
    /// The number of events that are known.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// Whether no event is known.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// The newest known seq.
    pub fn seq(&self) -> Seq {
        self.marks.last().map_or(0, |mark| mark.seq)
    }

    /// Whether there are more events than a replay holds.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether the events have times.
    pub fn is_timed(&self) -> bool {
        self.marks.last().is_some_and(|mark| mark.at > 0)
    }

    /// The time of the event `number`, counted from 0, in milliseconds of the player.
    pub fn time(&self, number: usize) -> Option<u64> {
        let mark = self.marks.get(number)?;
        Some(if self.is_timed() { mark.at } else { (number as u64).saturating_mul(UNTIMED_MS) })
    }

    /// The time of the last event.
    pub fn end(&self) -> Option<u64> {
        self.len().checked_sub(1).and_then(|last| self.time(last))
    }

    /// The number of events that have happened at `time`.
    pub fn count_until(&self, time: u64) -> usize {
        if self.is_timed() {
            self.marks.partition_point(|mark| mark.at <= time)
        } else {
            let count = usize::try_from(time / UNTIMED_MS).unwrap_or(usize::MAX);
            count.saturating_add(1).min(self.len())
        }
    }

    /// The number of events at the next moment after `at` events at which a step begins or ends; all if there
    /// is none.
    pub fn step_after(&self, at: usize) -> usize {
        let more = self.marks.iter().skip(at).position(|mark| mark.is_step);
        more.map_or(self.len(), |more| at.saturating_add(more).saturating_add(1))
    }

    /// The number of events at the last such moment before `at` events.
    pub fn step_before(&self, at: usize) -> usize {
        let before = self.marks.get(..at.saturating_sub(1)).unwrap_or_default();
        before.iter().rposition(|mark| mark.is_step).map_or(1, |found| found.saturating_add(1))
    }

    /// Takes the next events of the hub's log, as JSON lines. Known events and those without a seq are
    /// ignored.
    pub fn take_logged(&mut self, lines: &str) {
        let envelopes = lines.lines().filter_map(|line| Some((line, Envelope::parse(line).ok()?)));
        let mut page = Page::default();
        for (line, envelope) in envelopes {
            if envelope.seq > self.seq() && !self.add(&mut page, line, &envelope) {
                break;
            }
        }
        self.pages.push(page.text);
    }

    /// Takes the next events of a decoded recording, as JSON lines; they are numbered and completed here.
    pub fn take_told(&mut self, lines: &str) {
        let mut clock = self.clock.take().unwrap_or_default();
        let mut page = Page::default();
        for line in lines.lines() {
            let Ok(mut envelope) = Envelope::parse(line) else { continue };
            clock.stamp(&mut envelope);
            complete(&self.tip, &mut envelope.event);
            if envelope.seq > self.seq() && !self.add(&mut page, line, &envelope) {
                break;
            }
        }
        self.clock = Some(clock);
        self.pages.push(page.text);
    }

    /// Adds an event to `page`, which becomes the next page. False if there is no room.
    fn add(&mut self, page: &mut Page, line: &str, envelope: &Envelope) -> bool {
        let bytes = self.bytes.saturating_add(line.len());
        let place = (u32::try_from(self.pages.len()), u32::try_from(page.text.len()));
        let end = u32::try_from(page.text.len().saturating_add(line.len()));
        let ((Ok(number), Ok(from)), Ok(to)) = (place, end) else { return self.cut() };
        if bytes > LOG_BYTES_MAX || self.marks.len() >= EVENTS_MAX {
            return self.cut();
        }
        let before = self.marks.last().map_or(0, |mark| mark.at);
        self.marks.push(Mark {
            seq: envelope.seq,
            at: envelope.at.max(before),
            said: envelope.at,
            is_step: is_step(&envelope.event.kind),
            page: number,
            from,
            to,
        });
        page.text.push_str(line);
        self.bytes = bytes;
        step(&mut self.tip, envelope, &mut |_| {});
        self.checkpoints.pass(self.marks.len(), self.bytes, &self.tip);
        true
    }

    /// Notes that there is no room for more events. Returns false.
    fn cut(&mut self) -> bool {
        self.is_cut = true;
        false
    }

    /// The newest kept view of at most `events` events, and how many it contains.
    pub(super) fn nearest(&self, events: usize) -> (usize, Option<&View>) {
        self.checkpoints.nearest(events)
    }

    /// Folds the events `range`, counted from 0, into `view`.
    pub(super) fn fold(&self, view: &mut View, range: Range<usize>, changed: &mut dyn FnMut(ViewChange)) {
        for mark in self.marks.get(range).unwrap_or_default() {
            let page = self.pages.get(mark.page as usize);
            let line = page.and_then(|page| page.get(mark.from as usize..mark.to as usize));
            let Some(mut envelope) = line.and_then(|line| Envelope::parse(line).ok()) else { continue };
            if self.clock.is_some() {
                // An event is completed from the view, as when it was added.
                (envelope.seq, envelope.at) = (mark.seq, mark.said);
                complete(view, &mut envelope.event);
            }
            step(view, &envelope, changed);
        }
    }
}

/// The text of events that arrived together.
#[derive(Default)]
struct Page {
    text: String,
}

/// Folds an event. A call without times gets no duration, except for one that the publisher reports.
fn step(view: &mut View, envelope: &Envelope, changed: &mut dyn FnMut(ViewChange)) {
    let mut untimed = None;
    fold(view, envelope, &mut |change| {
        if let ViewChange::Item(run, Item::Tool(tool)) = &change
            && envelope.at == 0
        {
            untimed = Some((run.clone(), tool.clone()));
        }
        changed(change);
    });
    let tool = untimed.and_then(|(run, tool)| view.runs.get_mut(&run)?.tools.get_mut(&tool));
    if let Some(tool) = tool {
        (tool.pending_at, tool.asked_at, tool.executing_at) = (None, None, None);
    }
}

/// Whether a step begins or ends with an event of this kind.
fn is_step(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::Message(_)
            | Kind::RunStart(_)
            | Kind::RunEnd(_)
            | Kind::AgentStart(_)
            | Kind::AgentEnd(_)
            | Kind::PartStart { .. }
            | Kind::ToolCall { .. }
            | Kind::ToolResult(_)
            | Kind::ApprovalRequest { .. }
            | Kind::ApprovalAnswer { .. }
            | Kind::Error(_)
    )
}
