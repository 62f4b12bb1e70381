//! Tests of blocks: nothing is lost, whatever was joined.

use model::testkit;
use model::{Event, PartId, RunId};
use proptest::prelude::*;

use super::*;

fn json(envelopes: &[Envelope]) -> Vec<String> {
    envelopes.iter().map(|envelope| serde_json::to_string(envelope).unwrap()).collect()
}

fn same(envelopes: &[Arc<Envelope>]) {
    let back = unpack(&pack(envelopes)).unwrap();
    let before: Vec<Envelope> = envelopes.iter().map(|envelope| Envelope::clone(envelope)).collect();
    assert_eq!(json(&back), json(&before));
    assert_eq!(back, before);
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

/// Packs `history` in pieces, cut at `cuts`, and joins these.
fn joins(history: &[Arc<Envelope>], mut cuts: Vec<usize>) {
    cuts.retain(|cut| *cut < history.len());
    cuts.sort_unstable();
    let mut blocks = Vec::new();
    let mut begin = 0;
    for cut in cuts.into_iter().chain([history.len()]) {
        blocks.push(pack(&history[begin..cut]));
        begin = cut;
    }
    let joined = join(&blocks).unwrap();
    assert_eq!(joined.events, history.len() as u64);
    assert_eq!(String::from_utf8(joined.body), String::from_utf8(pack(history)));
}

fn delta(seq: u64, off: Option<u64>, text: &str) -> Envelope {
    let kind = Kind::PartDelta { part: PartId::new("p1"), off, text: text.into() };
    Envelope {
        event: Event::new(&RunId::new("r1"), kind),
        seq,
        at: 1_795_300_000_000 + seq * 20,
        producer_at: None,
        publisher: None,
        by_hub: false,
    }
}

fn lines(envelopes: Vec<Envelope>) -> usize {
    let envelopes: Vec<_> = envelopes.into_iter().map(Arc::new).collect();
    same(&envelopes);
    pack(&envelopes).split(|byte| *byte == b'\n').count() - 1
}

proptest! {
    #[test]
    fn what_is_packed_comes_back_byte_for_byte(history in testkit::history(0..100)) {
        same(&history);
    }

    #[test]
    fn any_cut_of_a_history_comes_back(history in testkit::history(1..80), at in 0_usize..80) {
        let (head, tail) = history.split_at(at.min(history.len()));
        same(head);
        same(tail);
    }

    #[test]
    fn any_publisher_and_any_clock_comes_back(
        history in testkit::history(1..60),
        more in proptest::collection::vec(
            (proptest::option::of(any::<u64>()), proptest::option::of("[ab]"), any::<u64>()), 60),
    ) {
        let told: Vec<_> = history.iter().zip(more).map(|(envelope, (producer_at, publisher, at))| {
            let mut envelope = Envelope::clone(envelope);
            envelope.producer_at = producer_at;
            envelope.publisher = publisher.map(|publisher| PublisherId::new(&publisher));
            envelope.at = at;
            Arc::new(envelope)
        }).collect();
        same(&told);
    }

    #[test]
    fn numbers_of_kinds_that_nobody_knows_keep_every_digit(number in any::<f64>()) {
        prop_assume!(number.is_finite());
        let line = format!(r#"{{"k":"later.kind","weight":{number:e},"seq":1,"at":5}}"#);
        same(&[Arc::new(Envelope::parse(&line).unwrap())]);
    }

    #[test]
    fn blocks_that_are_joined_are_as_if_their_events_had_been_packed_together(
        history in testkit::history(1..80),
        told in proptest::collection::vec(
            (proptest::option::of(0_u64..3), proptest::option::of("[ab]"), any::<bool>()), 80),
        cuts in proptest::collection::vec(0_usize..80, 0..5),
    ) {
        let history: Vec<_> = history.iter().zip(told).map(|(envelope, (producer_at, publisher, _))| {
            let mut envelope = Envelope::clone(envelope);
            envelope.producer_at = producer_at;
            envelope.publisher = publisher.map(|publisher| PublisherId::new(&publisher));
            Arc::new(envelope)
        }).collect();
        joins(&history, cuts);
    }

    #[test]
    fn a_text_of_any_deltas_is_joined_wherever_it_is_cut(
        texts in proptest::collection::vec("[aé漢]{0,3}", 1..30),
        has_offsets in any::<bool>(),
        cuts in proptest::collection::vec(0_usize..30, 0..5),
    ) {
        let mut off = 0;
        let deltas = texts.iter().zip(1..).map(|(text, seq)| {
            let delta = delta(seq, has_offsets.then_some(off), text);
            off += text.len() as u64;
            Arc::new(delta)
        });
        joins(&deltas.collect::<Vec<_>>(), cuts);
    }

    #[test]
    fn a_damaged_block_is_not_joined_to_something_else(
        history in testkit::history(1..30), at in any::<proptest::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut block = pack(&history);
        let at = at.index(block.len());
        block[at] = byte;
        let whole = pack(&[Arc::new(delta(1_000, None, "whole"))]);
        let told = unpack(&block);
        match (join(&[block, whole.clone()]), told) {
            (Ok(joined), Ok(mut told)) => {
                told.extend(unpack(&whole).unwrap());
                let mut back = unpack(&joined.body).unwrap();
                // A damaged seq may stand anywhere.
                told.sort_by_key(|envelope| envelope.seq);
                back.sort_by_key(|envelope| envelope.seq);
                assert_eq!(joined.events, told.len() as u64);
                assert_eq!(sorted(json(&back)), sorted(json(&told)));
            }
            (Err(_), Err(_)) => {}
            (joined, told) => panic!("{joined:?} of {told:?}"),
        }
    }

    #[test]
    fn garbage_is_refused_and_nothing_else_happens(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        drop(unpack(&bytes));
    }
}

#[test]
fn deltas_of_one_text_become_one_line_and_one_of_cuts() {
    assert_eq!(lines(vec![delta(1, Some(0), "Rev"), delta(2, Some(3), "enue"), delta(3, Some(7), "")]), 2);
    assert_eq!(lines(vec![delta(1, None, "Rev"), delta(2, None, "enue")]), 2);
}

#[test]
fn deltas_with_others_between_them_are_joined_all_the_same() {
    let mut other = delta(2, Some(0), "x");
    other.event.kind = Kind::Status { text: String::from("retrying") };
    assert_eq!(lines(vec![delta(1, Some(0), "é"), other, delta(3, Some(2), "漢")]), 3);
}

#[test]
fn what_cannot_be_told_apart_again_is_not_joined() {
    assert_eq!(lines(vec![delta(1, Some(0), "Rev"), delta(2, Some(9), "enue")]), 2);
    assert_eq!(lines(vec![delta(1, Some(0), "Rev"), delta(2, None, "enue")]), 2);
    assert_eq!(lines(vec![delta(1, None, "Rev"), delta(2, Some(3), "enue")]), 2);
    let mut told = delta(2, Some(3), "enue");
    told.producer_at = Some(7);
    assert_eq!(lines(vec![delta(1, Some(0), "Rev"), told]), 2);
    let mut far = delta(2, Some(3), "enue");
    far.at = u64::MAX;
    assert_eq!(lines(vec![delta(1, Some(0), "Rev"), far]), 2);
}

#[test]
fn cuts_that_do_not_fit_are_refused() {
    let line = serde_json::to_string(&delta(1, Some(0), "é and so on")).unwrap();
    for cuts in [
        "[]",
        "[1,2]",
        "[1,99,1]",
        "[1,-3,1]",
        "[1,11,1]",
        "[1,9223372036854775807,1,1,9223372036854775807,1,1,9,1]",
        "[-9,1,1]",
        "[1.5,1,1]",
        "[\"a\"]",
        "[",
    ] {
        let block = format!("{line}\n{cuts}\n");
        assert!(matches!(unpack(block.as_bytes()), Err(PackError::Cuts)), "{cuts}");
    }
}
