//! The native dialect: one event in each line (NDJSON). The `at` of a recorded envelope becomes `producer_at`.

use super::{Decode, DecodeOptions, Decoded};

/// Decodes native events.
#[derive(Debug)]
pub struct Decoder {
    _options: DecodeOptions,
}

impl Decoder {
    /// A decoder for one stream.
    pub fn new(options: DecodeOptions) -> Self {
        Self { _options: options }
    }
}

impl Decode for Decoder {
    fn feed(&mut self, _bytes: &[u8], _out: &mut Decoded) {}

    fn end(&mut self, _out: &mut Decoded) {}
}
