//! Blocks of events, shared by all logs that write: cutting, packing, compressing, and reading back.
//!
//! A block is a row of the table of events: the events from its first seq to its last, without a hole, packed
//! as `pack` says and perhaps compressed. The writer writes small blocks uncompressed, one for each
//! conversation in a group. The packer later joins neighbours and compresses the result.

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use model::weigh::weigh;
use model::{Envelope, Seq};

use crate::LogError;
use crate::ops::{Block, Encoding};
use crate::pack::{pack, unpack};

/// A block ends once its events weigh this much, in bytes. Reading one event reads its whole block.
pub(crate) const BLOCK_BYTES: usize = 1 << 20;

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
    let unpacked = match Encoding::of(encoding) {
        Some(Encoding::Plain) => unpack(body),
        Some(Encoding::Zlib) => unpack(&inflate(body).map_err(unreadable)?),
        None => return Err(unreadable(format!("no encoding has the number {encoding}"))),
    };
    unpacked.map_err(unreadable)
}

/// The error for bytes that cannot be read, with the reason.
pub(crate) fn unreadable(error: impl std::fmt::Display) -> LogError {
    LogError::Unreadable(Arc::from(error.to_string()))
}

/// Packs `envelopes` into compressed blocks. A run that zlib would make larger stays plain. The number of
/// blocks may be above one: a block ends at [`BLOCK_BYTES`] and at every hole.
pub(crate) fn compress(envelopes: &[Arc<Envelope>]) -> Vec<Block> {
    let block = |run: &[Arc<Envelope>]| {
        let (first, last) = (run.first()?.seq, run.last()?.seq);
        let plain = pack(run);
        let raw = plain.len();
        let zlib = deflate(&plain, Compression::default());
        let (encoding, body) =
            if zlib.len() < raw { (Encoding::Zlib, zlib) } else { (Encoding::Plain, plain) };
        Some(Block { first, last, encoding, raw, body })
    };
    cut(envelopes).filter_map(block).collect()
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
