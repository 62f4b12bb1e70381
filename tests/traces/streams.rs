//! Which streams there are: fixtures by dialect, by the book and odd, and recordings.

use std::path::{Path, PathBuf};

use dialects::text_calls::TextForm;
use dialects::{DecodeOptions, Decoded, decoder};
use model::RunId;
use tests::recordings::{fixtures, recordings};

/// A stream, with its dialect.
pub(crate) struct Stream {
    pub(crate) dialect: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

impl Stream {
    fn read(dialect: &'static str, path: PathBuf) -> Self {
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

/// Dialects that have fixtures.
pub(crate) const DIALECTS: &[&str] = model::dialect::DECODED;

/// The project's own streams.
pub(crate) fn own() -> Vec<Stream> {
    let streams = DIALECTS.iter().flat_map(|dialect| {
        let odd = fixtures(&Path::new(dialect).join("odd").to_string_lossy());
        fixtures(dialect).into_iter().chain(odd).map(|path| Stream::read(dialect, path))
    });
    streams.collect()
}

/// Recordings of others. Where they are missing the fixtures carry the tests alone.
pub(crate) fn recorded() -> Vec<Stream> {
    let folders = [
        ("openai-chat", "openai-chat"),
        ("openai-completions", "openai-completions-legacy"),
        ("anthropic", "anthropic-messages"),
        ("openai-responses", "openai-responses"),
        ("gemini", "gemini-generatecontent"),
        ("gemini-interactions", "gemini-interactions"),
        ("swe-agent", "trajectory-sweagent"),
        ("tau-bench", "trajectory-taubench"),
        ("ag-ui", "ag-ui"),
        ("codex", "codex-exec-json"),
        ("cohere", "cohere-v2"),
        ("ollama", "ollama-ndjson"),
        ("ai-sdk", "vercel-ui-message-stream"),
        ("claude-code", "claude-stream-json"),
        ("langgraph", "langgraph-platform"),
        ("langgraph", "langgraph-protocol-v3"),
        ("langgraph", "langgraph-stream-tuples"),
        ("langgraph", "langchain-astream-events-v2"),
        ("claude-session", "claude-session-jsonl"),
        ("opencode", "opencode-sse"),
        ("opencode", "opencode-run-json"),
    ];
    let streams = folders
        .into_iter()
        .flat_map(|(dialect, folder)| recordings(folder).into_iter().map(|path| Stream::read(dialect, path)));
    streams.collect()
}
