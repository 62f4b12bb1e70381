//! Decoders: no panic, the same events however the bytes are cut (I11), no more out than the limits allow, and events
//! that fold. `FUZZ_DIALECT` names the dialect.
#![no_main]

use std::sync::OnceLock;

use dialects::{DecodeOptions, Decoded, decoder};
use libfuzzer_sys::fuzz_target;
use model::View;
use model::dialect::DECODED;
use model::event::{Class, Kind};
use model::fold::{complete, fold};

/// Bytes of events for each byte of input, at most: an event of a few bytes may repeat ids of up to 160 bytes.
const GROWTH_MAX: usize = 256;

fuzz_target!(|bytes: &[u8]| {
    let dialect = dialect();
    let whole = decoded(dialect, &[bytes]);
    let (head, tail) = bytes.split_at(place(bytes));
    assert!(decoded(dialect, &[head, tail]) == whole, "another result when cut at {}", head.len());
    let size: usize = whole
        .envelopes
        .iter()
        .map(|envelope| serde_json::to_vec(envelope).map_or(0, |json| json.len()))
        .sum();
    assert!(size <= GROWTH_MAX * (bytes.len() + 64), "{size} bytes of events from {}", bytes.len());
    // The native dialect says what its sender says.
    if dialect != "fanlight" {
        check_runs(&whole);
        assert!(folded(whole).runs.values().all(|run| !run.is_running()), "a run was left open");
    } else {
        folded(whole);
    }
});

/// The dialect that is tried.
fn dialect() -> &'static str {
    static CHOSEN: OnceLock<&'static str> = OnceLock::new();
    CHOSEN.get_or_init(|| {
        let name = std::env::var("FUZZ_DIALECT").unwrap_or_default();
        let known = DECODED.iter().find(|known| **known == name);
        known.unwrap_or_else(|| panic!("FUZZ_DIALECT is {name:?}, and there are {}", DECODED.join(", ")))
    })
}

/// Where the bytes are cut: anywhere, but the same place for the same bytes.
fn place(bytes: &[u8]) -> usize {
    let mix = |hash: usize, byte: &u8| (hash ^ usize::from(*byte)).wrapping_mul(0x0100_01b3);
    bytes.iter().fold(0x811c_9dc5, mix) % (bytes.len() + 1)
}

fn decoded(dialect: &str, pieces: &[&[u8]]) -> Decoded {
    let mut out = Decoded::default();
    if let Some(mut decoder) = decoder(dialect, DecodeOptions::default()) {
        pieces.iter().for_each(|piece| decoder.feed(piece, &mut out));
        decoder.end(&mut out);
    }
    out
}

/// One run at a time; only the history, results, oddities and more about a run may stand between runs.
fn check_runs(decoded: &Decoded) {
    let mut running = false;
    for envelope in &decoded.envelopes {
        match &envelope.event.kind {
            Kind::RunStart(_) => assert!(!std::mem::replace(&mut running, true), "a run inside a run"),
            Kind::RunEnd(_) => assert!(std::mem::take(&mut running), "an end without a run"),
            Kind::Anomaly(_) | Kind::ToolResult(_) | Kind::Message(_) | Kind::RunUpdate(_) => {}
            kind => assert!(running, "{kind:?} outside of a run"),
        }
    }
    assert!(!running, "no end");
}

fn folded(decoded: Decoded) -> View {
    let mut view = View::default();
    for mut envelope in decoded.envelopes {
        if envelope.event.kind.class() != Class::Ephemeral {
            envelope.seq = view.seq + 1;
        }
        complete(&view, &mut envelope.event);
        fold(&mut view, &envelope, &mut |_change| {});
    }
    view
}
