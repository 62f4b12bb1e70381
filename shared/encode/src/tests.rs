//! Tests of the encoders: what each says of the same conversation, and that nothing makes any of them fail.

use proptest::prelude::*;

use super::*;
use model::testkit::history;

mod own_words;
mod round;

/// What `name` says of `lines`, native events.
pub(super) fn encoded(name: &str, lines: &str) -> String {
    encoded_for(name, lines, None)
}

/// The same for somebody who has asked for it.
pub(super) fn encoded_for(name: &str, lines: &str, caller: Option<Caller>) -> String {
    let mut encoder = encoding(name).unwrap().encoder(&EncodeOptions {
        conversation: "c".into(),
        caller,
        ..EncodeOptions::default()
    });
    let mut out = Vec::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        encoder.event(&Envelope::parse(line).unwrap(), &mut out);
    }
    encoder.end(&mut out);
    String::from_utf8(out).unwrap()
}

proptest! {
    #[test]
    fn any_history_can_be_encoded(history in history(1..60)) {
        for encoding in ENCODINGS {
            let mut encoder = encoding.encoder(&EncodeOptions::default());
            let mut out = Vec::new();
            for envelope in &history {
                encoder.event(envelope, &mut out);
            }
            encoder.end(&mut out);
            prop_assert!(std::str::from_utf8(&out).is_ok());
        }
    }
}
