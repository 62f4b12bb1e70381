//! Answers that are made as a whole and sent as slowly as their readers take them. An answer over
//! [`SPOOL_MEMORY_BYTES`] waits in an unnamed file, which is deleted with its reader. So memory is held only
//! while an answer is made, and few are made at a time.
//!
//! ```text
//! place among the requests ─▶ turn of work ─▶ make: memory, then file ─▶ place among the transfers ─▶ body
//!   429 if all are taken        429 after TURN        disk_full                 429 if all are taken
//! ```

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek as _, Write};
use std::sync::Arc;

use axum::body::{Body, Bytes};
use futures_util::stream;
use model::code::ErrorCode;
use model::limits::{
    REQUESTS_WAITING_MAX, REQUESTS_WAITING_PER_PRINCIPAL_MAX, SPOOL_MEMORY_BYTES, STREAMS_OPEN_MAX,
    STREAMS_OPEN_PER_PRINCIPAL_MAX, TRANSFERS_OPEN_MAX, TRANSFERS_OPEN_PER_PRINCIPAL_MAX,
};

use crate::inbound::problem::Problem;
use crate::work::{Open, OpenKind, OpenRefusal, TURN, Task, Turn, Work};

/// How many bytes are read from a file at once. Each reading wakes a thread, and each piece is given to the kernel in one
/// call, during which the thread that serves sockets does nothing else.
const PIECE_BYTES: usize = 128 << 10;

/// A turn to make an answer, and the place that the request holds until it is made. Made by [`turn`], owned
/// by the handler. Dropping it gives both back.
#[derive(Debug)]
pub(super) struct Making {
    work: Arc<Work>,
    open: Open,
    turn: Turn,
}

/// Waits for a turn for `task`. Fails with `too_many` if there is no place to wait or no turn comes within
/// `TURN`. Dropping the future gives up the wait.
pub(super) async fn turn(work: &Arc<Work>, task: Task) -> Result<Making, Problem> {
    let open = place(work, OpenKind::Request)?;
    let work = Arc::clone(work);
    let turn = work.turn_within(task, TURN).await.ok_or_else(busy)?;
    Ok(Making { work, open, turn })
}

/// The problem for a wait that took too long.
fn busy() -> Problem {
    Problem::busy(format!("the hub did other work for {} s; try again in a moment", TURN.as_secs()))
}

/// Takes a place among the open requests, transfers or streams. Fails with `too_many` if all are taken.
/// Dropping the place gives it back.
pub(super) fn place(work: &Arc<Work>, guest: OpenKind) -> Result<Open, Problem> {
    place_in(work, guest)
}

/// Does the same without the hub's state.
fn place_in(work: &Work, guest: OpenKind) -> Result<Open, Problem> {
    work.open(guest).map_err(|refusal| {
        let (all, share, what) = match guest {
            OpenKind::Request => {
                (REQUESTS_WAITING_MAX, REQUESTS_WAITING_PER_PRINCIPAL_MAX, "requests wait for their turn")
            }
            OpenKind::Transfer => (
                TRANSFERS_OPEN_MAX,
                TRANSFERS_OPEN_PER_PRINCIPAL_MAX,
                "large answers and imports are on their way",
            ),
            OpenKind::Stream => {
                (STREAMS_OPEN_MAX, STREAMS_OPEN_PER_PRINCIPAL_MAX, "streams and waits are open")
            }
        };
        let most = match refusal {
            OpenRefusal::All => format!("{all} {what}"),
            OpenRefusal::Share => format!("of this principal {share} {what}"),
        };
        Problem::busy(format!("{most} already; try again when one of them is over"))
    })
}

impl Making {
    /// Keeps only the turn, for answers that are made piece by piece.
    pub(super) fn turn(self) -> Turn {
        self.turn
    }

    /// Makes an answer on a thread beside those that serve sockets. Returns the result of `make` and the
    /// body. A large answer holds a place among the transfers until it is sent. Fails as `make` does, with
    /// `disk_full` or `disk_failing`, or with `too_many` without such a place.
    pub(super) async fn spooled<T: Send + 'static>(
        self,
        make: impl FnOnce(&mut Spool) -> Result<T, Problem> + Send + 'static,
    ) -> Result<(T, Body), Problem> {
        let Self { work, open, turn } = self;
        let (made, mut spool) = written(Arc::clone(&work), turn, make).await?;
        drop(open);
        if spool.file.is_some() {
            spool.open = Some(place_in(&work, OpenKind::Transfer)?);
        }
        Ok((made, spool.body()))
    }
}

/// Waits for a turn and makes an answer.
pub(super) async fn spooled<T: Send + 'static>(
    work: &Arc<Work>,
    task: Task,
    make: impl FnOnce(&mut Spool) -> Result<T, Problem> + Send + 'static,
) -> Result<(T, Body), Problem> {
    turn(work, task).await?.spooled(make).await
}

/// Runs `make`, which holds `turn`, and returns what it wrote, ready to be read from the beginning. The work
/// is finished even if this future is dropped.
pub(super) async fn written<T: Send + 'static>(
    work: Arc<Work>,
    turn: Turn,
    make: impl FnOnce(&mut Spool) -> Result<T, Problem> + Send + 'static,
) -> Result<(T, Spool), Problem> {
    let threads = Arc::clone(&work);
    let making = threads.run(move || {
        let mut spool = Spool::new(work);
        let made = make(&mut spool).and_then(|made| Ok((made, spool.rewound()?)));
        drop(turn);
        made
    });
    making.await.map_err(|error| Problem::new(ErrorCode::Internal, error.to_string()))?
}

/// Keeps a piece of a stream until its reader takes it, in a file if it is large. If the file cannot be
/// written the stream breaks off.
pub(super) async fn waiting(work: Arc<Work>, piece: Bytes) -> Body {
    if piece.len() <= SPOOL_MEMORY_BYTES {
        return Body::from(piece);
    }
    let its = Arc::clone(&work);
    let put = move || {
        let mut spool = Spool::new(its);
        spool.write_all(&piece)?;
        spool.rewound().map_err(|problem| io::Error::other(problem.told().1))
    };
    match work.file(put).await.map_err(io::Error::other).flatten() {
        Ok(spool) => spool.body(),
        Err(error) => Body::from_stream(stream::iter([Err::<Bytes, _>(error)])),
    }
}

/// A buffer that is written like a file. Beyond [`SPOOL_MEMORY_BYTES`] it becomes an unnamed file, which
/// nobody else can open and which goes with the process at the latest. Dropping it gives back its space on
/// disk.
#[derive(Debug)]
pub(super) struct Spool {
    work: Arc<Work>,
    /// What was written and is not in the file, at most [`SPOOL_MEMORY_BYTES`].
    memory: Vec<u8>,
    /// Everything that was written, once it is more than stays in memory.
    file: Option<File>,
    /// The number of bytes in the file.
    spooled: u64,
    /// The place that the answer holds while it is sent, if it needs one.
    open: Option<Open>,
}

impl Spool {
    /// Makes a buffer that is empty.
    pub(super) fn new(work: Arc<Work>) -> Self {
        Self { work, memory: Vec::new(), file: None, spooled: 0, open: None }
    }

    /// The number of bytes that were written.
    pub(super) fn len(&self) -> u64 {
        self.spooled.saturating_add(self.memory.len() as u64)
    }

    /// Reads what was written. Call [`Spool::rewound`] before.
    pub(super) fn reader(&mut self) -> Box<dyn BufRead + '_> {
        match &mut self.file {
            Some(file) => Box::new(BufReader::new(file)),
            None => Box::new(self.memory.as_slice()),
        }
    }

    /// Adds `bytes`. What goes to the file is written on a thread beside those that serve sockets. Fails as [`Spool::spill`] does.
    /// If the future is dropped the buffer is gone.
    pub(super) async fn with(mut self, bytes: Bytes) -> Result<Self, Problem> {
        if self.memory.len().saturating_add(bytes.len()) <= SPOOL_MEMORY_BYTES {
            self.memory.extend_from_slice(&bytes);
            return Ok(self);
        }
        let work = Arc::clone(&self.work);
        let writing = work.file(move || self.write_all(&bytes).map(|()| self));
        Ok(writing.await.map_err(io::Error::other).flatten()?)
    }

    /// Moves what is in memory to the file. Fails if the disk, or the hub's bound for waiting answers, is
    /// full.
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

    /// Ends the writing and goes back to the beginning. Fails if the rest does not fit on the disk.
    pub(super) fn rewound(mut self) -> Result<Self, Problem> {
        if self.file.is_some() {
            let rewound = self.spill().and_then(|()| self.file.as_mut().map_or(Ok(()), File::rewind));
            rewound.map_err(Problem::from)?;
            self.memory = Vec::new();
        }
        Ok(self)
    }

    /// A body that reads what was written as its reader takes it. Call [`Spool::rewound`] before.
    pub(super) fn body(mut self) -> Body {
        if self.file.is_none() {
            return Body::from(std::mem::take(&mut self.memory));
        }
        Body::from_stream(stream::try_unfold(self, async |mut spool| {
            let piece = spool.next_piece().await?;
            Ok::<_, io::Error>((!piece.is_empty()).then_some((piece, spool)))
        }))
    }

    /// The next [`PIECE_BYTES`] of the file, or as many as are left. If the future is dropped the file is gone.
    async fn next_piece(&mut self) -> io::Result<Bytes> {
        let Some(mut file) = self.file.take() else { return Ok(Bytes::new()) };
        let reading = self.work.file(move || {
            let mut piece = Vec::with_capacity(PIECE_BYTES);
            let read = (&mut file).take(PIECE_BYTES as u64).read_to_end(&mut piece);
            read.map(|_bytes| (file, piece))
        });
        let (file, piece) = reading.await.map_err(io::Error::other).flatten()?;
        self.file = Some(file);
        Ok(piece.into())
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
        if let Some(file) = self.file.take() {
            self.work.file(move || drop(file));
        }
        self.work.unspool(self.spooled);
    }
}

/// An answer that cannot be written to a file.
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
