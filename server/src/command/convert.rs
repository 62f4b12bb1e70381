//! `fanlight convert`: stdin in one dialect → stdout in another, as it comes. Without a hub and without a clock.

use std::io::{ErrorKind, Read, Write};

use shared::dialect::Decoded;
use shared::encode::{Encode, EncodeOptions, encoding};
use shared::event::Class;

use super::native::decoder;
use super::{Failure, Output};
use crate::args::ConvertArgs;

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;

/// Converts `input` to its end.
pub(crate) fn run(
    args: &ConvertArgs,
    mut input: impl Read,
    mut output: Output<impl Write>,
) -> Result<(), Failure> {
    let mut decoder = decoder(&args.from, false)?;
    let encoding = encoding(&args.to).ok_or_else(|| Failure::Usage {
        what: format!("there is no dialect {:?} to write", args.to),
        mend: format!("the dialects are {}", shared::encode::names()),
    })?;
    let options = EncodeOptions { conversation: args.conversation.as_str().into() };
    let mut stream = Stream { encoder: encoding.encoder(&options), now: 0, seq: 0 };
    let mut decoded = Decoded::default();
    let mut buffer = vec![0; READ_BYTES];
    let mut out = Vec::new();
    loop {
        let read = match input.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => {
                return Err(Failure::new(
                    format!("cannot read stdin: {error}"),
                    "look at what stdin is connected to",
                ));
            }
        };
        decoder.feed(buffer.get(..read).unwrap_or_default(), &mut decoded);
        stream.take(&mut decoded, &mut out);
        output.bytes(&out)?;
        out.clear();
    }
    decoder.end(&mut decoded);
    stream.take(&mut decoded, &mut out);
    stream.encoder.end(&mut out);
    output.bytes(&out)
}

/// What is written.
struct Stream {
    encoder: Box<dyn Encode>,
    /// The recording's own time.
    now: u64,
    seq: u64,
}

impl Stream {
    /// Numbers the events as a hub would, and encodes them.
    fn take(&mut self, decoded: &mut Decoded, out: &mut Vec<u8>) {
        for mut envelope in decoded.envelopes.drain(..) {
            self.now = envelope.producer_at.unwrap_or(self.now);
            envelope.at = self.now;
            if envelope.event.kind.class() != Class::Ephemeral {
                self.seq = self.seq.saturating_add(1);
                envelope.seq = self.seq;
            }
            self.encoder.event(&envelope, out);
        }
    }
}

#[cfg(test)]
mod tests;
