//! Tests of unfolding: folding what it gives is the same view again.

use std::sync::Arc;

use proptest::prelude::*;

use super::unfold;
use crate::envelope::Envelope;
use crate::event::Kind;
use crate::fold::fold;
use crate::testkit::history;
use crate::view::View;

fn folded_again(view: &View) -> View {
    let mut again = View::default();
    for envelope in unfold(view) {
        fold(&mut again, &envelope, &mut |_change| {});
    }
    again
}

/// Oddities are told in another order.
fn sorted(mut view: View) -> View {
    view.anomalies.first.sort_by_key(|anomaly| format!("{anomaly:?}"));
    view
}

/// The view of `history` without what no list of events that is in order can say: what began only after the end of its
/// run, a second end, and a run that goes on after its end.
fn view_of(history: &[Arc<Envelope>]) -> View {
    let mut view = View::default();
    for envelope in history {
        let mut next = view.clone();
        fold(&mut next, envelope, &mut |_change| {});
        let run = &envelope.event.run;
        let items = |view: &View| view.runs.get(run).map_or(0, |run| run.items.len());
        let is_over = view.runs.get(run).is_some_and(|run| !run.is_running());
        // What a run that goes on after its end had open at that end stands in no view.
        let ends_again = is_over && matches!(envelope.event.kind, Kind::RunEnd(_) | Kind::RunStart(_));
        if !ends_again && (!is_over || items(&next) == items(&view)) {
            view = next;
        }
    }
    view
}

proptest! {
    #[test]
    fn what_is_unfolded_folds_to_the_same_view(history in history(1..60)) {
        let view = view_of(&history);
        prop_assume!(view.anomalies.total == view.anomalies.first.len() as u64);
        let again = folded_again(&view);
        prop_assert_eq!(sorted(again), sorted(view.clone()), "{}", print(&view));
    }
}

fn print(view: &View) -> String {
    unfold(view)
        .iter()
        .map(|envelope| serde_json::to_string(envelope).unwrap())
        .collect::<Vec<_>>()
        .join("\n")
}
