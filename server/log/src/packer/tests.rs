//! Tests of the choice of what is packed together.

use super::*;

/// Rows without a hole, the newest first, with these bytes.
fn rows(raw: &[u64]) -> Vec<Loose> {
    let row = |(place, raw): (usize, &u64)| {
        let seq = 1000 - place as u64;
        Loose { id: i64::try_from(seq).unwrap(), raw: *raw, bytes: *raw, first: seq, last: seq }
    };
    raw.iter().enumerate().map(row).collect()
}

fn chosen(raw: &[u64]) -> Vec<u64> {
    choose(&rows(raw)).iter().map(|row| row.raw).collect()
}

#[test]
fn small_neighbours_are_packed_and_a_large_one_before_them_stays() {
    assert_eq!(chosen(&[10, 12, 9, 400]), [10, 12, 9]);
    assert_eq!(chosen(&[10, 12, 9, 60]), [10, 12, 9, 60]);
}

#[test]
fn small_ones_before_a_full_one_are_found() {
    let full = BLOCK_BYTES as u64;
    assert_eq!(chosen(&[full, 10, 12, full]), [10, 12]);
    assert_eq!(chosen(&[full, full]).len(), 1);
    assert_eq!(chosen(&[full]).len(), 1);
    assert!(chosen(&[]).is_empty());
}

#[test]
fn nothing_is_packed_across_a_hole() {
    let mut rows = rows(&[10, 10, 10, 10]);
    rows[0].first += 1;
    rows[0].last += 1;
    assert_eq!(choose(&rows).iter().map(|row| row.id).collect::<Vec<_>>(), [999, 998, 997]);
}

#[test]
fn sizes_of_a_damaged_file_choose_nothing_and_are_no_panic() {
    let most = i64::MAX.unsigned_abs();
    assert_eq!(chosen(&[most, most, most]).len(), 1);
    let mut rows = rows(&[10, 10]);
    (rows[1].first, rows[1].last) = (u64::MAX, u64::MAX);
    assert_eq!(choose(&rows).len(), 1);
}
