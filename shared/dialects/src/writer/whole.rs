//! Dialects that tell the whole text so far again and again: what is new in it goes out as a delta, what changed
//! replaces the rest. Only length and hash of what was told are kept, not the text.

use std::hash::Hasher as _;

use fnv::FnvHasher;

use super::{AgentId, Decoded, EventWriter, Kind, OpenCall, OpenPart, PartId, RunId};

/// What was told of a text.
#[derive(Debug, Clone)]
pub(crate) struct TextDigest {
    len: usize,
    hash: u64,
}

impl Default for TextDigest {
    fn default() -> Self {
        Self { len: 0, hash: FnvHasher::default().finish() }
    }
}

impl TextDigest {
    /// More of it.
    pub(crate) fn add(&mut self, text: &str) {
        self.len = self.len.saturating_add(text.len());
        let mut hash = FnvHasher::with_key(self.hash);
        hash.write(text.as_bytes());
        self.hash = hash.finish();
    }

    /// What `whole` has beyond what was told; nothing when it does not begin with that.
    pub(crate) fn rest<'a>(&self, whole: &'a str) -> Option<&'a str> {
        let (head, rest) = whole.split_at_checked(self.len)?;
        let mut hash = FnvHasher::default();
        hash.write(head.as_bytes());
        (hash.finish() == self.hash).then_some(rest)
    }

    /// It was exactly `whole`.
    pub(crate) fn is(&self, whole: &str) -> bool {
        self.rest(whole).is_some_and(str::is_empty)
    }
}

/// A part of which the stream tells the whole text so far, deltas, or both.
#[derive(Debug)]
pub(crate) struct WholePart {
    part: OpenPart,
    told: TextDigest,
}

impl WholePart {
    pub(crate) fn new(part: OpenPart) -> Self {
        Self { part, told: TextDigest::default() }
    }

    /// Appends a delta to what was told.
    pub(crate) fn delta(&mut self, text: &str, writer: &EventWriter, out: &mut Decoded) {
        self.told.add(text);
        self.part.delta(text, writer, out);
    }

    /// The text is `whole` now.
    pub(crate) fn set(&mut self, whole: &str, writer: &EventWriter, out: &mut Decoded) {
        if let Some(rest) = self.told.rest(whole) {
            return self.delta(rest, writer, out);
        }
        self.told = TextDigest::default();
        self.told.add(whole);
        self.part.replace(whole, writer, out);
    }

    /// The text is exactly `whole` now.
    pub(crate) fn is(&self, whole: &str) -> bool {
        self.told.is(whole)
    }

    pub(crate) fn part(&self) -> &OpenPart {
        &self.part
    }

    /// See [`OpenPart::sign`].
    pub(crate) fn sign(&mut self, piece: &str) {
        self.part.sign(piece);
    }

    /// It is whole. What comes back stands for it, should the stream think better of it.
    pub(crate) fn end(self, hidden: bool, writer: &EventWriter, out: &mut Decoded) -> EndedPart {
        let Self { part, told } = self;
        let (id, agent, run) = (part.id.clone(), part.agent.clone(), writer.run.clone());
        part.end(hidden, writer, out);
        EndedPart { id, agent, run, told }
    }
}

/// A part that has ended. Some streams tell its text once more, changed, or take it back.
#[derive(Debug)]
pub(crate) struct EndedPart {
    id: PartId,
    agent: Option<AgentId>,
    run: RunId,
    told: TextDigest,
}

impl EndedPart {
    /// The text is `whole` after all. Parts of a run that is over stay as they are.
    pub(crate) fn set(&mut self, whole: &str, writer: &EventWriter, out: &mut Decoded) {
        if self.told.is(whole) || !writer.is_running || self.run != writer.run {
            return;
        }
        self.told = TextDigest::default();
        self.told.add(whole);
        let kind = Kind::PartReplace { part: self.id.clone(), text: whole.to_owned() };
        writer.push_by(self.agent.as_ref(), kind, out);
    }
}

/// What a call prints, of which the stream tells all so far.
#[derive(Debug, Default)]
pub(crate) struct WholeOutput(TextDigest);

impl WholeOutput {
    /// Nothing was printed.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    /// The call `id` has printed `whole` by now. What was printed cannot be taken back: a text that does not begin with
    /// that is left to the result.
    pub(crate) fn set(
        &mut self,
        id: &str,
        whole: &str,
        agent: Option<&AgentId>,
        writer: &mut EventWriter,
        out: &mut Decoded,
    ) {
        if let Some(rest) = self.0.rest(whole) {
            self.0.add(rest);
            writer.output(id, rest, agent, out);
        }
    }
}

/// A call of which the stream tells the whole arguments so far, deltas, or both.
#[derive(Debug)]
pub(crate) struct WholeCall {
    call: OpenCall,
    told: TextDigest,
    /// Arguments that came and are not what was told before them.
    instead: Option<String>,
}

impl WholeCall {
    pub(crate) fn new(call: OpenCall) -> Self {
        Self { call, told: TextDigest::default(), instead: None }
    }

    /// More of the arguments.
    pub(crate) fn args(&mut self, text: &str, writer: &EventWriter, out: &mut Decoded) {
        if let Some(instead) = &mut self.instead {
            instead.push_str(text);
        } else {
            self.told.add(text);
            self.call.args(text, writer, out);
        }
    }

    /// The arguments are `whole` now.
    pub(crate) fn set_args(&mut self, whole: &str, writer: &EventWriter, out: &mut Decoded) {
        match self.told.rest(whole) {
            Some(rest) => {
                self.instead = None;
                self.told.add(rest);
                self.call.args(rest, writer, out);
            }
            // Arguments cannot be taken back while they stream: the final ones stand in `tool.call`.
            None => self.instead = Some(whole.to_owned()),
        }
    }

    /// The arguments are exactly `whole` now.
    pub(crate) fn is(&self, whole: &str) -> bool {
        self.instead.as_deref().map_or_else(|| self.told.is(whole), |instead| instead == whole)
    }

    pub(crate) fn call(&mut self) -> &mut OpenCall {
        &mut self.call
    }

    /// The call is written.
    pub(crate) fn written(&mut self, writer: &mut EventWriter, out: &mut Decoded) {
        self.call.written(self.instead.take(), writer, out);
    }
}
