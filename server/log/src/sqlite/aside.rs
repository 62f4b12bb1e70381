//! Appends that the database refused: they are named in the trace and kept as lines of JSON in a file beside
//! the database. So one bad append stops nobody and is not lost. The hub never reads the file. It is at most
//! [`LOG_ASIDE_BYTES_MAX`] long; beyond that, operations are only named in the trace.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::limits::LOG_ASIDE_BYTES_MAX;
use model::{ConversationId, Envelope, Position};
use serde::{Deserialize, Serialize};

use super::ops::{Op, QueuedEvents};
use super::private;
use crate::clock;

/// The suffix of the file, after the name of the database.
const SUFFIX: &str = ".aside.jsonl";

/// The file for refused operations, beside the database. The writer owns it.
#[derive(Debug)]
pub(super) struct AsideFile {
    /// The file, whether it exists or not.
    path: PathBuf,
}

/// One line of the file: an operation that the database refused, with the reason.
#[derive(Serialize)]
struct RefusedLine<'a> {
    /// When it was set aside, in milliseconds since 1970.
    at: u64,
    /// What it is, see [`Op::word`].
    what: &'static str,
    /// The conversation that it concerns; `None` for rows of the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation: Option<&'a ConversationId>,
    /// The error of the database.
    error: &'a str,
    /// The position that the events continue; only for events.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<&'a Position>,
    /// The events that are not in the log.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    events: &'a [Arc<Envelope>],
}

/// What a line of the file is about.
#[derive(Deserialize)]
struct Subject {
    conversation: Option<ConversationId>,
}

impl AsideFile {
    /// Names the file beside `database`. It is made when it is first needed.
    pub(super) fn new(database: &Path) -> Self {
        Self { path: private::beside(database, SUFFIX) }
    }

    /// Sets operations aside, each with the reason. They are on the disk when this returns, or the trace says
    /// that they may not be.
    pub(super) fn put<'a>(&self, ops: impl IntoIterator<Item = (&'a Op, String)>) {
        let mut ops = ops.into_iter().peekable();
        if ops.peek().is_none() {
            return;
        }
        let mut file = private::open(&self.path);
        for (op, error) in ops {
            Self::tell(op, &error, &self.path, &mut file);
        }
        // One sync for all of them.
        if let Err(error) = file.and_then(|file| file.sync_data()) {
            tracing::error!(%error, path = %self.path.display(), "what was set aside may not survive the loss of power");
        }
    }

    /// Takes the lines about a conversation that is purged out of the file. An error is said in the trace. Waits for the disk.
    pub(super) fn forget_purged(&self, conversation: &ConversationId) {
        if let Err(error) = self.forget(conversation) {
            tracing::error!(%error, %conversation, "what was set aside of a removed conversation is still there");
        }
    }

    /// Takes the lines about a conversation out of the file, where there are any. Waits for the disk.
    fn forget(&self, conversation: &ConversationId) -> io::Result<()> {
        let text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let is_about = |line: &&str| {
            let line = serde_json::from_str::<Subject>(line);
            line.is_ok_and(|line| line.conversation.as_ref() == Some(conversation))
        };
        let lines = text.split_inclusive('\n');
        let kept: String = lines.filter(|line| !is_about(line)).collect();
        if kept.len() == text.len() {
            return Ok(());
        }
        // In place: what is shortened is first overwritten with zeros, so that nothing stays behind its end.
        let mut file = private::open(&self.path)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&vec![0; text.len()])?;
        file.sync_data()?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(kept.as_bytes())?;
        file.set_len(kept.len() as u64)?;
        file.sync_data()
    }

    /// Writes one operation to the file and names it in the trace.
    fn tell(op: &Op, error: &str, path: &Path, file: &mut io::Result<File>) {
        let events: Option<&QueuedEvents> = match op {
            Op::Append(events) | Op::Stage(_, events) => Some(events),
            _ => None,
        };
        let conversation = op.conversation().or_else(|| events.map(|events| &events.conversation));
        let what = op.word();
        let line = RefusedLine {
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

/// Appends `line` to the file. Fails at the bound of the file. A file that could not be opened fails each
/// line with that error.
fn write(file: &mut io::Result<File>, line: &RefusedLine<'_>) -> io::Result<()> {
    let file = file.as_mut().map_err(|error| io::Error::new(error.kind(), error.to_string()))?;
    let bytes = file.seek(SeekFrom::End(0))?;
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    if bytes.saturating_add(text.len() as u64) > LOG_ASIDE_BYTES_MAX {
        return Err(io::Error::other(format!("the file is at its bound of {LOG_ASIDE_BYTES_MAX} bytes")));
    }
    file.write_all(&text)
}
