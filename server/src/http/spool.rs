//! Answers that are made as a whole and sent as slowly as their readers take them. What is larger than [`SPOOL_MEMORY_BYTES`] lies
//! in a file meanwhile, which has no name and goes with its reader: so memory is held only while an answer is made, and few are
//! made at a time.

use std::fs::File;
use std::io::{self, Seek as _, Write};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::stream;
use shared::View;
use shared::code::ErrorCode;
use shared::limits::{ANSWER_AWAITED_MS, LARGE_VIEW_BYTES, SPOOL_MEMORY_BYTES};
use tokio::io::AsyncReadExt as _;

use super::problem::Problem;
use crate::state::Shared;
use crate::work::Work;

/// Bytes that are read from a file at once.
const PIECE_BYTES: usize = 64 << 10;

/// How long an answer waits for its turn.
const TURN: Duration = Duration::from_millis(ANSWER_AWAITED_MS);

/// How large an answer will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// Less than [`LARGE_VIEW_BYTES`].
    Small,
    /// More than that.
    Large,
}

impl Size {
    /// Of an answer that is made of `view`. Takes a moment for each item of it.
    pub(super) fn of(view: &View) -> Self {
        let messages = view.messages.values().map(|message| message.text.len());
        let runs = view.runs.values().map(|run| {
            let parts = run.parts.values().map(|part| part.body.text.len());
            let tools = run.tools.values().map(|tool| {
                let result = tool.result.as_ref().map_or(0, |result| result.as_str().len());
                let whole = tool
                    .result_ref
                    .as_ref()
                    .map_or(0, |whole| usize::try_from(whole.bytes).unwrap_or(usize::MAX));
                [tool.arguments.text.len(), tool.output.text.len(), result, whole]
                    .into_iter()
                    .fold(0_usize, usize::saturating_add)
            });
            parts.chain(tools).fold(256 * run.items.len(), usize::saturating_add)
        });
        let bytes = messages.chain(runs).fold(0, usize::saturating_add);
        if bytes < LARGE_VIEW_BYTES { Self::Small } else { Self::Large }
    }
}

/// Makes an answer in its turn, beside the threads that serve sockets. What `make` gives back comes with the body.
pub(super) async fn spooled<T: Send + 'static>(
    shared: &Arc<Shared>,
    size: Size,
    make: impl FnOnce(&mut Spool) -> Result<T, Problem> + Send + 'static,
) -> Result<(T, Body), Problem> {
    let work = Arc::clone(&shared.work);
    let turns = Arc::clone(if size == Size::Small { &work.small } else { &work.large });
    let Ok(Ok(turn)) = tokio::time::timeout(TURN, turns.acquire_owned()).await else {
        let detail = format!("the hub made other answers for {} s; try again in a moment", TURN.as_secs());
        return Err(Problem::new(ErrorCode::TooMany, detail));
    };
    let threads = Arc::clone(&work);
    let made = threads.run(move || {
        let mut spool = Spool::new(work);
        let made = make(&mut spool).and_then(|made| Ok((made, spool.rewound()?)));
        drop(turn);
        made
    });
    let (made, spool) =
        made.await.map_err(|error| Problem::new(ErrorCode::Internal, error.to_string()))??;
    Ok((made, spool.body()))
}

/// What of an answer was written. It is written into as into a file.
#[derive(Debug)]
pub(super) struct Spool {
    work: Arc<Work>,
    memory: Vec<u8>,
    /// All of it, once it is more than stays in memory.
    file: Option<File>,
    /// Bytes in the file.
    spooled: u64,
}

impl Spool {
    fn new(work: Arc<Work>) -> Self {
        Self { work, memory: Vec::new(), file: None, spooled: 0 }
    }

    /// Moves what is in memory into the file.
    fn spill(&mut self) -> io::Result<()> {
        let bytes = self.memory.len() as u64;
        if !self.work.spool(bytes) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.spooled += bytes;
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        file.write_all(&self.memory)?;
        self.memory.clear();
        Ok(())
    }

    /// At its beginning, to be read.
    fn rewound(mut self) -> Result<Self, Problem> {
        if self.file.is_some() {
            let rewound = self.spill().and_then(|()| self.file.as_mut().map_or(Ok(()), File::rewind));
            rewound.map_err(Problem::from)?;
            self.memory = Vec::new();
        }
        Ok(self)
    }

    fn body(mut self) -> Body {
        let Some(file) = self.file.take() else { return Body::from(std::mem::take(&mut self.memory)) };
        let reading = (tokio::fs::File::from_std(file), self);
        Body::from_stream(stream::try_unfold(reading, async |(mut file, spool)| {
            let mut piece = Vec::with_capacity(PIECE_BYTES);
            let count = file.read_buf(&mut piece).await?;
            Ok::<_, io::Error>((count > 0).then(|| (Bytes::from(piece), (file, spool))))
        }))
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.memory.len().saturating_add(bytes.len()) > SPOOL_MEMORY_BYTES && !self.memory.is_empty() {
            self.spill()?;
        }
        let count = bytes.len().min(SPOOL_MEMORY_BYTES);
        self.memory.extend_from_slice(bytes.get(..count).unwrap_or_default());
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.work.unspool(self.spooled);
    }
}

/// An answer could not be put into a file.
impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        let place = std::env::temp_dir();
        let detail = format!(
            "an answer of more than {SPOOL_MEMORY_BYTES} bytes waits in {} until it is sent, and cannot: {error}",
            place.display()
        );
        let is_full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        Self::new(if is_full { ErrorCode::DiskFull } else { ErrorCode::DiskFailing }, detail)
    }
}

#[cfg(test)]
mod tests;
