//! Recordings with and without times.

use super::*;
use crate::{DecodeOptions, decoder};

fn recorded(lines: &str) -> View {
    let mut recording = RecordingReader::new(decoder("fanlight", DecodeOptions::default()).unwrap());
    for piece in lines.as_bytes().chunks(7) {
        recording.feed(piece, &mut |_| {});
    }
    recording.end(&mut |_| {});
    recording.into_view()
}

fn call(at: [&str; 3]) -> String {
    let [begun, written, over] = at;
    format!(
        "{{\"k\":\"run.start\",\"run\":\"r\"{begun}}}\n\
         {{\"k\":\"tool.start\",\"run\":\"r\",\"tool\":\"t\",\"name\":\"look\"{begun}}}\n\
         {{\"k\":\"tool.call\",\"run\":\"r\",\"tool\":\"t\",\"arguments\":\"{{}}\"{written}}}\n\
         {{\"k\":\"tool.result\",\"run\":\"r\",\"tool\":\"t\",\"output\":\"x\"{over}}}\n\
         {{\"k\":\"run.end\",\"run\":\"r\",\"status\":\"complete\"{over}}}\n"
    )
}

#[test]
fn times_are_those_of_the_recording() {
    let view = recorded(&call([",\"producer_at\":1000", ",\"producer_at\":1200", ",\"producer_at\":1500"]));
    let run = &view.runs[0];
    assert_eq!((view.seq, run.started_at, run.ended_at), (5, 1000, Some(1500)));
    assert_eq!(run.tools[0].latency_ms(), Some(300));
}

#[test]
fn without_times_nobody_knows_what_a_call_took() {
    let view = recorded(&call(["", "", ""]));
    assert_eq!(view.runs[0].tools[0].latency_ms(), None);
}
