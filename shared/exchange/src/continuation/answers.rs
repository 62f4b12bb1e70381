//! Whether the answer in a history is what a run said: all of it, the beginning that was shown before it
//! broke off, or the words with which the door reported its failure.

use model::event::RunStatus;
use model::view::RunView;

use super::sides::plain;

/// The word that clients write in front of a failure that they show as an answer.
const PREFIX: &str = "Error:";

/// How much of the answer of a run its caller received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceivedAnswer {
    /// The caller was connected until the end.
    All,
    /// The caller hung up before the end.
    Part,
}

/// Whether the caller of `run` may have `words` as the answer in its history, given how its door reports
/// failures. Where the door only breaks the answer off, only the client knows what it shows.
pub(super) fn is_answer(run: &RunView, words: &str, heard: ReceivedAnswer, telling: &Telling<'_>) -> bool {
    let answer = plain(&run.answer());
    if answer == words {
        return true;
    }
    if is_partial(run, heard) && answer.starts_with(words) {
        return true;
    }
    let is_shown = |shown: &str| answer.starts_with(shown);
    let failures = run.error.iter().map(|error| error.message.as_str());
    let mut failures = failures.chain(telling.failures.iter().copied());
    let is_failure = failures.any(|failure| {
        let shown = words.strip_suffix(plain(failure).as_str());
        shown.is_some_and(|shown| is_shown(shown.strip_suffix(PREFIX).unwrap_or(shown)))
    });
    let is_of_client = || {
        telling.breaks == Breaks::Off
            && is_partial(run, heard)
            && words.rsplit_once(PREFIX).is_some_and(|(shown, _)| is_shown(shown))
    };
    is_failure || is_of_client()
}

/// Whether the caller of a run may have less than all of the answer.
pub(super) fn is_partial(run: &RunView, heard: ReceivedAnswer) -> bool {
    heard == ReceivedAnswer::Part
        || matches!(run.status, RunStatus::Error | RunStatus::Interrupted | RunStatus::Cancelled)
}

/// How the door of a caller reports failures.
#[derive(Debug, Clone, Copy)]
pub struct Telling<'a> {
    /// Whether it reports them in words at all.
    pub breaks: Breaks,
    /// The words for failures that are not in the run itself.
    pub failures: &'a [&'a str],
}

/// What a door does when a run fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breaks {
    /// The door reports the failure in words.
    Never,
    /// The door breaks the answer off without words.
    Off,
}

#[cfg(test)]
mod tests;
