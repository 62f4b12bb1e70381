//! Nonsense that is survived: what a stream did that it should not have done. Counted, kept up to a limit, shown.

use serde::{Deserialize, Serialize};

use crate::limits::ANOMALIES_KEPT_MAX;

/// What a stream did that it should not have done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AnomalyCode {
    /// Input that is not what the dialect says: broken JSON, a wrong type, a line over the limit.
    Malformed,
    /// Nothing in a whole stream is of the dialect that it was said to be: an error page, compressed bytes, another
    /// dialect.
    WrongDialect,
    /// An event about a run that had not started.
    RunWithoutStart,
    /// An event about a run that had ended.
    AfterRunEnd,
    /// A delta or an end of a part that had not started.
    PartWithoutStart,
    /// A part that started twice.
    PartStartedTwice,
    /// Text for a part that had ended.
    AfterPartEnd,
    /// A delta that starts behind the end of what is there: bytes are missing.
    DeltaHole,
    /// A delta that starts before the end of what is there: the overlap was taken once.
    DeltaOverlap,
    /// The length or hash at the end of a part is not that of its text.
    PartMismatch,
    /// An event about a call that had not started.
    ToolWithoutStart,
    /// An event about a call that was over.
    AfterToolEnd,
    /// Arguments that are not the JSON that the dialect promises.
    BadArguments,
    /// An event about an agent that had not started.
    AgentWithoutStart,
    /// A text or result over its limit: the rest was counted, not kept.
    TooLarge,
    /// More runs, items, messages or raw events than the view holds.
    TooMany,
    /// The stream ended without its end.
    Truncated,
    /// A call through the proxy went on, but its recording did not keep up with it or could not read it: the rest of its
    /// answer is not here.
    CopyLost,
    /// Events that only repeat what the stream says elsewhere: counted, not kept.
    Repeated,
}

/// One thing that a stream did and should not have done. People are told of it as a warning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Anomaly {
    /// The code of the anomaly.
    pub code: AnomalyCode,
    /// Where and which: an id, a line, a piece of the input.
    pub detail: String,
}

/// The anomalies of one view: all counted, the first [`ANOMALIES_KEPT_MAX`] kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Anomalies {
    /// The number of all anomalies, also of those that are not kept.
    pub total: u64,
    /// The first of them.
    pub first: Vec<Anomaly>,
}

impl Anomalies {
    /// Counts one anomaly, and keeps it with its detail while there is room.
    pub fn note(&mut self, code: AnomalyCode, detail: impl FnOnce() -> String) {
        self.total = self.total.saturating_add(1);
        if self.first.len() < ANOMALIES_KEPT_MAX {
            self.first.push(Anomaly { code, detail: detail() });
        }
    }
}
