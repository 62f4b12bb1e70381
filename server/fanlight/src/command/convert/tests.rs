//! `fanlight convert` from bytes to bytes.

use super::*;

fn converted(from: &str, to: &str, input: &[u8]) -> Vec<u8> {
    let args =
        ConvertArgs { from: from.parse().unwrap(), to: to.to_owned(), conversation: "c".parse().unwrap() };
    let mut written = Vec::new();
    run(&args, input, ResultOutput::to(&mut written)).expect("converts");
    written
}

#[test]
fn a_stream_in_one_dialect_comes_out_in_another() {
    let input = b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n\
                  data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let forge = String::from_utf8(converted("openai-chat", "forge", input)).unwrap();
    assert_eq!(
        forge,
        "event: token\ndata: {\"token\":\"Hi\",\"cumulative\":\"Hi\"}\n\n\
         event: complete\ndata: {\"response\":\"Hi\",\"usage\":null}\n\n"
    );
}

#[test]
fn a_dialect_that_cannot_be_written_is_named_with_those_that_can() {
    let args = ConvertArgs {
        from: "anthropic".parse().unwrap(),
        to: "morse".into(),
        conversation: "c".parse().unwrap(),
    };
    let failure = run(&args, &b""[..], ResultOutput::to(Vec::new())).unwrap_err();
    assert!(failure.to_string().contains("ag-ui"), "{failure}");
}
