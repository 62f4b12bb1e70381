//! What could not be written for reasons of its own: named in the trace, and kept as lines of JSON in a file beside the
//! database, so that one bad append stops nobody and is not gone either.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::limits::LOG_ASIDE_BYTES_MAX;
use model::{ConversationId, Envelope, Position};
use serde::Serialize;

use super::ops::{Events, Op};
use super::private;
use crate::clock;

/// What is behind the name of the database.
const SUFFIX: &str = ".aside.jsonl";

/// The file for appends that cannot be written, beside the database. The writer owns it.
#[derive(Debug)]
pub(super) struct Aside {
    path: PathBuf,
}

/// One line of the file: an append that the database refused, with the reason.
#[derive(Serialize)]
struct Line<'a> {
    /// When it was set aside, in milliseconds since 1970.
    at: u64,
    /// What it is: `events`, `state`, `list`, …
    what: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation: Option<&'a ConversationId>,
    /// What the database said.
    error: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<&'a Position>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    events: &'a [Arc<Envelope>],
}

impl Aside {
    /// Of the file beside `database`, which is made when it is needed.
    pub(super) fn new(database: &Path) -> Self {
        Self { path: private::beside(database, SUFFIX) }
    }

    /// Sets ops aside that could not be written, each with why. They are on the disk when this returns, or the trace says that
    /// they are not.
    pub(super) fn put<'a>(&self, ops: impl IntoIterator<Item = (&'a Op, String)>) {
        let mut ops = ops.into_iter().peekable();
        if ops.peek().is_none() {
            return;
        }
        let mut file = private::open(&self.path);
        for (op, error) in ops {
            Self::tell(op, &error, &self.path, &mut file);
        }
        // Many at once are brought to the disk at once.
        if let Err(error) = file.and_then(|file| file.sync_data()) {
            tracing::error!(%error, path = %self.path.display(), "what was set aside may not survive the loss of power");
        }
    }

    /// Sets one aside, and names it in the trace.
    fn tell(op: &Op, error: &str, path: &Path, file: &mut io::Result<File>) {
        let events: Option<&Events> = match op {
            Op::Append(events) | Op::Stage(_, events) => Some(events),
            _ => None,
        };
        let conversation = op.conversation().or_else(|| events.map(|events| &events.conversation));
        let what = op.word();
        let line = Line {
            at: clock::now_ms(),
            what,
            conversation,
            error,
            after: events.map(|events| &events.after),
            events: events.map_or(&[], |events| &events.envelopes),
        };
        let name = conversation.map_or("", ConversationId::as_str);
        let (first, last) =
            (line.events.first().map_or(0, |it| it.seq), line.events.last().map_or(0, |it| it.seq));
        let path = path.display();
        match write(file, &line) {
            Ok(()) => {
                tracing::error!(conversation = name, what, first, last, error, %path, "the log cannot write this and has set it aside");
            }
            Err(failure) => {
                tracing::error!(conversation = name, what, first, last, error, %path, %failure, "the log cannot write this, nor set it aside");
            }
        }
    }
}

/// Writes `line` behind what the file has.
fn write(file: &mut io::Result<File>, line: &Line<'_>) -> io::Result<()> {
    let file = file.as_mut().map_err(|error| io::Error::new(error.kind(), error.to_string()))?;
    let bytes = file.seek(SeekFrom::End(0))?;
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    if bytes.saturating_add(text.len() as u64) > LOG_ASIDE_BYTES_MAX {
        return Err(io::Error::other(format!("the file is at its bound of {LOG_ASIDE_BYTES_MAX} bytes")));
    }
    file.write_all(&text)
}
