//! Streams that are decoded in this program: those without a hub, and those that a courier publishes event by
//! event.

use bytes::Bytes;
use client::{Courier, HubAddress};
use dialects::text_calls::TextForm;
use dialects::{Decode, DecodeOptions, Decoded};
use futures_util::{Stream, StreamExt as _, stream};
use model::anomaly::AnomalyCode;
use model::dialect::DECODED;
use model::event::Kind;
use model::{ConversationId, Envelope, PublisherId, RunId};

use super::{CommandError, output};
use crate::args::StreamDialect;

/// A decoder for a stream that goes to no hub.
pub(crate) fn decoder(spoken: &StreamDialect, text_calls: bool) -> Result<Box<dyn Decode>, CommandError> {
    let text_calls = text_calls.then(TextForm::default);
    made(spoken, DecodeOptions { text_calls, ..DecodeOptions::default() })
}

/// A decoder for a stream that is published as a step of `run`, or as a run of its own. With `run`, the end
/// of the stream does not end the run.
pub(crate) fn step_decoder(
    spoken: &StreamDialect,
    run: Option<&RunId>,
) -> Result<Box<dyn Decode>, CommandError> {
    let fresh = event_log::clock::fresh_name();
    let options = match run {
        Some(run) => {
            // Several streams may be steps of one run: the ids of their parts must differ.
            DecodeOptions {
                run: run.clone(),
                part_prefix: format!("{fresh}.").into(),
                run_goes_on: true,
                ..DecodeOptions::default()
            }
        }
        None => DecodeOptions { run: RunId::new(&fresh), ..DecodeOptions::default() },
    };
    made(spoken, options)
}

/// A decoder with these options.
fn made(spoken: &StreamDialect, options: DecodeOptions) -> Result<Box<dyn Decode>, CommandError> {
    spoken.decoder(options).ok_or_else(|| CommandError::Usage {
        what: format!("there is no dialect {:?}", spoken.name()),
        mend: format!("the dialects are {}", DECODED.join(", ")),
    })
}

/// A courier under a unique publisher name.
pub(crate) fn courier(address: HubAddress, conversation: &ConversationId, program: &str) -> Courier {
    let name = format!("{program}-{}", event_log::clock::fresh_name());
    Courier::new(address, conversation.clone(), PublisherId::new(&name))
}

/// The events of a stream, decoded from the bytes of `body` as they arrive. The last item holds what the end
/// of the body completes.
pub(crate) fn events(
    decoder: Box<dyn Decode>,
    body: impl Stream<Item = Bytes>,
) -> impl Stream<Item = Vec<Envelope>> {
    stream::unfold((Some(decoder), Box::pin(body)), async |(decoder, mut body)| {
        let mut decoder = decoder?;
        let mut out = Decoded::default();
        let piece = body.next().await;
        match &piece {
            Some(bytes) => decoder.feed(bytes, &mut out),
            None => decoder.end(&mut out),
        }
        Some((out.envelopes, (piece.map(|_| decoder), body)))
    })
}

/// Says on stderr if a stream is not in the given dialect; the page would only show a run that broke off.
pub(crate) fn complain_of_dialect(events: &[Envelope]) {
    for envelope in events {
        if let Kind::Anomaly(anomaly) = &envelope.event.kind
            && anomaly.code == AnomalyCode::WrongDialect
        {
            output::complain(&format!("{}\n  name it with --dialect, or leave that out", anomaly.detail));
        }
    }
}
