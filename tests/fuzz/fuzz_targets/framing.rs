//! Framing: the same frames however the bytes are cut, and no more text than came in.
#![no_main]

use dialects::framing::{BodyFraming, StreamPiece, LineSplitter, SseSplitter, ValueSplitter};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<u8>, Vec<u8>)| {
    let (head, tail) = input;
    let whole = [head.as_slice(), tail.as_slice()].concat();
    same("body", &whole, &head, &tail, |pieces| {
        let (mut frames, mut body) = (Vec::new(), BodyFraming::default());
        pieces.iter().for_each(|piece| body.feed(piece, &mut |frame| frames.push(told(frame))));
        body.end(&mut |frame| frames.push(told(frame)));
        frames
    });
    same("sse", &whole, &head, &tail, |pieces| {
        let (mut frames, mut sse) = (Vec::new(), SseSplitter::default());
        pieces.iter().for_each(|piece| sse.feed(piece, &mut |frame| frames.push(told(frame))));
        sse.end(&mut |frame| frames.push(told(frame)));
        frames
    });
    same("values", &whole, &head, &tail, |pieces| {
        let (mut frames, mut values) = (Vec::new(), ValueSplitter::items(1));
        pieces.iter().for_each(|piece| values.feed(piece, &mut |frame| frames.push(told(frame))));
        values.end(&mut |frame| frames.push(told(frame)));
        frames
    });
    same("lines", &whole, &head, &tail, |pieces| {
        let (mut frames, mut lines) = (Vec::new(), LineSplitter::ndjson());
        pieces
            .iter()
            .for_each(|piece| lines.feed(piece, &mut |at, line| frames.push(format!("{at} {line:?}"))));
        lines.end(&mut |at, line| frames.push(format!("{at} {line:?}")));
        frames
    });
});

fn told(frame: StreamPiece<'_>) -> String {
    format!("{frame:?}")
}

fn same(what: &str, whole: &[u8], head: &[u8], tail: &[u8], frames: impl Fn(&[&[u8]]) -> Vec<String>) {
    assert_eq!(frames(&[head, tail]), frames(&[whole]), "{what}");
    let bytes: Vec<_> = whole.chunks(1).collect();
    assert_eq!(frames(&bytes), frames(&[whole]), "{what} byte by byte");
}
