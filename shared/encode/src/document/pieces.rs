//! Writes a text in pieces, so that a document of any size takes the memory of one section of it.

use std::io::{self, Write};

/// About how many bytes are written at once. A section of a document is never parted, so a piece may have as many more as one section.
const PIECE_BYTES_TARGET: usize = 256 << 10;

/// A text that is written to its destination whenever a piece of it is full. What is not written when it is dropped is lost: call
/// [`PieceWriter::finish`].
pub(super) struct PieceWriter<'a> {
    /// The piece that is not full yet. Append to it.
    pub(super) text: String,
    to: &'a mut dyn Write,
}

impl<'a> PieceWriter<'a> {
    /// Writes to `to`.
    pub(super) fn new(to: &'a mut dyn Write) -> Self {
        Self { text: String::with_capacity(64 << 10), to }
    }

    /// Writes the piece if it is full. Fails as the destination does.
    pub(super) fn write_full_piece(&mut self) -> io::Result<()> {
        if self.text.len() < PIECE_BYTES_TARGET {
            return Ok(());
        }
        self.to.write_all(self.text.as_bytes())?;
        // One large section must not keep its memory until the end.
        self.text.clear();
        self.text.shrink_to(PIECE_BYTES_TARGET);
        Ok(())
    }

    /// Writes what is left. Fails as the destination does.
    pub(super) fn finish(self) -> io::Result<()> {
        self.to.write_all(self.text.as_bytes())
    }
}

/// All that `write` writes, as one text. Only texts are written, and memory takes all of them.
pub(super) fn whole(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    let mut bytes = Vec::new();
    let written = write(&mut bytes);
    debug_assert!(written.is_ok(), "memory takes whatever is written");
    String::from_utf8(bytes).unwrap_or_default()
}
