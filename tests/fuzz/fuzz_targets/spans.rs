//! Exports of spans in both encodings, one behind the line `-----`: what is taken keeps to its bounds and takes no more
//! memory than a few times the body, becomes events that fold, and no run is left open once its trace is forgotten.
#![no_main]

use std::collections::BTreeMap;

use exchange::spans::otlp::{OtlpEncoding, answer, read};
use exchange::spans::{SpanJoiner, FinishedSpan, ConversationEvents};
use fuzz::dice;
use fuzz::halves;
use fuzz::laws::{Log, check_again, check_view};
use libfuzzer_sys::fuzz_target;
use model::ConversationId;
use model::limits::{SPAN_ATTRIBUTES_MAX, SPANS_PER_EXPORT_MAX, TRACE_REMEMBERED_MS};

/// Bytes of spans for each byte of a body, at most.
const GROWTH_MAX: usize = 64;

/// When the first body comes, in milliseconds since 1970.
const BEGIN: u64 = 1_700_000_000_000;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let (one, other) = halves(rest);
    let mut joiner = SpanJoiner::default();
    let mut logs: BTreeMap<ConversationId, Log> = BTreeMap::new();
    for (number, body) in [one, other].into_iter().enumerate() {
        let encoding = if first >> number & 1 == 0 { OtlpEncoding::Json } else { OtlpEncoding::Protobuf };
        let Ok(export) = read(encoding, body) else { continue };
        drop(answer(encoding, export.rejected, &export.message));
        assert!(export.spans.len() <= SPANS_PER_EXPORT_MAX);
        let weight: usize = export.spans.iter().map(weight).sum();
        assert!(weight <= GROWTH_MAX * (body.len() + 64), "{weight} bytes of spans from {}", body.len());
        // Bits of the first byte say how long after each other the bodies come.
        let now = BEGIN + number as u64 * [0, 500, 2_000, 70_000][usize::from(first >> 2 & 3)];
        tell(&mut logs, joiner.tick(now));
        tell(&mut logs, joiner.take(export.spans, now).told);
    }
    for later in [2_000, 100_000, 2 * TRACE_REMEMBERED_MS] {
        tell(&mut logs, joiner.tick(BEGIN + 200_000 + later));
    }
    tell(&mut logs, joiner.flush(BEGIN + 3 * TRACE_REMEMBERED_MS));
    for log in logs.values() {
        log.check(dice(bytes) % (log.events.len() + 1));
        check_view(&log.view, dice(bytes));
    }
});

fn weight(span: &FinishedSpan) -> usize {
    assert!(span.trace != [0; 16] && span.id != [0; 8] && span.parent != Some(span.id), "{span:?}");
    assert!(span.attributes.len() <= SPAN_ATTRIBUTES_MAX);
    let events = span.events.iter().map(|event| event.name.len() + event.attributes.weight());
    let texts = [span.name.len(), span.status_message.len(), span.scope.len()];
    let service = span.service.as_ref().map_or(0, String::len);
    span.attributes.weight() + texts.iter().sum::<usize>() + service + events.sum::<usize>()
}

fn tell(logs: &mut BTreeMap<ConversationId, Log>, told: Vec<ConversationEvents>) {
    for ConversationEvents { conversation, envelopes } in told {
        assert!(ConversationId::parse(conversation.as_str()).is_ok(), "{conversation:?}");
        let log = logs.entry(conversation).or_default();
        for envelope in envelopes {
            check_again(&envelope);
            log.take(envelope);
        }
    }
}
