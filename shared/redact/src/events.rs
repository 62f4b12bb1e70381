//! The texts of a conversation that come in pieces: the deltas of its parts, arguments and outputs, each a [`TextStream`]. What is held
//! back of one comes with its next delta, or as a delta of its own before whatever ends it.

use compact_str::CompactString;
use model::event::{Event, Kind};
use model::{AgentId, Envelope, PartId, RunId, ToolCallId};

use crate::marks::Redactor;
use crate::stream::{TextKind, TextStream};

/// Most texts of one conversation of which the end is known. Of the one that was silent longest the end is forgotten.
pub const OPEN_TEXTS_MAX: usize = 256;

/// The id of a text that is streamed within a run.
#[derive(Debug)]
enum TextId {
    Part(PartId),
    Arguments(ToolCallId),
    Output(ToolCallId),
}

/// The id of a text, borrowed from an event: nearly every delta is of a text that is known, and its name is only compared.
#[derive(Debug, Clone, Copy)]
enum TextRef<'a> {
    Part(&'a PartId),
    Arguments(&'a ToolCallId),
    Output(&'a ToolCallId),
}

impl TextRef<'_> {
    fn names(self, id: &TextId) -> bool {
        match (self, id) {
            (Self::Part(part), TextId::Part(of)) => part == of,
            (Self::Arguments(tool), TextId::Arguments(of)) | (Self::Output(tool), TextId::Output(of)) => {
                tool == of
            }
            _ => false,
        }
    }

    fn to_id(self) -> TextId {
        match self {
            Self::Part(part) => TextId::Part(part.clone()),
            Self::Arguments(tool) => TextId::Arguments(tool.clone()),
            Self::Output(tool) => TextId::Output(tool.clone()),
        }
    }
}

impl TextId {
    fn delta(&self, text: String) -> Kind {
        let text = CompactString::from(text);
        match self {
            Self::Part(part) => Kind::PartDelta { part: part.clone(), off: None, text },
            Self::Arguments(tool) => Kind::ToolArgs { tool: tool.clone(), off: None, text },
            Self::Output(tool) => Kind::ToolOutput { tool: tool.clone(), off: None, text },
        }
    }

    fn kind(&self) -> TextKind {
        if matches!(self, Self::Arguments(_)) { TextKind::Json } else { TextKind::Text }
    }
}

/// A text that has not ended.
#[derive(Debug)]
struct OpenText {
    run: RunId,
    id: TextId,
    agent: Option<AgentId>,
    stream: TextStream,
    /// Bytes that its publisher has said of it.
    came: u64,
    /// Bytes that were passed on.
    passed: u64,
    /// The byte among those at which its newest delta starts.
    start: u64,
    /// Whether the two differ in more than their ends.
    is_changed: bool,
}

/// The texts of one conversation that have not ended, the newest last. It belongs to whoever numbers the events, and sees them before.
#[derive(Debug, Default)]
pub struct EventStreams {
    open: Vec<OpenText>,
}

impl EventStreams {
    /// Whether something of a text is held back.
    pub fn is_holding(&self) -> bool {
        self.open.iter().any(|text| text.stream.held() > 0)
    }

    /// Whether something of a text of `run` is held back.
    pub fn holds_of(&self, run: &RunId) -> bool {
        self.open.iter().any(|text| text.run == *run && text.stream.held() > 0)
    }

    /// Marks the secrets in the deltas among `events`, which are the next of the conversation.
    pub fn take(&mut self, redactor: &Redactor, events: &mut Vec<Envelope>) {
        let mut added: Vec<(usize, Envelope)> = Vec::new();
        for (at, envelope) in events.iter_mut().enumerate() {
            let ended = self.hear(redactor, &mut envelope.event);
            if ended.is_empty() {
                continue;
            }
            let by = &*envelope;
            added.extend(ended.into_iter().map(|event| (at, Envelope { event, seq: 0, ..by.clone() })));
        }
        for (at, envelope) in added.into_iter().rev() {
            events.insert(at, envelope);
        }
    }

    /// Marks the secrets in the deltas of a whole history, of which no event may become two: what is held back at the end of a text is put to its
    /// last delta. True if a delta changed: its text, or where it starts.
    pub fn take_history(&mut self, redactor: &Redactor, events: &mut [Envelope]) -> bool {
        let mut is_changed = false;
        for at in 0..events.len() {
            let (before, rest) = events.split_at_mut(at);
            let Some(envelope) = rest.first_mut() else { break };
            let had_offset = offset(&envelope.event).is_some();
            let said = self.hear(redactor, &mut envelope.event);
            let start = offset(&envelope.event).filter(|_| had_offset);
            if let (true, None, Some(text)) = (had_offset, start, self.open.last()) {
                set_offset(&mut envelope.event, text.start);
                is_changed = true;
            }
            is_changed |= !said.is_empty();
            for more in &said {
                put_to_last(before, more);
            }
        }
        let rest = self.release(redactor);
        is_changed |= !rest.is_empty();
        for more in &rest {
            put_to_last(events, more);
        }
        is_changed
    }

    /// Ends all that is held back: what begins as a secret does is marked, the rest is passed on. What is to be said comes back.
    pub fn release(&mut self, redactor: &Redactor) -> Vec<Event> {
        let mut events = Vec::new();
        for text in self.open.iter_mut().filter(|text| text.stream.held() > 0) {
            let passed = text.stream.release(redactor);
            text.passed += passed.len() as u64;
            events.extend(text.event(passed));
        }
        events
    }

    /// Takes one event. What must be said before it comes back.
    fn hear(&mut self, redactor: &Redactor, event: &mut Event) -> Vec<Event> {
        let (run, agent) = (&event.run, event.agent.as_ref());
        match &mut event.kind {
            Kind::PartDelta { part, off, text } => {
                self.delta(redactor, &mut Delta { run, agent, id: TextRef::Part(part), off, text })
            }
            Kind::ToolArgs { tool, off, text } => {
                self.delta(redactor, &mut Delta { run, agent, id: TextRef::Arguments(tool), off, text })
            }
            Kind::ToolOutput { tool, off, text } => {
                self.delta(redactor, &mut Delta { run, agent, id: TextRef::Output(tool), off, text })
            }
            Kind::PartReplace { part, text } => {
                let id = TextRef::Part(part);
                self.forget(run, id);
                let mut all = CompactString::from(std::mem::take(text));
                let said =
                    self.delta(redactor, &mut Delta { run, agent, id, off: &mut Some(0), text: &mut all });
                *text = all.into();
                said
            }
            Kind::PartEnd(end) => {
                let (said, is_changed) = self.end(redactor, run, TextRef::Part(&end.part));
                if is_changed {
                    // They tell about what came, and would let a short secret be guessed.
                    (end.len, end.hash) = (None, None);
                }
                said.into_iter().collect()
            }
            Kind::ToolCall { tool, arguments, .. } => {
                let id = TextRef::Arguments(tool);
                match arguments {
                    Some(_) => {
                        self.forget(run, id);
                        Vec::new()
                    }
                    None => self.end(redactor, run, id).0.into_iter().collect(),
                }
            }
            Kind::ToolResult(result) => {
                let ids = [TextRef::Arguments(&result.tool), TextRef::Output(&result.tool)];
                ids.into_iter().filter_map(|id| self.end(redactor, run, id).0).collect()
            }
            Kind::RunEnd(_) => self.end_run(redactor, run),
            _ => Vec::new(),
        }
    }

    fn place(&self, run: &RunId, id: TextRef<'_>) -> Option<usize> {
        self.open.iter().rposition(|text| text.is(run, id))
    }

    fn forget(&mut self, run: &RunId, id: TextRef<'_>) {
        if let Some(at) = self.place(run, id) {
            self.open.remove(at);
        }
    }

    fn end(&mut self, redactor: &Redactor, run: &RunId, id: TextRef<'_>) -> (Option<Event>, bool) {
        let Some(at) = self.place(run, id) else { return (None, false) };
        let mut text = self.open.remove(at);
        let rest = text.stream.finish(redactor);
        (text.event(rest), text.is_changed)
    }

    fn end_run(&mut self, redactor: &Redactor, run: &RunId) -> Vec<Event> {
        let (ended, open) = std::mem::take(&mut self.open).into_iter().partition(|text| text.run == *run);
        self.open = open;
        let ended: Vec<OpenText> = ended;
        ended
            .into_iter()
            .filter_map(|mut text| {
                let rest = text.stream.finish(redactor);
                text.event(rest)
            })
            .collect()
    }

    /// Takes a delta. What is forgotten of another text for it comes back.
    #[inline]
    fn delta(&mut self, redactor: &Redactor, delta: &mut Delta<'_>) -> Vec<Event> {
        // Nearly always of the text that the delta before it was of.
        if let Some(last) = self.open.last_mut()
            && last.is(delta.run, delta.id)
        {
            last.delta(redactor, delta.off, delta.text);
            return Vec::new();
        }
        self.delta_of_another(redactor, delta)
    }

    /// Takes a delta of another text than the last one.
    #[inline(never)]
    fn delta_of_another(&mut self, redactor: &Redactor, delta: &mut Delta<'_>) -> Vec<Event> {
        let mut said = Vec::new();
        if let Some(at) = self.place(delta.run, delta.id) {
            let known = self.open.remove(at);
            self.open.push(known);
        } else {
            if self.open.len() >= OPEN_TEXTS_MAX {
                let mut oldest = self.open.remove(0);
                let rest = oldest.stream.release(redactor);
                said.extend(oldest.event(rest));
            }
            self.open.push(OpenText::new(delta));
        }
        if let Some(open) = self.open.last_mut() {
            open.delta(redactor, delta.off, delta.text);
        }
        said
    }
}

/// The offset at which the text of a delta starts.
fn offset(event: &Event) -> Option<u64> {
    match &event.kind {
        Kind::PartDelta { off, .. } | Kind::ToolArgs { off, .. } | Kind::ToolOutput { off, .. } => *off,
        _ => None,
    }
}

/// Says where the text of a delta starts.
fn set_offset(event: &mut Event, start: u64) {
    if let Kind::PartDelta { off, .. } | Kind::ToolArgs { off, .. } | Kind::ToolOutput { off, .. } =
        &mut event.kind
    {
        *off = Some(start);
    }
}

/// Puts the text of the delta `more` to the last one of its text in `events`.
fn put_to_last(events: &mut [Envelope], more: &Event) {
    let of_run =
        events.iter_mut().rev().map(|envelope| &mut envelope.event).filter(|event| event.run == more.run);
    for event in of_run {
        let (text, more) = match (&mut event.kind, &more.kind) {
            (Kind::PartDelta { part, text, .. }, Kind::PartDelta { part: of, text: more, .. })
                if part == of =>
            {
                (text, more)
            }
            (Kind::ToolArgs { tool, text, .. }, Kind::ToolArgs { tool: of, text: more, .. })
                if tool == of =>
            {
                (text, more)
            }
            (Kind::ToolOutput { tool, text, .. }, Kind::ToolOutput { tool: of, text: more, .. })
                if tool == of =>
            {
                (text, more)
            }
            _ => continue,
        };
        text.push_str(more);
        return;
    }
}

/// A delta of a text.
struct Delta<'a> {
    run: &'a RunId,
    agent: Option<&'a AgentId>,
    id: TextRef<'a>,
    off: &'a mut Option<u64>,
    text: &'a mut CompactString,
}

impl OpenText {
    fn new(delta: &Delta<'_>) -> Self {
        let id = delta.id.to_id();
        Self {
            run: delta.run.clone(),
            agent: delta.agent.cloned(),
            stream: TextStream::new(id.kind()),
            id,
            came: 0,
            passed: 0,
            start: 0,
            is_changed: false,
        }
    }

    /// A delta of it that says `text`; none where that is empty.
    fn event(&self, text: String) -> Option<Event> {
        (!text.is_empty()).then(|| Event::new(&self.run, self.id.delta(text)).by(self.agent.clone()))
    }

    /// Whether it is that text of `run`.
    #[inline]
    fn is(&self, run: &RunId, id: TextRef<'_>) -> bool {
        id.names(&self.id) && self.run == *run
    }

    fn delta(&mut self, redactor: &Redactor, off: &mut Option<u64>, text: &mut CompactString) {
        if self.is_changed || off.is_some_and(|off| off != self.came) {
            return self.delta_elsewhere(redactor, off, text);
        }
        // Nearly always: it goes on where the text is, and stays as it is.
        let length = text.len() as u64;
        let marked = self.stream.push(redactor, text);
        let passed = marked.as_ref().map_or(length, |marked| marked.len() as u64);
        if let Some(marked) = marked {
            (*off, *text, self.is_changed) = (None, marked.into(), true);
        }
        self.came = self.came.saturating_add(length);
        self.start = self.passed;
        self.passed = self.passed.saturating_add(passed);
    }

    /// Takes a delta that starts elsewhere than at the end, or one of a text that is no longer what its publisher said.
    #[inline(never)]
    fn delta_elsewhere(&mut self, redactor: &Redactor, off: &mut Option<u64>, text: &mut CompactString) {
        let given: &str = text;
        let length = given.len() as u64;
        let start = off.unwrap_or(self.came);
        if self.came == 0 && self.passed == 0 {
            // Seen for the first time, perhaps in the middle.
            (self.came, self.passed) = (start, start);
        }
        let mut fresh = given;
        if start < self.came && self.is_changed {
            // What came before is not said again: where it stands among what was passed on, nobody knows.
            let known = usize::try_from(self.came - start).unwrap_or(usize::MAX);
            fresh = given.get(given.ceil_char_boundary(known.min(given.len()))..).unwrap_or_default();
        }
        let hole = start.saturating_sub(self.came);
        let is_whole = fresh.len() == given.len();
        let marked = self.stream.push(redactor, fresh);
        let is_new = marked.is_some();
        if self.is_changed || is_new {
            *off = off.filter(|_| hole > 0).map(|_| self.passed.saturating_add(hole));
        }
        self.is_changed |= is_new;
        let marked = if is_new || is_whole { marked } else { Some(fresh.to_owned()) };
        let passed = marked.as_ref().map_or(length, |marked| marked.len() as u64);
        if let Some(marked) = marked {
            *text = marked.into();
        }
        self.came = self.came.max(start.saturating_add(length));
        self.start = self.passed.saturating_add(hole);
        self.passed = self.start.saturating_add(passed);
    }
}

#[cfg(test)]
mod tests;
