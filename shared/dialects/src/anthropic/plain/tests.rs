//! Plain deltas give the same events as if all events were read in general.

use proptest::prelude::*;

use crate::anthropic::AnthropicMeaning;
use crate::field::Shapes;
use crate::field::shape_tests::{events, stream};
use crate::objects::{ObjectDecoder, ObjectMeaning as _};
use crate::{Decode, DecodeOptions, Decoded};

/// Deltas that are plain, others that nearly are, and what is around them.
const TEMPLATES: &[&str] = &[
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"$T\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"$T\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"$T\"}}\n\n",
    "event: content_block_delta\ndata: {\"index\":$N,\"delta\":{\"type\":\"text_delta\",\"text\":\"$T\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":$N,\"delta\":{\"type\":\"text_delta\",\"text\":\"$T\",\"error\":{}}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"$T\",\"text\":\"$T\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"a\",\"text\":\"$T\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":$N}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"$T\"}}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"$T\"}}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"tool_use\",\"id\":\"$T\",\"name\":\"f\",\"input\":{}}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":$N}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "data: {\"type\":\"message_start\",\"message\":{\"id\":\"$T\",\"model\":\"c\"}}\n\n",
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"$T\"},\"usage\":{\"output_tokens\":$N}}\n\n",
    "data: {\"type\":\"message_stop\"}\n\n",
];

fn decoder(shapes: Shapes<super::PlainDelta>) -> Box<dyn Decode> {
    Box::new(ObjectDecoder::new(AnthropicMeaning {
        shapes,
        ..AnthropicMeaning::new(DecodeOptions::default())
    }))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn plain_deltas_mean_what_they_mean_in_general(stream in stream(TEMPLATES), piece in 1..3000_usize) {
        let (quick, general) = (decoder(Shapes::default()), decoder(Shapes::none()));
        prop_assert_eq!(events(quick, &stream, piece), events(general, &stream, piece));
    }
}

#[test]
fn deltas_that_are_alike_are_recognised_while_their_block_is_open() {
    let delta = |text: &str| {
        format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#
        )
    };
    let mut meaning = AnthropicMeaning::new(DecodeOptions::default());
    let mut out = Decoded::default();
    meaning.object(1, "", &delta("a"), &mut out);
    assert!(meaning.plain(&delta("b"), &mut out));
    meaning.object(1, "", r#"{"type":"content_block_stop","index":0}"#, &mut out);
    assert!(!meaning.plain(&delta("c"), &mut out), "a delta without a start is an anomaly");
}
