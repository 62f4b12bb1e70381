//! A stream in a file, and how it is decoded. The tests of recordings (`tests/traces`) take this file as it is.

use std::path::PathBuf;

use dialects::text_calls::TextForm;
use dialects::{DecodeOptions, Decoded, decoder};
use model::RunId;
use proptest::sample::Index;

/// A stream, with its dialect.
pub(crate) struct Stream {
    pub(crate) dialect: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

impl Stream {
    /// The stream of `dialect` in the file `path`.
    pub(crate) fn read(dialect: &'static str, path: PathBuf) -> Self {
        let bytes = std::fs::read(&path).unwrap();
        Self { dialect, path, bytes }
    }

    /// Its name, without folders.
    pub(crate) fn name(&self) -> String {
        self.path.file_name().unwrap().to_string_lossy().into_owned()
    }

    /// How it is decoded: `NAME.goes-on.sse` is a model call of a run that its caller goes on with, and of
    /// `NAME.text-calls.sse` the texts are looked through for calls.
    pub(crate) fn options(&self) -> DecodeOptions {
        if self.name().contains(".goes-on.") {
            return DecodeOptions {
                run: RunId::new("turn"),
                part_prefix: "s2-".into(),
                run_goes_on: true,
                ..DecodeOptions::default()
            };
        }
        let text_calls = self.name().contains(".text-calls.").then(TextForm::default);
        DecodeOptions { text_calls, ..DecodeOptions::default() }
    }

    /// What it decodes to in one piece.
    pub(crate) fn decoded(&self) -> Decoded {
        self.decoded_in_pieces(std::iter::once(self.bytes.as_slice()))
    }

    /// What it decodes to when its bytes come in `pieces`.
    pub(crate) fn decoded_in_pieces<'a>(&self, pieces: impl Iterator<Item = &'a [u8]>) -> Decoded {
        decoded(self.dialect, self.options(), pieces)
    }

    /// Fails when it decodes to something else cut at `cuts`.
    pub(crate) fn assert_same_in_pieces(&self, cuts: &[Index]) {
        let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(self.bytes.len() + 1)).collect();
        places.sort_unstable();
        let mut begin = 0;
        let pieces = places.into_iter().chain([self.bytes.len()]).map(|end| {
            let piece = &self.bytes[begin..end];
            begin = end;
            piece
        });
        let same = self.decoded_in_pieces(pieces) == self.decoded();
        assert!(same, "{} cut by {cuts:?}", self.path.display());
    }

    /// Fails when it decodes to something else byte by byte.
    pub(crate) fn assert_same_byte_by_byte(&self) {
        let bytewise = self.decoded_in_pieces(self.bytes.chunks(1));
        assert!(bytewise == self.decoded(), "{} byte by byte", self.path.display());
    }
}

/// What `pieces` decode to.
pub(crate) fn decoded<'a>(
    dialect: &str,
    options: DecodeOptions,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> Decoded {
    let mut decoder = decoder(dialect, options).unwrap();
    let mut out = Decoded::default();
    for piece in pieces {
        decoder.feed(piece, &mut out);
    }
    decoder.end(&mut out);
    out
}
