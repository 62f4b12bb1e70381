//! States that come from elsewhere (imports, snapshots of other hubs), and events that go on from them: whatever can be
//! read can be written, folded onto and shown.
#![no_main]

use fuzz::laws::{check_view, folded};
use fuzz::{dice, halves};
use libfuzzer_sys::fuzz_target;
use model::{Envelope, snapshot};

fuzz_target!(|bytes: &[u8]| {
    let (state, events) = halves(bytes);
    let Ok(view) = snapshot::decode(state) else { return };
    let written = snapshot::encode(&view);
    let read = snapshot::decode(&written).expect("what is written can be read");
    assert!(snapshot::encode(&read) == written, "another state when it is read and written");
    check_view(&view, dice(bytes));
    let events = std::str::from_utf8(events).unwrap_or_default();
    let events: Vec<_> = events.lines().filter_map(|line| Envelope::received(line).ok()).collect();
    let after = folded(view, events.iter());
    check_view(&after, dice(bytes));
});
