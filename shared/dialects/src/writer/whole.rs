//! Writes texts of dialects that send the whole text so far again and again: what is new becomes a delta,
//! what changed replaces the rest. Only the length and the hash of what was written are kept, not the text.
//!
//! ```text
//! stream: "Hel"    "Hello"          "Hello" (again)    "Hi there"
//! event:  delta    delta "lo"       nothing            replace "Hi there"
//! ```
//!
//! The hash is FNV-1a with 64 bits: a text whose beginning was made to have the hash of another one would be
//! taken for its continuation.

use std::hash::Hasher as _;

use fnv::FnvHasher;

use super::{AgentId, Decoded, EventWriter, Kind, OpenCall, OpenPart, PartId, RunId};

/// Length and hash of a text that was written, enough to see whether another text begins with it.
#[derive(Debug, Clone)]
pub(crate) struct TextDigest {
    /// The length of the text, in bytes.
    len: usize,
    /// FNV-1a of the text. Its state is its value, so that it can be continued.
    hash: u64,
}

/// The digest of the empty text.
impl Default for TextDigest {
    fn default() -> Self {
        Self { len: 0, hash: FnvHasher::default().finish() }
    }
}

impl TextDigest {
    /// Adds text to the digest.
    pub(crate) fn add(&mut self, text: &str) {
        self.len = self.len.saturating_add(text.len());
        let mut hash = FnvHasher::with_key(self.hash);
        hash.write(text.as_bytes());
        self.hash = hash.finish();
    }

    /// What `whole` has beyond the text so far; nothing if it does not begin with that.
    ///
    /// It costs one pass over the text so far, so a stream that repeats itself costs the square of its
    /// length, as it does its sender.
    pub(crate) fn rest<'a>(&self, whole: &'a str) -> Option<&'a str> {
        let (head, rest) = whole.split_at_checked(self.len)?;
        let mut hash = FnvHasher::default();
        hash.write(head.as_bytes());
        (hash.finish() == self.hash).then_some(rest)
    }

    /// Whether the text is exactly `whole`.
    pub(crate) fn is(&self, whole: &str) -> bool {
        self.rest(whole).is_some_and(str::is_empty)
    }
}

/// A part of which the stream sends the whole text so far, deltas, or both.
#[derive(Debug)]
pub(crate) struct WholePart {
    part: OpenPart,
    /// The text that the events so far make.
    told: TextDigest,
}

impl WholePart {
    /// Takes over a part to which nothing was written yet.
    pub(crate) fn new(part: OpenPart) -> Self {
        Self { part, told: TextDigest::default() }
    }

    /// Appends `text` to the part.
    pub(crate) fn delta(&mut self, text: &str, writer: &EventWriter, out: &mut Decoded) {
        self.told.add(text);
        self.part.delta(text, writer, out);
    }

    /// Makes `whole` the text: writes what is new, or replaces the text.
    pub(crate) fn set(&mut self, whole: &str, writer: &EventWriter, out: &mut Decoded) {
        if let Some(rest) = self.told.rest(whole) {
            return self.delta(rest, writer, out);
        }
        self.told = TextDigest::default();
        self.told.add(whole);
        self.part.replace(whole, writer, out);
    }

    /// The open part.
    pub(crate) fn part(&self) -> &OpenPart {
        &self.part
    }

    /// Adds to the provider's signature ([`OpenPart::sign`]).
    pub(crate) fn sign(&mut self, piece: &str) {
        self.part.sign(piece);
    }

    /// Ends the part. The result allows changing it afterwards, if the stream corrects it.
    pub(crate) fn end(self, hidden: bool, writer: &EventWriter, out: &mut Decoded) -> EndedPart {
        let Self { part, told } = self;
        let (id, agent, run) = (part.id.clone(), part.agent.clone(), writer.run.clone());
        part.end(hidden, writer, out);
        EndedPart { id, agent, run, told }
    }
}

/// A part that has ended. Some streams repeat its text, changed, or take it back. Dropping it means that no
/// correction is expected.
#[derive(Debug)]
pub(crate) struct EndedPart {
    id: PartId,
    agent: Option<AgentId>,
    /// The run of the part. After its end the part cannot be changed.
    run: RunId,
    /// The text that the events so far make.
    told: TextDigest,
}

impl EndedPart {
    /// Makes `whole` the text. Parts of a run that is over stay unchanged.
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

/// The output of a call of which the stream sends all so far. The digest is of what was written.
#[derive(Debug, Default)]
pub(crate) struct WholeOutput(TextDigest);

impl WholeOutput {
    /// Whether there is no output so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    /// Writes what is new in `whole`, all output of the call `id` so far. Output cannot be taken back: a text
    /// that does not begin with the output so far is left to the result.
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

/// A call of which the stream sends the whole arguments so far, deltas, or both.
#[derive(Debug)]
pub(crate) struct WholeCall {
    call: OpenCall,
    /// The arguments that were written as deltas.
    told: TextDigest,
    /// Arguments that do not begin with what was written before. They become the final ones.
    instead: Option<String>,
}

impl WholeCall {
    /// Takes over a call to which no arguments were written yet.
    pub(crate) fn new(call: OpenCall) -> Self {
        Self { call, told: TextDigest::default(), instead: None }
    }

    /// Writes more of the arguments.
    pub(crate) fn args(&mut self, text: &str, writer: &EventWriter, out: &mut Decoded) {
        if let Some(instead) = &mut self.instead {
            instead.push_str(text);
        } else {
            self.told.add(text);
            self.call.args(text, writer, out);
        }
    }

    /// Makes `whole` the arguments: writes what is new as a delta, or keeps them for the end if they begin
    /// otherwise.
    pub(crate) fn set_args(&mut self, whole: &str, writer: &EventWriter, out: &mut Decoded) {
        match self.told.rest(whole) {
            Some(rest) => {
                self.instead = None;
                self.told.add(rest);
                self.call.args(rest, writer, out);
            }
            // Streamed arguments cannot be taken back: the final ones are in `tool.call`.
            None => self.instead = Some(whole.to_owned()),
        }
    }

    /// Whether the arguments are exactly `whole`.
    pub(crate) fn is(&self, whole: &str) -> bool {
        self.instead.as_deref().map_or_else(|| self.told.is(whole), |instead| instead == whole)
    }

    /// The open call.
    pub(crate) fn call(&mut self) -> &mut OpenCall {
        &mut self.call
    }

    /// Ends the arguments, with the final ones if they differ from the streamed ones ([`OpenCall::written`]).
    pub(crate) fn written(&mut self, writer: &mut EventWriter, out: &mut Decoded) {
        self.call.written(self.instead.take(), writer, out);
    }
}
