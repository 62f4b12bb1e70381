//! `fanlight convert`: converts a stream from stdin into another dialect on stdout, as it arrives. Uses no
//! hub and no clock.

use std::io::{Read, Write};

use dialects::Decoded;
use encode::{Encode, EncodeOptions, encoding};
use model::recording::RecordingClock;

use super::input::each_piece;
use super::native::decoder;
use super::{CommandError, ResultOutput};
use crate::args::ConvertArgs;

/// Converts `input` to its end. Fails with a usage error for a dialect that cannot be read or written.
/// Nonsense in the stream is no failure.
pub(crate) fn run(
    args: &ConvertArgs,
    input: impl Read,
    mut output: ResultOutput<impl Write>,
) -> Result<(), CommandError> {
    let mut decoder = decoder(&args.from, false)?;
    let encoding = encoding(&args.to).ok_or_else(|| CommandError::Usage {
        what: format!("there is no dialect {:?} to write", args.to),
        mend: format!("the dialects are {}", encode::names()),
    })?;
    let options =
        EncodeOptions { conversation: args.conversation.as_str().into(), ..EncodeOptions::default() };
    let mut stream =
        ConvertedStream { encoder: encoding.encoder(&options), clock: RecordingClock::default() };
    let mut decoded = Decoded::default();
    let mut out = Vec::new();
    each_piece(input, |bytes| {
        decoder.feed(bytes, &mut decoded);
        stream.take(&mut decoded, &mut out);
        output.bytes(&out)?;
        out.clear();
        Ok(())
    })?;
    decoder.end(&mut decoded);
    stream.take(&mut decoded, &mut out);
    stream.encoder.end(&mut out);
    output.bytes(&out)
}

/// The stream that is written.
struct ConvertedStream {
    /// Writes the dialect that was asked for.
    encoder: Box<dyn Encode>,
    /// Numbers the events, with times from the recording.
    clock: RecordingClock,
}

impl ConvertedStream {
    /// Numbers the events as a hub would, and encodes them.
    fn take(&mut self, decoded: &mut Decoded, out: &mut Vec<u8>) {
        for mut envelope in decoded.envelopes.drain(..) {
            self.clock.stamp(&mut envelope);
            self.encoder.event(&envelope, out);
        }
    }
}

#[cfg(test)]
mod tests;
