//! Stdout and stderr of the commands. A reader that goes away (`fanlight tail c | head`) is not a failure:
//! the command ends.

use std::io::{self, Write};

use super::secrets::without_secrets;
use super::{CommandError, terminal};

/// The output for the results of a command.
#[derive(Debug)]
pub(crate) struct ResultOutput<W = io::Stdout> {
    inner: W,
}

impl ResultOutput {
    /// The stdout of the process.
    pub(crate) fn stdout() -> Self {
        Self { inner: io::stdout() }
    }
}

impl<W: Write> ResultOutput<W> {
    /// An output that writes to `inner`.
    #[cfg(test)]
    pub(crate) fn to(inner: W) -> Self {
        Self { inner }
    }

    /// Writes `bytes` unchanged and flushes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), CommandError> {
        self.inner.write_all(bytes).and_then(|()| self.inner.flush()).map_err(|error| failure(&error))
    }

    /// Writes a line and flushes.
    pub(crate) fn line(&mut self, text: &str) -> Result<(), CommandError> {
        let mut line = String::with_capacity(text.len().saturating_add(1));
        line.push_str(text);
        line.push('\n');
        self.bytes(line.as_bytes())
    }
}

/// The error for a failed write.
fn failure(error: &io::Error) -> CommandError {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return CommandError::NobodyReads;
    }
    CommandError::new(format!("cannot write to stdout: {error}"), "look at what stdout is connected to")
}

/// Writes a message to stderr.
pub(crate) fn complain(text: &str) {
    // The message may contain text from a hub, and what the settings hold.
    let text = without_secrets(text);
    let text = terminal::lines(&text);
    // If stderr cannot be written, there is no other place for messages.
    drop(writeln!(io::stderr(), "fanlight: {text}"));
}
