//! Frames, one in each line: what a client may say and what a hub may say is the same when it is written and read again,
//! and the viewer's machine survives a hub that says anything in any order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::frame::{ServerFrame, parse_client, parse_server};
use model::limits::EVENTS_PER_PUBLISH_MAX;
use model::snapshot;
use model::tracker::Tracker;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut tracker = Tracker::default();
    for line in text.lines() {
        if let Ok(frame) = parse_client(line) {
            let written = serde_json::to_string(&frame).expect("a frame can be written");
            match parse_client(&written) {
                Ok(read) => assert!(read == frame, "{frame:?}\n{read:?}"),
                Err(error) => panic!("{error}: {written}"),
            }
        }
        let Ok(mut frame) = parse_server(line) else { continue };
        if frame != ServerFrame::Unknown {
            let written = serde_json::to_string(&frame).expect("a frame can be written");
            match parse_server(&written) {
                Ok(read) => assert!(read == frame, "{frame:?}\n{read:?}"),
                Err(error) => panic!("{error}: {written}"),
            }
        }
        if let ServerFrame::Batch { ev, .. } = &frame {
            assert!(ev.len() <= EVENTS_PER_PUBLISH_MAX.max(bytes.len()));
        }
        drop(tracker.take(&mut frame, &mut |_change| {}));
        let _is_dead = tracker.heartbeat(None);
    }
    let state = snapshot::encode(tracker.view());
    let read = snapshot::decode(&state).expect("the view can be read");
    assert!(snapshot::encode(&read) == state, "another view when it is read and written");
});
