//! Reading an answer: decompresses it, removes the call's keys if it is an error, and decodes it.
//!
//! ```text
//! head: status, encodings ─▶ body: inflate ─▶ strike keys, if the status is 400 or more ─▶ AnswerReader
//! ```

use std::sync::Arc;

use compact_str::CompactString;
use dialects::Decoded;
use event_log::blocking;
use exchange::{AnswerEnd, AnswerReader};
use model::anomaly::{Anomaly, AnomalyCode};
use model::event::{ErrorFact, Kind};
use upstream::SendError;

use super::LONG_BYTES;
use crate::proxy::calls::COPIES_LOST;
use crate::proxy::inflate::Inflate;
use crate::proxy::secrets::{Secrets, Strike};
use crate::proxy::tape::{End, Head};

/// An answer that is being read. Owned by its recorder.
#[derive(Debug)]
pub(super) struct AnswerDecoder {
    /// Decodes the answer's dialect into events of the run.
    pub(super) answer: AnswerReader,
    /// `None` before the head of the answer.
    packed: Option<Inflate>,
    /// Removes keys; only if the answer is an error, which may repeat them.
    strike: Option<Strike>,
    /// Whether the rest of the answer cannot be read.
    pub(super) has_given_up: bool,
}

impl AnswerDecoder {
    /// Begins to read; nothing has come yet.
    pub(super) fn new(answer: AnswerReader) -> Self {
        Self { answer, packed: None, strike: None, has_given_up: false }
    }

    /// Takes the head of the answer.
    pub(super) fn begin(&mut self, head: &Head, secrets: &Arc<Secrets>, out: &mut Decoded) {
        self.answer.begin(head.status, head.retry_after_ms);
        self.strike = (head.status >= 400).then(|| Strike::new(secrets));
        match head.encodings.as_deref().map(Inflate::new) {
            Some(Ok(packed)) => self.packed = Some(packed),
            Some(Err(error)) => self.give_up(format!("the answer cannot be unpacked: {error}"), out),
            None => self.give_up(String::from("the answer is packed in a way that is not known here"), out),
        }
    }

    /// Decodes more of the body. Bytes that cannot be unpacked end the reading with an anomaly.
    pub(super) fn feed(&mut self, bytes: &[u8], out: &mut Decoded) {
        if self.has_given_up {
            return;
        }
        let Some(packed) = &mut self.packed else { return };
        match packed.feed(bytes.to_vec()) {
            Ok(plain) => match &mut self.strike {
                // Decompressed bytes may be many.
                Some(strike) if plain.len() > LONG_BYTES => {
                    let struck = blocking(|| strike.feed(&plain));
                    self.answer.feed(&struck, out);
                }
                Some(strike) => self.answer.feed(&strike.feed(&plain), out),
                None => self.answer.feed(&plain, out),
            },
            Err(error) => self.give_up(format!("the answer cannot be unpacked: {error}"), out),
        }
    }

    /// Decodes what was held back as the possible beginning of a key, because nothing follows it.
    pub(super) fn feed_rest(&mut self, out: &mut Decoded) {
        if let Some(strike) = &mut self.strike {
            self.answer.feed(&strike.rest(), out);
        }
    }

    /// Gives up reading the rest of the answer, counts it, and notes an anomaly `copy_lost` with `detail`.
    pub(super) fn give_up(&mut self, detail: String, out: &mut Decoded) {
        self.has_given_up = true;
        COPIES_LOST.one();
        out.push(self.answer.run(), Kind::Anomaly(Anomaly { code: AnomalyCode::CopyLost, detail }));
    }
}

/// The end of a call in the form that the joiner takes: complete, cancelled by the caller, or failed with a
/// code that says at which point.
pub(super) fn ending(end: End) -> AnswerEnd {
    let failed = |code: &str, message: String| {
        let code = CompactString::new(code);
        AnswerEnd::Failed(ErrorFact { code, message, retryable: Some(true), retry_after_ms: None })
    };
    match end {
        End::Whole => AnswerEnd::Whole,
        End::HungUp => AnswerEnd::Cancelled,
        End::Cut(reason) => {
            failed("upstream_cut", format!("the upstream broke off in the middle of its answer: {reason}"))
        }
        End::Nothing(SendError::Unreachable(reason)) => {
            failed("upstream_unreachable", format!("the upstream cannot be reached: {reason}"))
        }
        End::Nothing(SendError::Failed(reason)) => {
            failed("upstream_failed", format!("the upstream gave no answer: {reason}"))
        }
    }
}
