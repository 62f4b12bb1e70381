//! What can go wrong in a command: what happened, and how to mend it.

use std::fmt;

/// Why a command stopped. `mend` is the line to type, where there is one.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    mend: Option<String>,
    usage: bool,
}

/// The answer of everything here that can fail.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// A failure that explains itself.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), mend: None, usage: false }
    }

    /// The command line was wrong: the usage text follows and the exit code is 2.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self { usage: true, ..Self::new(what) }
    }

    /// Adds how to mend it.
    pub(crate) fn mend(self, how: impl Into<String>) -> Self {
        Self { mend: Some(how.into()), ..self }
    }

    /// True when the usage text should follow.
    pub(crate) fn is_usage(&self) -> bool {
        self.usage
    }

    /// Turns an I/O error into a failure that says what was being done: `map_err(Failure::io("reading x"))`.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |error| Self::new(format!("{doing}: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.mend {
            Some(mend) => write!(f, "\n  to mend: {mend}"),
            None => Ok(()),
        }
    }
}
