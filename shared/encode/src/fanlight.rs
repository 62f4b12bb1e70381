//! Encodes the native dialect: one envelope in each line (NDJSON), unchanged. Everything is written, for all
//! runs, and the stream has no end of its own.

use super::{Encode, EncodeOptions};
use model::envelope::Envelope;

/// An encoder for one stream.
pub(super) fn encoder(_options: &EncodeOptions) -> Box<dyn Encode> {
    Box::new(NativeEncoder)
}

/// Writes envelopes; it has no state.
#[derive(Debug)]
struct NativeEncoder;

impl Encode for NativeEncoder {
    fn event(&mut self, envelope: &Envelope, out: &mut Vec<u8>) {
        let before = out.len();
        // Writing an envelope cannot fail. If it did, half a line would be worse than none.
        if serde_json::to_writer(&mut *out, envelope).is_err() {
            return out.truncate(before);
        }
        out.push(b'\n');
    }

    fn end(&mut self, _out: &mut Vec<u8>) {}
}
