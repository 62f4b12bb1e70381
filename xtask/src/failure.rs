//! What can go wrong in a command: what happened, and how to mend it.

use std::fmt;

/// Why a command stopped. `mend` is the line to type, where there is one. It is shown as `WHAT`, with `to
/// mend: …` on a line of its own below.
#[derive(Debug)]
pub(crate) struct CommandFailure {
    /// What happened, in a sentence without a full stop.
    what: String,
    /// What to do about it.
    mend: Option<String>,
    /// What `main` prints after it.
    after: FailureTrailer,
}

/// What is left to tell after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureTrailer {
    /// The failure itself, as `main` prints it.
    Failure,
    /// The failure and the usage text: the command line was wrong.
    Usage,
    /// Nothing: it is told already, and the last line must stay the last.
    Nothing,
}

/// The answer of everything here that can fail.
pub(crate) type CommandResult<T = ()> = Result<T, CommandFailure>;

impl CommandFailure {
    /// A failure that explains itself.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), mend: None, after: FailureTrailer::Failure }
    }

    /// The command line was wrong: the usage text follows and the exit code is 2.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self { after: FailureTrailer::Usage, ..Self::new(what) }
    }

    /// Adds how to mend it.
    pub(crate) fn mend(self, how: impl Into<String>) -> Self {
        Self { mend: Some(how.into()), ..self }
    }

    /// Marks the failure as told.
    pub(crate) fn told(self) -> Self {
        Self { after: FailureTrailer::Nothing, ..self }
    }

    /// What is left to tell.
    pub(crate) fn after(&self) -> FailureTrailer {
        self.after
    }

    /// Turns an I/O error into a failure that says what was being done: `map_err(Failure::io("reading x"))`.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |error| Self::new(format!("{doing}: {error}"))
    }
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.mend {
            Some(mend) => write!(f, "\n  to mend: {mend}"),
            None => Ok(()),
        }
    }
}
