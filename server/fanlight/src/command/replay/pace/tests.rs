//! Tests of where pieces end and when they are due.

use super::*;

fn pauses(recording: &str) -> Vec<Option<u128>> {
    let mut pace = RecordingPacer::default();
    let lines = recording.split_inclusive('\n');
    lines.map(|line| pace.take(line.as_bytes()).map(|pause| pause.as_millis())).collect()
}

#[test]
fn a_block_of_server_sent_events_is_due_as_a_whole() {
    let recording = "event: a\r\ndata: {}\r\n\r\n\r\n: ping\n\ndata: 1";
    assert_eq!(pauses(recording), [None, None, Some(30), None, None, Some(30), None]);
}

#[test]
fn lines_without_times_are_due_one_by_one() {
    assert_eq!(pauses("{\"type\":\"a\"}\n\n{\"type\":\"b\"}\n"), [Some(30), None, Some(30)]);
}

#[test]
fn native_events_are_due_when_they_were() {
    let recording = "{\"k\":\"status\",\"at\":1000}\n{\"k\":\"status\",\"at\":1250}\n{\"k\":\"status\",\"at\":1200}\n\
                     {\"k\":\"status\",\"at\":9000,\"producer_at\":1300}\n";
    assert_eq!(pauses(recording), [Some(0), Some(250), Some(0), Some(50)]);
}
