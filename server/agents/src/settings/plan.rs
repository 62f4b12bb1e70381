//! The bounds of a run, and what needs a person's consent.

use compact_str::CompactString;
use model::limits::PART_BYTES_MAX;

use model::wildcard::matches;

/// How many written calls begin a batch at once.
const BATCH_CALLS: usize = 5;

/// How long the newest written call waits for another one, in milliseconds.
const BATCH_MS: u64 = 100;

/// Most answers of the model in one run.
const STEPS_MAX: u32 = 50;

/// Most attempts at one answer.
const ATTEMPTS_MAX: u32 = 5;

/// Most calls that are executed at the same time.
const CALLS_AT_ONCE: usize = 32;

/// How long a call may take, in milliseconds.
const CALL_MS: u64 = 120_000;

/// How long a model may be silent, in milliseconds.
const SILENCE_MS: u64 = 120_000;

/// The settings of one run. They are taken when the run begins or is resumed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The name of the model.
    pub model: CompactString,
    /// The name of the agent.
    pub name: Option<CompactString>,
    /// Most answers of the model in the run; beyond them it fails with `too_many_steps`.
    pub steps_max: u32,
    /// Most attempts at one answer.
    pub attempts_max: u32,
    /// Most calls that are executed at the same time; others wait.
    pub calls_at_once: usize,
    /// How many written calls begin a batch at once.
    pub batch_calls: usize,
    /// How long written calls wait for one more, in milliseconds from the newest of them.
    pub batch_ms: u64,
    /// Most bytes of text of one answer that are kept; the rest is dropped.
    pub text_bytes_max: usize,
    /// How long a call may take, in milliseconds.
    pub call_ms: u64,
    /// How long a model may be silent before it counts as lost, in milliseconds.
    pub silence_ms: u64,
    /// Most tokens of an answer, if the model is told. It shows how much there is of an answer that broke
    /// off.
    pub tokens_max: Option<u64>,
    /// Tools that are executed only with a person's consent: names, in which `*` stands for any characters.
    pub needs_consent: Vec<CompactString>,
    /// Tools that the caller executes: a run that calls one of them ends with the call.
    pub handed_over: Vec<CompactString>,
}

impl Plan {
    /// The usual bounds, with `model`.
    pub fn new(model: &str) -> Self {
        Self {
            model: model.into(),
            name: None,
            steps_max: STEPS_MAX,
            attempts_max: ATTEMPTS_MAX,
            calls_at_once: CALLS_AT_ONCE,
            batch_calls: BATCH_CALLS,
            batch_ms: BATCH_MS,
            text_bytes_max: PART_BYTES_MAX,
            call_ms: CALL_MS,
            silence_ms: SILENCE_MS,
            tokens_max: None,
            needs_consent: Vec::new(),
            handed_over: Vec::new(),
        }
    }

    /// Whether a person is asked before `tool` is executed.
    pub(crate) fn asks_before(&self, tool: &str) -> bool {
        self.needs_consent.iter().any(|pattern| matches(pattern, tool))
    }
}
