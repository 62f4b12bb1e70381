//! Blocks of events, shared by all logs that write: cutting, packing, compressing, and reading back.
//!
//! A block is a row of the table of events: the events from its first seq to its last, without a hole, packed
//! as `pack` says and perhaps compressed. The writer writes small blocks uncompressed, one for each
//! conversation in a group. The packer later joins neighbours and compresses the result.

use std::borrow::Cow;
use std::io::{Read as _, Write as _};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use model::weigh::weigh;
use model::{Envelope, Seq};

use crate::LogError;
use crate::ops::{Block, Encoding};
use crate::pack::{self, pack, unpack};

/// A block ends once its events weigh this much, in bytes. Reading one event reads its whole block.
pub(crate) const BLOCK_BYTES: usize = 1 << 20;

/// How hard blocks are compressed. On text in deltas of a few bytes the default, 6, takes twice the time for 2 % less.
const LEVEL: Compression = Compression::new(4);

/// What an event weighs beside its text, about.
const EVENT_BYTES: u64 = 128;

/// Cuts `envelopes` into runs of about [`BLOCK_BYTES`], each without a hole.
pub(crate) fn cut(envelopes: &[Arc<Envelope>]) -> impl Iterator<Item = &[Arc<Envelope>]> {
    let mut bytes = 0;
    envelopes.chunk_by(move |last, next| {
        bytes += weigh(last);
        let same = bytes < BLOCK_BYTES && last.seq + 1 == next.seq;
        if !same {
            bytes = 0;
        }
        same
    })
}

/// Unpacks the body of a block. Fails with [`LogError::Unreadable`] for an encoding that this version does
/// not know and for a body that is damaged.
pub(crate) fn events(encoding: i64, body: &[u8]) -> Result<Vec<Envelope>, LogError> {
    unpack(&plain(encoding, body)?).map_err(unreadable)
}

/// The body of a block before compression. Fails as [`events`] does, apart from damage within it.
pub(crate) fn plain(encoding: i64, body: &[u8]) -> Result<Cow<'_, [u8]>, LogError> {
    match Encoding::of(encoding) {
        Some(Encoding::Plain) => Ok(Cow::Borrowed(body)),
        Some(Encoding::Zlib) => inflate(body).map(Cow::Owned).map_err(unreadable),
        None => Err(unreadable(format!("no encoding has the number {encoding}"))),
    }
}

/// The error for bytes that cannot be read, with the reason.
pub(crate) fn unreadable(error: impl std::fmt::Display) -> LogError {
    LogError::Unreadable(Arc::from(error.to_string()))
}

/// Packs `envelopes` into compressed blocks. A run that zlib would make larger stays plain. The number of
/// blocks may be above one: a block ends at [`BLOCK_BYTES`] and at every hole.
pub(crate) fn compress(envelopes: &[Arc<Envelope>]) -> Vec<Block> {
    let block = |run: &[Arc<Envelope>]| Some(packed(run.first()?.seq, run.last()?.seq, pack(run)));
    cut(envelopes).filter_map(block).collect()
}

/// Joins the bodies of blocks that follow one another, the oldest first, into one compressed block of the events from
/// `first` to `last`. Fails if one of them is damaged, or if they do not have these events.
pub(crate) fn join(bodies: &[Vec<u8>], first: Seq, last: Seq) -> Result<Block, LogError> {
    let joined = pack::join(bodies).map_err(unreadable)?;
    if last.checked_sub(first).and_then(|events| events.checked_add(1)) != Some(joined.events) {
        return Err(unreadable(format!("the blocks from {first} to {last} have {} events", joined.events)));
    }
    Ok(packed(first, last, joined.body))
}

/// A block of `plain`, compressed unless zlib would make it larger.
fn packed(first: Seq, last: Seq, plain: Vec<u8>) -> Block {
    let raw = plain.len();
    let zlib = deflate(&plain, LEVEL);
    let (encoding, body) = if zlib.len() < raw { (Encoding::Zlib, zlib) } else { (Encoding::Plain, plain) };
    Block { first, last, encoding, raw, body }
}

/// Compresses `bytes` with zlib.
pub(crate) fn deflate(bytes: &[u8], how: Compression) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::with_capacity(bytes.len() / 4), how);
    // Writing to memory cannot fail.
    drop(encoder.write_all(bytes));
    encoder.finish().unwrap_or_default()
}

/// The reverse of [`deflate`].
pub(crate) fn inflate(body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(body.len().saturating_mul(4));
    ZlibDecoder::new(body).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A block as a candidate for being joined with its neighbours.
#[derive(Debug)]
pub(crate) struct Loose {
    /// The key of its row.
    pub(crate) id: i64,
    /// Bytes of its events, uncompressed.
    pub(crate) raw: u64,
    /// Bytes of its body.
    pub(crate) bytes: u64,
    /// The seq of its first event.
    pub(crate) first: Seq,
    /// The seq of its last event; every seq between the two is in the block.
    pub(crate) last: Seq,
}

impl Loose {
    /// About what its events weigh, as [`cut`] weighs them. Joined deltas take less in the block.
    pub(crate) fn weight(&self) -> u64 {
        let events = self.last.saturating_sub(self.first).saturating_add(1);
        self.raw.saturating_add(events.saturating_mul(EVENT_BYTES))
    }
}
