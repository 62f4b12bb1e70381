//! What commands read from their stdin, piece by piece.

use std::io::{ErrorKind, Read};

use super::CommandError;

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;

/// Gives all of `input` to `take`, until it fails.
pub(super) fn each_piece(
    mut input: impl Read,
    mut take: impl FnMut(&[u8]) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => take(buffer.get(..read).unwrap_or_default())?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                let what = format!("cannot read stdin: {error}");
                return Err(CommandError::new(what, "look at what stdin is connected to"));
            }
        }
    }
}
