//! Tests of the budget of raw events, with events of any size in any order.

use event_log::MemoryLog;
use model::fold::fold;
use model::{ConversationId, Envelope, Epoch};
use proptest::prelude::*;

use super::super::Conversation;
use super::*;
use crate::hub::Publication;

/// The greatest value that the tests send, in bytes.
const VALUE_BYTES_MAX: usize = 512 << 10;

/// A raw event of `run`, of this or a later version, with about `bytes` bytes.
fn raw(run: &str, bytes: usize, is_known: bool) -> Envelope {
    let value = "x".repeat(bytes);
    let line = if is_known {
        format!(r#"{{"k":"raw","run":"{run}","name":"odd","value":"{value}"}}"#)
    } else {
        format!(r#"{{"k":"later.kind","run":"{run}","value":"{value}"}}"#)
    };
    Envelope::received(&line).unwrap()
}

fn ends(run: &str) -> Envelope {
    Envelope::received(&format!(r#"{{"k":"run.end","run":"{run}","status":"complete"}}"#)).unwrap()
}

/// What a conversation has after `events`, one publication each, of which it forgot its spending before those of `forgets`.
fn logged(events: &[Envelope], forgets: &[usize]) -> (View, Vec<Envelope>) {
    let conversation = Conversation::new(ConversationId::parse("c").unwrap(), Epoch::new("e"));
    let log = MemoryLog::default();
    let mut kept = Vec::new();
    for (index, event) in events.iter().enumerate() {
        if forgets.contains(&index) {
            conversation.state.lock().raw_budgets = RawBudgets::default();
        }
        let head = conversation.head();
        conversation.append(&mut Publication::of(vec![event.clone()]), 1, &log, None).unwrap();
        let page = conversation.page(head, 10).unwrap();
        kept.extend(page.envelopes.iter().map(|envelope| Envelope::clone(envelope)));
    }
    (conversation.view(), kept)
}

/// The bytes of raw events among `events`.
fn raw_bytes_of(events: &[Envelope]) -> u64 {
    events.iter().filter_map(|envelope| raw_bytes(&envelope.event.kind)).sum()
}

/// The details of the anomalies `code` among `events`.
fn said(events: &[Envelope], code: AnomalyCode) -> Vec<&str> {
    let anomalies = events.iter().filter_map(|envelope| match &envelope.event.kind {
        Kind::Anomaly(anomaly) if anomaly.code == code => Some(anomaly.detail.as_str()),
        _ => None,
    });
    anomalies.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn i7_the_log_of_a_run_is_bounded_whatever_comes_raw_and_its_numbers_have_no_hole(
        sizes in prop::collection::vec((0..VALUE_BYTES_MAX, any::<bool>(), 0..4_usize), 1..120),
        forgets in prop::collection::vec(0..120_usize, 0..2),
    ) {
        let mut events: Vec<_> = sizes.iter().map(|(bytes, is_known, run)| raw(&format!("r{}", run / 3), *bytes, *is_known)).collect();
        events.extend([ends("r0"), ends("r1")]);
        let (view, kept) = logged(&events, &forgets);
        let seqs: Vec<_> = kept.iter().map(|envelope| envelope.seq).collect();
        prop_assert_eq!(seqs, (1..=view.seq).collect::<Vec<_>>());
        let mut again = View::default();
        for envelope in &kept {
            fold(&mut again, envelope, &mut |_| {});
        }
        prop_assert_eq!(&again, &view);
        for (run, of_run) in &view.runs {
            let of_it: Vec<_> = kept.iter().filter(|envelope| envelope.event.run == *run).cloned().collect();
            let lives = 2 + forgets.len() as u64;
            prop_assert!(raw_bytes_of(&of_it) <= lives * RAW_BYTES_PER_RUN_MAX + VALUE_BYTES_MAX as u64);
            prop_assert!(of_run.raw_bytes <= RAW_BYTES_PER_RUN_MAX + NOTE_BYTES_MAX as u64);
        }
    }
}

#[test]
fn i7_a_run_within_its_budget_is_logged_as_it_came() {
    let mut events: Vec<_> = (0..4).map(|_| raw("r", VALUE_BYTES_MAX - 16, true)).collect();
    events.push(ends("r"));
    let (_, kept) = logged(&events, &[]);
    let kinds = |events: &[Envelope]| events.iter().map(|it| it.event.kind.clone()).collect::<Vec<_>>();
    assert_eq!(kinds(&kept), kinds(&events));
}

#[test]
fn i7_what_is_left_out_is_counted_and_said_at_the_end_of_its_run_alone() {
    let short = 60_000;
    let mut events: Vec<_> = (0..40).map(|_| raw("r", short, true)).collect();
    events.extend([raw("other", short, true), ends("other"), ends("r"), raw("r", short, true)]);
    let (view, kept) = logged(&events, &[]);
    // 34 events hold more than 2 MiB in a view that 35 cross: 60,000 and two quotes each.
    let taken =
        kept.iter().filter(|it| raw_bytes(&it.event.kind).is_some() && it.event.run.as_str() == "r").count();
    let count = 40 - taken as u64;
    assert_eq!(taken, 35);
    let wanted = format!(
        "raw events of r over {RAW_BYTES_PER_RUN_MAX} bytes: {count} with {} bytes were left out",
        count * (short as u64 + 2)
    );
    assert_eq!(said(&kept, AnomalyCode::TooMany), [wanted.as_str()]);
    let noted = view.anomalies.first.iter().filter(|it| it.code == AnomalyCode::TooMany);
    let reached = format!("raw events of r over {RAW_BYTES_PER_RUN_MAX} bytes: later ones are left out");
    assert_eq!(noted.map(|it| it.detail.clone()).collect::<Vec<_>>(), [reached, wanted]);
}

#[test]
fn a_cut_event_is_kept_in_a_view_as_it_is() {
    let quotes = Envelope::received(&format!(
        r#"{{"k":"raw","run":"r","name":"odd","value":[{}0]}}"#,
        r#""","#.repeat(60_000)
    ));
    for whole in [raw("r", 200_000, true), raw("r", 200_000, false), quotes.unwrap()] {
        let mut cut = Envelope { seq: 1, ..whole };
        cut_raw(&mut cut.event);
        let bytes = raw_bytes(&cut.event.kind).unwrap();
        assert!((NOTE_BYTES_MAX as u64 / 2..=NOTE_BYTES_MAX as u64).contains(&bytes), "{bytes}");
        let mut view = View::default();
        fold(&mut view, &cut, &mut |_| {});
        assert_eq!(view.runs[0].raw_bytes, bytes);
    }
    let mut short = raw("r", 1_000, false);
    let before = short.clone();
    cut_raw(&mut short.event);
    assert_eq!(short, before);
}
