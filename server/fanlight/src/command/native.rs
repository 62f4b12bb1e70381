//! Streams that are decoded here: those that no hub sees, and those that a courier carries to one event by event.

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

/// A decoder for a stream that this program reads alone.
pub(crate) fn decoder(spoken: &StreamDialect, text_calls: bool) -> Result<Box<dyn Decode>, CommandError> {
    let text_calls = text_calls.then(TextForm::default);
    made(spoken, DecodeOptions { text_calls, ..DecodeOptions::default() })
}

/// A decoder for a stream that goes into a conversation among others, as a step of `run` or as a run of its own.
pub(crate) fn step_decoder(
    spoken: &StreamDialect,
    run: Option<&RunId>,
) -> Result<Box<dyn Decode>, CommandError> {
    let fresh = event_log::clock::fresh_name();
    let options = match run {
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
    };
    made(spoken, options)
}

fn made(spoken: &StreamDialect, options: DecodeOptions) -> Result<Box<dyn Decode>, CommandError> {
    spoken.decoder(options).ok_or_else(|| CommandError::Usage {
        what: format!("there is no dialect {:?}", spoken.name()),
        mend: format!("the dialects are {}", DECODED.join(", ")),
    })
}

/// A courier under a name that nobody else has.
pub(crate) fn courier(address: HubAddress, conversation: &ConversationId, program: &str) -> Courier {
    let name = format!("{program}-{}", event_log::clock::fresh_name());
    Courier::new(address, conversation.clone(), PublisherId::new(&name))
}

/// The events of the stream that `body` gives the bytes of, as they come.
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

/// Says on stderr when a stream is not of the dialect that it was said to be: on the page one would see a run that broke off.
pub(crate) fn complain_of_dialect(events: &[Envelope]) {
    for envelope in events {
        if let Kind::Anomaly(anomaly) = &envelope.event.kind
            && anomaly.code == AnomalyCode::WrongDialect
        {
            output::complain(&format!("{}\n  name it with --dialect, or leave that out", anomaly.detail));
        }
    }
}
