//! Plain deltas give the same events as if all events were read in general.

use proptest::prelude::*;

use super::PlainDeltas;
use crate::fanlight::{NativeDecoder, NativeEvents};
use crate::field::shape_tests::{events, stream};
use crate::{Decode, DecodeOptions};

/// Deltas that are plain, and others that nearly are.
const TEMPLATES: &[&str] = &[
    "{\"k\":\"part.delta\",\"run\":\"r\",\"part\":\"p1\",\"off\":$N,\"text\":\"$T\"}\n",
    "{\"seq\":$N,\"at\":$N,\"k\":\"part.delta\",\"run\":\"r\",\"agent\":\"a\",\"part\":\"p1\",\"text\":\"$T\"}\n",
    "{\"k\":\"part.delta\",\"part\":\"$T\",\"text\":\"$T\",\"by_hub\":true,\"producer_at\":$N,\"at\":$N}\n",
    "{\"k\":\"tool.args\",\"run\":\"r\",\"tool\":\"t\",\"off\":$N,\"text\":\"$T\",\"publisher\":\"p\"}\n",
    "{\"k\":\"tool.output\",\"tool\":\"t\",\"text\":\"$T\",\"own\":{\"x\":[$N]},\"duration_ms\":$N}\n",
    "{ \"k\" : \"$T\" , \"text\" : \"$T\" }\n",
    "{\"k\":\"part.delta\",\"part\":\"p\",\"text\":\"a\",\"text\":\"$T\"}\n",
    "{\"k\":\"part.delta\",\"part\":\"p\",\"text\":$N}\n",
    "{\"k\":\"part.start\",\"run\":\"r\",\"part\":\"p1\",\"kind\":\"text\"}\n",
    "{\"k\":\"status\",\"text\":\"$T\"}\n",
    "{\"t\":\"batch\",\"ev\":[{\"k\":\"part.delta\",\"part\":\"p\",\"off\":$N,\"text\":\"$T\"}]}\n",
];

fn decoder(plain: PlainDeltas) -> Box<dyn Decode> {
    let decoder = NativeDecoder::new(DecodeOptions::default());
    let events = NativeEvents { plain, ..decoder.events };
    Box::new(NativeDecoder { events, ..decoder })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn plain_deltas_mean_what_they_mean_in_general(stream in stream(TEMPLATES), piece in 1..3000_usize) {
        let (quick, general) = (decoder(PlainDeltas::default()), decoder(PlainDeltas::none()));
        prop_assert_eq!(events(quick, &stream, piece), events(general, &stream, piece));
    }
}

#[test]
fn deltas_that_are_alike_are_recognised() {
    let delta = r#"{"seq":$,"at":$,"k":"part.delta","run":"r","part":"p1","off":$,"text":"$"}"#;
    let mut events = NativeDecoder::new(DecodeOptions::default()).events;
    events.text(1, &delta.replace('$', "1"), &mut crate::Decoded::default());
    assert!(events.plain.read(&delta.replace('$', "22")).is_some());
    assert!(
        events.plain.read(&delta.replace("\"$\"", "\"\\ud83d\"").replace('$', "22")).is_none(),
        "it is no event"
    );
}
