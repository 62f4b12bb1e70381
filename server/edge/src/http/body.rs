//! Request bodies that are read as a whole: bounded in bytes, and only as long as bytes keep coming.
//!
//! | function | keeps the body | for |
//! |---|---|---|
//! | [`whole`], [`plain`] | in memory | commands, forms, spans, requests of the doors |
//! | [`of_stranger`] | in memory | the form of the login |
//! | [`waiting`] | in memory up to a bound, then in a file | events that are published |
//! | [`spooled`] | as a [`Spool`], whatever waits for work | imports |
//!
//! All fail in the same way: `too_large` (413) beyond the bound, `body_timeout` (408) after [`IDLE`] without
//! a byte, `bad_request` (400) if the body breaks off, and all but [`whole`] `unsupported_encoding` (415) if
//! it is compressed.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::Request;
use http_body_util::BodyExt as _;
use model::code::ErrorCode;
use model::limits::BODY_IDLE_MS;

use super::spool::Spool;
use crate::inbound::params;
use crate::inbound::problem::Problem;
use crate::slow;
use crate::work::Work;

/// How long a body may bring no byte before it is given up. A slow body that keeps coming is read however
/// long it takes.
pub(crate) const IDLE: Duration = Duration::from_millis(BODY_IDLE_MS);

/// How long a body that is over its limit is still read and discarded. A client that writes its whole body
/// before it reads gets the answer this way, and not a reset connection.
const DISCARD: Duration = Duration::from_secs(2);

/// A piece of a body with fewer bytes is copied together with its neighbours, because its buffer may be much
/// larger than the piece.
const SMALL_PIECE_BYTES: usize = 4 << 10;

/// Small pieces are collected until they have this many bytes.
const PIECE_BYTES: usize = 64 << 10;

/// How much of such a body is discarded, in bytes.
const DISCARD_BYTES_MAX: usize = 64 << 20;

/// Reads the body of `request`, at most `bytes_max` bytes. Fails if it is compressed.
pub(crate) async fn plain(request: Request, bytes_max: usize) -> Result<Pieces, Problem> {
    params::plain(request.headers())?;
    pieces(request.into_body(), bytes_max).await
}

/// Reads all of `body` into one buffer, at most `bytes_max` bytes.
pub(crate) async fn whole(body: Body, bytes_max: usize) -> Result<Bytes, Problem> {
    Ok(pieces(body, bytes_max).await?.join())
}

/// Does the same for the body of somebody who is not known yet, which has to be there within `limit`: whoever sends byte after byte would be waited for
/// without end. Fails with `body_timeout` after that, and is counted.
pub(crate) async fn of_stranger(body: Body, bytes_max: usize, limit: Duration) -> Result<Bytes, Problem> {
    match tokio::time::timeout(limit, whole(body, bytes_max)).await {
        Ok(came) => came,
        Err(_elapsed) => {
            slow::BODIES.one();
            let detail = format!("the body did not come within {} s", limit.as_secs());
            Err(Problem::new(ErrorCode::BodyTimeout, detail))
        }
    }
}

/// A body in the pieces in which it came. Joining copies it, which takes milliseconds for a large one.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    /// Large pieces, and small ones that were copied together, in order.
    joined: Vec<Bytes>,
    /// Small pieces that came after those.
    small: Vec<u8>,
    /// The length of all pieces together.
    bytes: usize,
}

impl Pieces {
    /// The length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes
    }

    /// Copies all pieces into one buffer.
    pub(crate) fn join(mut self) -> Bytes {
        if self.joined.is_empty() {
            return Bytes::from(self.small);
        }
        self.joined.push(Bytes::from(self.small));
        Bytes::from(self.joined.concat())
    }

    /// The pieces in order.
    fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.joined.iter().map(|part| &**part).chain([&*self.small])
    }

    /// Appends all pieces to `all` and drops each after copying, so that little is in memory twice.
    fn append_to(self, all: &mut Vec<u8>) {
        for part in self.joined {
            all.extend_from_slice(&part);
        }
        all.extend_from_slice(&self.small);
    }

    /// Adds a piece at the end.
    fn push(&mut self, piece: Bytes) {
        self.bytes += piece.len();
        if piece.len() >= SMALL_PIECE_BYTES {
            self.put_together();
            self.joined.push(piece);
            return;
        }
        self.small.extend_from_slice(&piece);
        if self.small.len() >= PIECE_BYTES {
            self.put_together();
        }
    }

    /// Moves the collected small pieces to the others.
    fn put_together(&mut self) {
        if !self.small.is_empty() {
            self.joined.push(Bytes::from(std::mem::take(&mut self.small)));
        }
    }
}

/// Reads the body of `request` into a file if it is large, so that a slow sender holds no memory. Fails if it
/// is compressed.
pub(super) async fn spooled(request: Request, bytes_max: usize, work: &Arc<Work>) -> Result<Spool, Problem> {
    params::plain(request.headers())?;
    let mut pieces = BodyPieces::new(request.into_body(), bytes_max);
    let mut spool = Spool::new(Arc::clone(work));
    while let Some(bytes) = pieces.next().await? {
        spool = spool.with(bytes).await?;
    }
    spool.rewound()
}

/// A body that waits for its turn. A large one waits in an unnamed file, so that many of them hold no memory.
/// Made by [`waiting`], owned by the request. Dropping it gives back its space on disk.
#[derive(Debug)]
pub(super) struct Waiting {
    work: Arc<Work>,
    /// The file with the beginning of the body, if it is large.
    file: Option<File>,
    /// The number of bytes in the file.
    filed: usize,
    /// How many bytes count as waiting in files.
    spooled: usize,
    /// The bytes after those.
    pieces: Pieces,
    /// Most bytes in memory, as long as files can be written.
    memory_max: usize,
}

impl Waiting {
    fn new(work: &Arc<Work>, memory_max: usize) -> Self {
        Self {
            work: Arc::clone(work),
            file: None,
            filed: 0,
            spooled: 0,
            pieces: Pieces::default(),
            memory_max,
        }
    }

    /// The length in bytes.
    pub(super) fn len(&self) -> usize {
        self.filed + self.pieces.len()
    }

    /// Reads all of it into memory, which needs as many bytes as the body has. Fails if the file cannot be
    /// read.
    pub(super) fn join(mut self) -> Result<Bytes, Problem> {
        let pieces = std::mem::take(&mut self.pieces);
        let Some(mut file) = self.file.take() else { return Ok(pieces.join()) };
        let mut all = Vec::with_capacity(self.len() + pieces.len());
        // Bytes after these were not written completely.
        let read = file.rewind().and_then(|()| (&mut file).take(self.filed as u64).read_to_end(&mut all));
        // Closed by another thread, see `Work::file`.
        self.file = Some(file);
        read?;
        pieces.append_to(&mut all);
        Ok(Bytes::from(all))
    }

    /// Adds a piece, and moves to the file what is over the bound.
    async fn push(&mut self, piece: Bytes) -> Result<(), Problem> {
        self.pieces.push(piece);
        let bytes = self.pieces.len();
        if bytes <= self.memory_max {
            return Ok(());
        }
        if !self.work.spool(bytes as u64) {
            // A full disk must keep nobody from publishing: from here on the body waits in memory.
            self.memory_max = usize::MAX;
            return Ok(());
        }
        self.spooled += bytes;
        let (file, pieces) = (self.file.take(), std::mem::take(&mut self.pieces));
        // Beside the threads that serve sockets, as all files: see `Work::file`.
        let putting = self.work.file(move || put_into_file(file, pieces));
        let (file, rest) =
            putting.await.map_err(|error| Problem::new(ErrorCode::Internal, error.to_string()))?;
        self.file = file;
        match rest {
            None => self.filed += bytes,
            Some(pieces) => {
                self.pieces = pieces;
                self.memory_max = usize::MAX;
                self.spooled -= bytes;
                self.work.unspool(bytes as u64);
            }
        }
        Ok(())
    }
}

/// Writes `pieces` to `file`, which is made if there is none. Returns the file, and the pieces if not all of them could be
/// written.
fn put_into_file(file: Option<File>, pieces: Pieces) -> (Option<File>, Option<Pieces>) {
    let Some(mut file) = file.or_else(|| tempfile::tempfile().ok()) else { return (None, Some(pieces)) };
    let written = pieces.parts().try_for_each(|part| file.write_all(part));
    (Some(file), written.is_err().then_some(pieces))
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            self.work.file(move || drop(file));
        }
        self.work.unspool(self.spooled as u64);
    }
}

/// Reads the body of `request`. If it has more than `memory_max` bytes it waits in a file. Fails if it is
/// compressed.
pub(super) async fn waiting(
    request: Request,
    bytes_max: usize,
    memory_max: usize,
    work: &Arc<Work>,
) -> Result<Waiting, Problem> {
    params::plain(request.headers())?;
    let mut pieces = BodyPieces::new(request.into_body(), bytes_max);
    let mut all = Waiting::new(work, memory_max);
    while let Some(piece) = pieces.next().await? {
        all.push(piece).await?;
    }
    Ok(all)
}

/// Reads all of `body` into memory.
async fn pieces(body: Body, bytes_max: usize) -> Result<Pieces, Problem> {
    let mut pieces = BodyPieces::new(body, bytes_max);
    let mut all = Pieces::default();
    while let Some(piece) = pieces.next().await? {
        all.push(piece);
    }
    Ok(all)
}

/// A body that is taken piece by piece, at most so many bytes of it.
#[derive(Debug)]
struct BodyPieces {
    body: Body,
    /// Most bytes of the body.
    bytes_max: usize,
    /// The number of bytes that have come.
    count: usize,
}

impl BodyPieces {
    /// All of `body`, of which at most `bytes_max` bytes are taken.
    fn new(body: Body, bytes_max: usize) -> Self {
        Self { body, bytes_max, count: 0 }
    }

    /// The next piece; `None` after the last. The problems distinguish a body over the limit, one that breaks off, and one
    /// that brings no byte for too long.
    async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        if self.count == 0 && self.body.size_hint().lower() > self.bytes_max as u64 {
            return Err(self.too_large().await);
        }
        let Ok(frame) = tokio::time::timeout(IDLE, self.body.frame()).await else { return Err(idle()) };
        let Some(frame) = frame else { return Ok(None) };
        let bytes = frame.map_err(|error| broken(&error))?.into_data().unwrap_or_default();
        self.count = self.count.saturating_add(bytes.len());
        if self.count > self.bytes_max {
            return Err(self.too_large().await);
        }
        Ok(Some(bytes))
    }

    /// The problem for a body of more than its bound. The rest of it is read and discarded.
    async fn too_large(&mut self) -> Problem {
        too_large(std::mem::take(&mut self.body), self.bytes_max).await
    }
}

/// The problem for a body of more than `bytes_max` bytes. The rest of it is read and discarded, within
/// [`DISCARD`] and at most [`DISCARD_BYTES_MAX`], so that a client that first writes and then reads gets the
/// answer.
async fn too_large(mut body: Body, bytes_max: usize) -> Problem {
    let discard = async {
        let mut bytes = 0_usize;
        while bytes < DISCARD_BYTES_MAX
            && let Some(Ok(frame)) = body.frame().await
        {
            bytes = bytes.saturating_add(frame.data_ref().map_or(0, Bytes::len));
        }
    };
    // A client that is slower than that may miss the answer, but nothing else.
    drop(tokio::time::timeout(DISCARD, discard).await);
    Problem::new(ErrorCode::TooLarge, format!("the body has more than {bytes_max} bytes"))
}

/// The problem for a body that broke off.
pub(crate) fn broken(error: &axum::Error) -> Problem {
    Problem::bad_request(format!("the body stopped half-way: {error}"))
}

/// The problem for a body that brings no bytes.
pub(crate) fn idle() -> Problem {
    Problem::new(ErrorCode::BodyTimeout, format!("no byte of the body came for {} s", IDLE.as_secs()))
}

#[cfg(test)]
mod tests;
