//! The law of conflation: joined or not, the view is the same.

use proptest::prelude::*;

use super::*;
use crate::snapshot;
use crate::testkit::{folded, history, logged};
use crate::view::View;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// A random schedule of lag: the viewer takes what waits at random moments. It ends with the view of all events.
    #[test]
    fn i5_conflated_stream_folds_to_the_same_view(
        history in history(1..150),
        cuts in proptest::collection::vec(1_usize..40, 1..30),
    ) {
        let mut view = View::default();
        let (mut rest, mut cuts) = (history.as_slice(), cuts.iter().cycle());
        while !rest.is_empty() {
            let (now, later) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
            for envelope in conflate(now) {
                crate::fold::fold(&mut view, &envelope, &mut |_| {});
            }
            view.seq = now.last().unwrap().seq;
            rest = later;
        }
        let whole = folded(&history);
        prop_assert_eq!(snapshot::encode(&view), snapshot::encode(&whole));
    }
}

#[test]
fn deltas_of_two_texts_that_alternate_become_two() {
    let events = (0..20).map(|number| {
        let part = if number % 2 == 0 { "p1" } else { "p2" };
        let line = format!("{{\"k\":\"part.delta\",\"run\":\"r\",\"part\":\"{part}\",\"text\":\"x\"}}");
        crate::event::parse_event(&line).unwrap()
    });
    let conflated = conflate(&logged(events.collect()));
    assert_eq!(conflated.len(), 2);
    assert_eq!(conflated[0].seq, 1);
    assert!(matches!(&conflated[1].event.kind, Kind::PartDelta { text, .. } if text == "xxxxxxxxxx"));
}
