//! Stdout and stderr of the commands. A reader that goes away (`fanlight tail c | head`) is no failure: the command ends.

use std::io::{self, Write};

use super::{CommandError, terminal};

/// Where a command writes its results.
#[derive(Debug)]
pub(crate) struct ResultOutput<W = io::Stdout> {
    inner: W,
}

impl ResultOutput {
    /// The process's own stdout.
    pub(crate) fn stdout() -> Self {
        Self { inner: io::stdout() }
    }
}

impl<W: Write> ResultOutput<W> {
    /// Writes into `inner`.
    #[cfg(test)]
    pub(crate) fn to(inner: W) -> Self {
        Self { inner }
    }

    /// Writes `bytes` as they are and lets them go at once.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), CommandError> {
        self.inner.write_all(bytes).and_then(|()| self.inner.flush()).map_err(|error| failure(&error))
    }

    /// Writes one line and lets it go at once.
    pub(crate) fn line(&mut self, text: &str) -> Result<(), CommandError> {
        let mut line = String::with_capacity(text.len().saturating_add(1));
        line.push_str(text);
        line.push('\n');
        self.bytes(line.as_bytes())
    }
}

fn failure(error: &io::Error) -> CommandError {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return CommandError::NobodyReads;
    }
    CommandError::new(format!("cannot write to stdout: {error}"), "look at what stdout is connected to")
}

/// Says something on stderr.
pub(crate) fn complain(text: &str) {
    // What a hub says is among it.
    let text = terminal::lines(text);
    // A stderr that nobody reads is no reason to stop, and there is no third place to say so.
    drop(writeln!(io::stderr(), "fanlight: {text}"));
}
