//! Native events as they are received, one in each line: what is read says the same when it is written, keeps to its
//! bounds, folds (I3), and folds to the same view from a snapshot on (I4) and joined (I5); of the view everything is made
//! that is made of views.
#![no_main]

use fuzz::dice;
use fuzz::laws::{Log, check_again, check_view};
use libfuzzer_sys::fuzz_target;
use model::Envelope;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut log = Log::default();
    for line in text.lines() {
        let Ok(envelope) = Envelope::received(line) else { continue };
        assert!(!envelope.by_hub, "in the hub's name: {line}");
        check_again(&envelope);
        log.take(envelope);
    }
    log.check(dice(bytes) % (log.events.len() + 1));
    check_view(&log.view, dice(bytes));
});
