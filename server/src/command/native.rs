//! Streams that are decoded here: those that no hub sees, and those in a dialect that the hub does not know, which are
//! published as native events.

use std::io;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use shared::RunId;
use shared::dialect::text_calls::TextForm;
use shared::dialect::{DECODED, Decode, DecodeOptions, Decoded, fanlight};

use super::Failure;
use crate::args::Spoken;

/// The bytes of a stream.
pub(crate) type Pieces = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// A decoder for a stream that this program reads alone.
pub(crate) fn decoder(spoken: &Spoken, text_calls: bool) -> Result<Box<dyn Decode>, Failure> {
    let text_calls = text_calls.then(TextForm::default);
    spoken.decoder(DecodeOptions { text_calls, ..DecodeOptions::default() }).ok_or_else(|| Failure::Usage {
        what: format!("there is no dialect {:?}", spoken.name()),
        mend: format!("the dialects are {}", DECODED.join(", ")),
    })
}

/// `body` as a hub understands it, and the dialect that it is in then.
pub(crate) fn understood(
    spoken: &Spoken,
    run: Option<&RunId>,
    body: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
) -> (String, Pieces) {
    let decoder = if spoken.is_own() { spoken.decoder(options(run)) } else { None };
    match decoder {
        Some(decoder) => (fanlight::NAME.to_owned(), Box::pin(native(decoder, Box::pin(body)))),
        None => (spoken.name().to_owned(), Box::pin(body)),
    }
}

fn options(run: Option<&RunId>) -> DecodeOptions {
    let fresh = server::clock::fresh_name();
    match run {
        Some(run) => {
            // Several streams may go on with one run: their parts must not share ids.
            DecodeOptions {
                run: run.clone(),
                part_prefix: format!("{fresh}.").into(),
                run_goes_on: true,
                ..DecodeOptions::default()
            }
        }
        None => DecodeOptions { run: RunId::new(&fresh), ..DecodeOptions::default() },
    }
}

fn native(decoder: Box<dyn Decode>, body: Pieces) -> impl Stream<Item = io::Result<Bytes>> + Send {
    stream::try_unfold((Some(decoder), body), |(decoder, mut body)| async {
        let Some(mut decoder) = decoder else { return Ok(None) };
        loop {
            let mut out = Decoded::default();
            let piece = body.next().await.transpose()?;
            match &piece {
                Some(bytes) => decoder.feed(bytes, &mut out),
                None => decoder.end(&mut out),
            }
            if piece.is_none() {
                return Ok(Some((lines(out)?, (None, body))));
            }
            if !out.envelopes.is_empty() {
                return Ok(Some((lines(out)?, (Some(decoder), body))));
            }
        }
    })
}

/// One event a line.
fn lines(decoded: Decoded) -> io::Result<Bytes> {
    let mut lines = Vec::new();
    for envelope in decoded.envelopes {
        match envelope.producer_at {
            // The hub takes the time of an envelope for that of its producer.
            Some(at) => {
                let envelope = shared::Envelope { at, producer_at: None, ..envelope };
                serde_json::to_writer(&mut lines, &envelope)?;
            }
            None => serde_json::to_writer(&mut lines, &envelope.event)?,
        }
        lines.push(b'\n');
    }
    Ok(Bytes::from(lines))
}
