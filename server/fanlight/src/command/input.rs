//! Reads stdin in pieces.

use std::io::{ErrorKind, Read};

use super::CommandError;

/// How many bytes are read at a time.
const READ_BYTES: usize = 64 << 10;

/// Passes all of `input` to `take`, until that fails.
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
