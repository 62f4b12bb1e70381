//! Plain chunks give the same events as if all chunks were read in general.

use proptest::prelude::*;

use crate::field::Shapes;
use crate::field::shape_tests::{events, stream};
use crate::objects::{ObjectDecoder, ObjectMeaning as _};
use crate::openai_chat::{NAME, OpenAiChatMeaning};
use crate::{Decode, DecodeOptions, Decoded};

/// Chunks that are plain, and others that nearly are.
const TEMPLATES: &[&str] = &[
    "data: {\"id\":\"$T\",\"created\":$N,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"$T\"},\"finish_reason\":null}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"$T\",\"tool_calls\":[]},\"logprobs\":$N}],\"usage\":null,\"obfuscation\":\"$T\"}\n\n",
    "data: {\"model\":\"$T\",\"choices\":[{\"index\":1,\"delta\":{\"content\":\"$T\",\"role\":\"$T\"}}]}\n\n",
    "data: { \"choices\" : { \"index\" : $N , \"delta\" : { \"content\" : \"$T\" } } }\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":null,\"reasoning_content\":\"$T\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"\",\"reasoning\":\"$T\",\"reasoning_content\":\"\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"$T\",\"reasoning\":\"$T\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"a\",\"content\":\"$T\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":$N}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":$N,\"function\":{\"arguments\":\"$T\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"\",\"type\":\"function\",\"function\":{\"name\":null,\"arguments\":\"$T\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"$T\",\"function\":{\"name\":\"f\",\"arguments\":\"$T\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"custom\":[],\"function\":{\"arguments\":\"$T\",\"input\":[]}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"function_call\":{\"name\":\"g\",\"arguments\":\"$T\"}}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"$T\"}}],\"usage\":{\"prompt_tokens\":$N,\"completion_tokens\":$N}}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"$T\"}}],\"error\":\"$T\",\"citations\":[\"$T\"]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"$T\"}},{\"index\":2,\"delta\":{\"content\":\"$T\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"$T\"},\"finish_reason\":\"$T\",\"usage\":{\"prompt_tokens\":$N}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"text\":\"$T\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":$N,\"completion_tokens\":1}}\n\n",
    "data: [DONE]\n\n",
];

fn decoder(shapes: Shapes<super::PlainChunk>) -> Box<dyn Decode> {
    let meaning = OpenAiChatMeaning::new(NAME, DecodeOptions::default());
    Box::new(ObjectDecoder::new(OpenAiChatMeaning { shapes, ..meaning }))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn plain_chunks_mean_what_they_mean_in_general(stream in stream(TEMPLATES), piece in 1..3000_usize) {
        let (quick, general) = (decoder(Shapes::default()), decoder(Shapes::none()));
        prop_assert_eq!(events(quick, &stream, piece), events(general, &stream, piece));
    }
}

#[test]
fn chunks_that_are_alike_are_recognised() {
    for chunk in [
        r#"{"id":"c$","model":"m","choices":[{"index":0,"delta":{"content":"$"},"logprobs":[$],"finish_reason":null}],"usage":null}"#,
        r#"{"choices":[{"delta":{"content":null,"reasoning_content":"$"}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"$"}}]}}]}"#,
    ] {
        let mut meaning = OpenAiChatMeaning::new(NAME, DecodeOptions::default());
        let mut out = Decoded::default();
        meaning.object(1, "", &chunk.replace('$', "1"), &mut out);
        assert!(meaning.plain(&chunk.replace('$', "22"), &mut out), "{chunk}");
        assert!(
            !meaning.plain(&chunk.replace("null", "true").replace("\"index\":0", "\"index\":1"), &mut out)
        );
    }
}
