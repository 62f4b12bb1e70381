//! Reads what is packed (gzip, deflate, br, zstd) as it comes, for the copy alone: what the caller gets stays packed.
//!
//! Hostile input is stopped: what one step gives is bounded, and so is what a stream may ask to be remembered.

use std::io::{self, Write};

use axum::http::HeaderMap;
use axum::http::header::CONTENT_ENCODING;
use brotli_decompressor::DecompressorWriter;
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// Most bytes that one step may give.
const STEP_BYTES_MAX: usize = 64 << 20;

/// How far back zstd may refer, as a power of two: what RFC 9659 allows senders.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// How a body is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// RFC 1952.
    Gzip,
    /// RFC 1950, or without its frame, as some servers send it.
    Deflate,
    /// RFC 7932.
    Brotli,
    /// RFC 8878.
    Zstd,
}

/// What `Content-Encoding` says, in the order in which it was done; nothing where there is one that is not known.
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
    // More than two is nobody's honest answer, and each multiplies.
    (found.len() <= 2).then_some(found)
}

/// What is unpacked, until it is taken.
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

enum Layer {
    Gzip(MultiGzDecoder<Tray>),
    Zlib(ZlibDecoder<Tray>),
    Raw(DeflateDecoder<Tray>),
    Brotli(Box<DecompressorWriter<Tray>>),
    Zstd(zstd::stream::write::Decoder<'static, Tray>),
    /// Deflate, before its first byte.
    Undecided,
}

/// Unpacks a body.
pub(super) struct Inflate {
    /// The outermost first.
    layers: Vec<Layer>,
}

impl std::fmt::Debug for Inflate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inflate").field("layers", &self.layers.len()).finish_non_exhaustive()
    }
}

impl Inflate {
    /// For a body that was packed so, in this order.
    pub(super) fn new(encodings: &[Encoding]) -> io::Result<Self> {
        let layers = encodings.iter().rev().map(|encoding| Layer::new(*encoding));
        Ok(Self { layers: layers.collect::<io::Result<_>>()? })
    }

    /// What can be read with `bytes` more.
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

    fn feed(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        if matches!(self, Self::Undecided) {
            let Some(first) = bytes.first() else { return Ok(Vec::new()) };
            // A zlib header names deflate in the low half of its first byte; a raw stream of a web server does not begin
            // with that.
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

/// What `decoder` gives for `bytes`.
fn write<D: Write>(decoder: &mut D, bytes: &[u8], tray: impl Fn(&mut D) -> &mut Tray) -> io::Result<Vec<u8>> {
    decoder.write_all(bytes)?;
    decoder.flush()?;
    Ok(std::mem::take(&mut tray(decoder).0))
}

#[cfg(test)]
mod tests;
