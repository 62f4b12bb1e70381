//! What somebody may wait for in a conversation.

use std::str::FromStr;

use crate::event::{PartKind, RunStatus, ToolState};
use crate::ids::RunId;
use crate::position::Seq;
use crate::view::{RunView, View};

/// Something that may happen, said of one run or of the newest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Until {
    /// The run is over.
    RunEnd,
    /// A call waits for a person.
    Approval,
    /// Something in the run failed.
    Error,
    /// A call of the tool with this name is over.
    Tool(String),
    /// The words stand in a text that was said, not thought.
    Text(String),
    /// So many events are there.
    Seq(Seq),
}

/// The words name nothing that can be waited for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not one of run.end, approval, error, tool:NAME, text:WORDS, seq:N")]
pub struct UnknownUntil(String);

impl FromStr for Until {
    type Err = UnknownUntil;

    fn from_str(words: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownUntil(words.chars().take(80).collect());
        match words.split_once(':') {
            None => match words {
                "run.end" => Ok(Self::RunEnd),
                "approval" => Ok(Self::Approval),
                "error" => Ok(Self::Error),
                _ => Err(unknown()),
            },
            Some(("tool", name)) if !name.is_empty() => Ok(Self::Tool(name.to_owned())),
            Some(("text", words)) if !words.is_empty() => Ok(Self::Text(words.to_owned())),
            Some(("seq", number)) => number.parse().map(Self::Seq).map_err(|_no_number| unknown()),
            Some(_) => Err(unknown()),
        }
    }
}

/// Looks at a view again and again for what is waited for; what was read of a text is not read again.
#[derive(Debug, Clone)]
pub struct UntilWatch {
    until: Until,
    /// The id of the run; `None` for the newest run.
    run: Option<RunId>,
    /// Of the run that was looked at last, how many bytes of each part were read.
    read: Option<(RunId, Vec<usize>)>,
}

impl UntilWatch {
    /// For `until`, in `run` or in the newest one.
    pub fn new(until: Until, run: Option<RunId>) -> Self {
        Self { until, run, read: None }
    }

    /// What is waited for.
    pub fn until(&self) -> &Until {
        &self.until
    }

    /// Whether it has happened.
    pub fn is_met(&mut self, view: &View) -> bool {
        if let Until::Seq(seq) = self.until {
            return view.seq >= seq;
        }
        let found = match &self.run {
            Some(id) => view.runs.get_key_value(id),
            None => view.runs.last(),
        };
        let Some((id, run)) = found else { return false };
        match &self.until {
            Until::RunEnd => !run.is_running(),
            Until::Approval => run.tools.values().any(|tool| tool.state == ToolState::Approval),
            Until::Error => run.error.is_some() || run.status == RunStatus::Error,
            Until::Tool(name) => run.tools.values().any(|tool| tool.name == *name && tool.state.is_final()),
            Until::Text(words) => says(run, words, bytes_read(&mut self.read, id)),
            Until::Seq(_) => false,
        }
    }
}

fn bytes_read<'a>(read: &'a mut Option<(RunId, Vec<usize>)>, run: &RunId) -> &'a mut Vec<usize> {
    let known = read.take().filter(|(of, _)| of == run);
    &mut read.insert(known.unwrap_or_else(|| (run.clone(), Vec::new()))).1
}

/// Whether `words` stand in what `run` has said since it was `read`.
fn says(run: &RunView, words: &str, read: &mut Vec<usize>) -> bool {
    read.resize(run.parts.len(), 0);
    run.parts.values().zip(read).any(|(part, read)| {
        if part.kind == PartKind::Thinking || part.body.text.len() == *read {
            return false;
        }
        // A text that was replaced by a shorter one is read from its beginning.
        let known = if part.body.text.len() < *read { 0 } else { *read };
        let mut from = known.saturating_sub(words.len());
        while !part.body.text.is_char_boundary(from) {
            from = from.saturating_sub(1);
        }
        *read = part.body.text.len();
        part.body.text.get(from..).is_some_and(|text| text.contains(words))
    })
}

#[cfg(test)]
mod tests;
