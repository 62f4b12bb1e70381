//! Tests of settings that are read along.

use super::*;

/// A frame of `kind` with `flags`.
fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0, 0, length, kind, flags, 0, 0, 0, 0], payload].concat()
}

#[test]
fn the_number_of_calls_is_found_however_it_is_cut() {
    let limits = frame(SETTINGS, 0, &[0, 1, 0, 0, 16, 0, 0, 3, 0, 0, 0, 2]);
    let said = [limits, frame(SETTINGS, ACK, &[]), frame(0, 0, &[0, 3, 0, 0, 0, 9])].concat();
    for size in 1..=said.len() {
        let mut settings = Settings::default();
        let found: Vec<_> = said.chunks(size).filter_map(|piece| settings.feed(piece)).collect();
        assert_eq!(found, [2], "{size}");
    }
}

#[test]
fn what_is_said_later_counts_and_what_is_not_said_stays() {
    let mut settings = Settings::default();
    assert_eq!(settings.feed(&frame(SETTINGS, 0, &[])), Some(u32::MAX));
    assert_eq!(settings.feed(&frame(SETTINGS, 0, &[0, 3, 0, 0, 0, 5])), Some(5));
    assert_eq!(settings.feed(&frame(SETTINGS, 0, &[0, 4, 0, 1, 0, 0])), None);
    let none = frame(SETTINGS, 0, &[0, 3, 0, 0, 0, 0]);
    assert_eq!(settings.feed(&none), Some(1));
    assert_eq!(Settings::default().feed(&none), Some(0));
}
