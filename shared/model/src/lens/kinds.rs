//! Kinds of events, as a viewer chooses among them. Kinds that change the same thing go together: a call of which only
//! the result is known, or a text of which only the end is, would be another call and another text.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::event::Kind;

/// Kinds that are chosen together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KindFamily {
    /// Messages between and inside of runs.
    Message,
    /// Texts, thinking and files: `part.*`.
    Part,
    /// Calls and what people consent to: `tool.*`, `approval.*`.
    Tool,
    /// What a run says that it does.
    Status,
    /// Failures: `error`.
    Error,
    /// Events of a name that a publisher chose.
    Custom,
    /// Events of a stream that no decoder has a better form for, and kinds of later versions.
    Raw,
    /// What the stream did that it should not have done.
    Anomaly,
    /// Tokens per second: `rate`.
    Rate,
}

/// The words for them.
const WORDS: [(&str, KindFamily); 10] = [
    ("message", KindFamily::Message),
    ("part.*", KindFamily::Part),
    ("tool.*", KindFamily::Tool),
    ("approval.*", KindFamily::Tool),
    ("status", KindFamily::Status),
    ("error", KindFamily::Error),
    ("custom", KindFamily::Custom),
    ("raw", KindFamily::Raw),
    ("anomaly", KindFamily::Anomaly),
    ("rate", KindFamily::Rate),
];

/// Words for what is in every choice: without runs and agents nothing else has a place.
const ALWAYS: [&str; 2] = ["run.*", "agent.*"];

/// A choice of kinds. `run.*` and `agent.*` are in every one, `approval.*` and `tool.*` mean the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Kinds(u16);

/// The word names no kinds that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not one of message, part.*, tool.*, approval.*, status, error, custom, raw, anomaly, rate, run.*, agent.*"
)]
pub struct UnknownKind(String);

impl Kinds {
    /// The choice that `words` make.
    pub fn of<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, UnknownKind> {
        let mut bits = 0;
        for word in words {
            match WORDS.iter().find(|(known, _)| *known == word) {
                Some((_, family)) => bits |= bit(*family),
                None if ALWAYS.contains(&word) => {}
                None => return Err(UnknownKind(word.chars().take(40).collect())),
            }
        }
        Ok(Self(bits))
    }

    /// The words of this choice.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        ALWAYS
            .into_iter()
            .chain(WORDS.into_iter().filter(move |(_, family)| self.has(*family)).map(|(word, _)| word))
    }

    /// The choice of every kind that can be chosen.
    pub(crate) fn all() -> Self {
        Self(WORDS.iter().fold(0, |bits, (_, family)| bits | bit(*family)))
    }

    /// The choice without the kinds that `words` name.
    pub(crate) fn without(self, words: &[&str]) -> Self {
        let named = WORDS.iter().filter(|(word, _)| words.contains(word));
        Self(named.fold(self.0, |bits, (_, family)| bits & !bit(*family)))
    }

    /// What both choices have.
    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) fn has(self, family: KindFamily) -> bool {
        self.0 & bit(family) != 0
    }
}

/// The bit of a family in a choice.
fn bit(family: KindFamily) -> u16 {
    1 << family as u16
}

impl Serialize for Kinds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.words())
    }
}

impl<'de> Deserialize<'de> for Kinds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let words = Vec::<String>::deserialize(deserializer)?;
        Self::of(words.iter().map(String::as_str)).map_err(serde::de::Error::custom)
    }
}

/// What `kind` is chosen with; nothing for what is in every choice.
pub(super) fn family(kind: &Kind) -> Option<KindFamily> {
    Some(match kind {
        Kind::Fork { .. }
        | Kind::Label(_)
        | Kind::RunStart(_)
        | Kind::RunUpdate(_)
        | Kind::RunStalled { .. }
        | Kind::RunEnd(_)
        | Kind::AgentStart(_)
        | Kind::AgentEnd(_) => return None,
        Kind::Message(_) => KindFamily::Message,
        Kind::PartStart { .. } | Kind::PartDelta { .. } | Kind::PartReplace { .. } | Kind::PartEnd(_) => {
            KindFamily::Part
        }
        Kind::ToolStart(_)
        | Kind::ToolArgs { .. }
        | Kind::ToolCall { .. }
        | Kind::ToolState(_)
        | Kind::ToolOutput { .. }
        | Kind::ToolResult(_)
        | Kind::ToolProgress(_)
        | Kind::ApprovalRequest { .. }
        | Kind::ApprovalAnswer { .. } => KindFamily::Tool,
        Kind::Status { .. } => KindFamily::Status,
        Kind::Error(_) => KindFamily::Error,
        Kind::Custom { .. } => KindFamily::Custom,
        Kind::Raw { .. } | Kind::Unknown(_) => KindFamily::Raw,
        Kind::Anomaly(_) => KindFamily::Anomaly,
        Kind::Rate { .. } => KindFamily::Rate,
    })
}
