//! Decompresses (gzip, deflate, br, zstd) as bytes come, for the copy alone: the caller gets the compressed
//! bytes.
//!
//! Hostile input is bounded: in what one step yields, and in how much a stream may ask to be remembered.
//! Beyond the bounds, and for damaged input, decompression fails and the rest of the answer is not recorded.

use std::io::{self, Write};

use axum::http::HeaderMap;
use axum::http::header::CONTENT_ENCODING;
use brotli_decompressor::DecompressorWriter;
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// Most bytes that one step may yield.
const STEP_BYTES_MAX: usize = 64 << 20;

/// The largest window of zstd, as a power of two: what RFC 9659 allows senders.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// The compression of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Gzip (RFC 1952).
    Gzip,
    /// Zlib (RFC 1950), or bare deflate, which some servers send.
    Deflate,
    /// Brotli (RFC 7932).
    Brotli,
    /// Zstandard (RFC 8878).
    Zstd,
}

/// The compressions that `Content-Encoding` names, in the order in which they were applied; `None` if one is
/// unknown.
pub(super) fn encodings(headers: &HeaderMap) -> Option<Vec<Encoding>> {
    let mut found = Vec::new();
    for value in headers.get_all(CONTENT_ENCODING) {
        for name in value.to_str().ok()?.split(',') {
            match name.trim().to_ascii_lowercase().as_str() {
                "" | "identity" => {}
                "gzip" | "x-gzip" => found.push(Encoding::Gzip),
                "deflate" => found.push(Encoding::Deflate),
                "br" => found.push(Encoding::Brotli),
                "zstd" => found.push(Encoding::Zstd),
                _ => return None,
            }
        }
    }
    // No honest answer has more than two, and each multiplies the size.
    (found.len() <= 2).then_some(found)
}

/// Decompressed bytes until they are taken, bounded by [`STEP_BYTES_MAX`]: beyond, writing fails.
#[derive(Debug, Default)]
struct Tray(Vec<u8>);

impl Write for Tray {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len().saturating_add(bytes.len()) > STEP_BYTES_MAX {
            return Err(io::Error::other("it unpacks to more than may be held"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A compression that is being undone.
enum Layer {
    Gzip(MultiGzDecoder<Tray>),
    Zlib(ZlibDecoder<Tray>),
    Raw(DeflateDecoder<Tray>),
    Brotli(Box<DecompressorWriter<Tray>>),
    Zstd(zstd::stream::write::Decoder<'static, Tray>),
    /// Deflate, before its first byte says whether it has a frame.
    Undecided,
}

/// Decompresses one body. Owned by its recorder; damaged input leaves it of no use.
pub(super) struct Inflate {
    /// The compressions, the last applied first.
    layers: Vec<Layer>,
}

impl std::fmt::Debug for Inflate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inflate").field("layers", &self.layers.len()).finish_non_exhaustive()
    }
}

impl Inflate {
    /// Decompresses a body to which `encodings` were applied in this order; none passes bytes as they are.
    /// Fails only if a decoder cannot be set up.
    pub(super) fn new(encodings: &[Encoding]) -> io::Result<Self> {
        let layers = encodings.iter().rev().map(|encoding| Layer::new(*encoding));
        Ok(Self { layers: layers.collect::<io::Result<_>>()? })
    }

    /// Returns what can be read once `bytes` have come. Fails for damaged input and beyond the bounds.
    pub(super) fn feed(&mut self, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut bytes = bytes;
        for layer in &mut self.layers {
            bytes = layer.feed(&bytes)?;
        }
        Ok(bytes)
    }
}

impl Layer {
    fn new(encoding: Encoding) -> io::Result<Self> {
        Ok(match encoding {
            Encoding::Gzip => Self::Gzip(MultiGzDecoder::new(Tray::default())),
            Encoding::Deflate => Self::Undecided,
            Encoding::Brotli => Self::Brotli(Box::new(DecompressorWriter::new(Tray::default(), 16 << 10))),
            Encoding::Zstd => {
                let mut decoder = zstd::stream::write::Decoder::new(Tray::default())?;
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                Self::Zstd(decoder)
            }
        })
    }

    /// Decompresses some bytes. For deflate the first byte decides which of its two forms this is.
    fn feed(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        if matches!(self, Self::Undecided) {
            let Some(first) = bytes.first() else { return Ok(Vec::new()) };
            // The low half of a zlib header's first byte is 8. A raw stream as web servers send it does not
            // begin with that.
            *self = if first & 0x0f == 8 {
                Self::Zlib(ZlibDecoder::new(Tray::default()))
            } else {
                Self::Raw(DeflateDecoder::new(Tray::default()))
            };
        }
        let taken = match self {
            Self::Gzip(decoder) => write(decoder, bytes, MultiGzDecoder::get_mut)?,
            Self::Zlib(decoder) => write(decoder, bytes, ZlibDecoder::get_mut)?,
            Self::Raw(decoder) => write(decoder, bytes, DeflateDecoder::get_mut)?,
            Self::Brotli(decoder) => write(&mut **decoder, bytes, DecompressorWriter::get_mut)?,
            Self::Zstd(decoder) => write(decoder, bytes, zstd::stream::write::Decoder::get_mut)?,
            Self::Undecided => Vec::new(),
        };
        Ok(taken)
    }
}

/// Writes `bytes` to `decoder` and returns what it yields.
fn write<D: Write>(decoder: &mut D, bytes: &[u8], tray: impl Fn(&mut D) -> &mut Tray) -> io::Result<Vec<u8>> {
    decoder.write_all(bytes)?;
    decoder.flush()?;
    Ok(std::mem::take(&mut tray(decoder).0))
}

#[cfg(test)]
mod tests;
