//! The time axis with the playhead. A press on the axis goes to that moment.
//!
//! ```text
//! 12:03:10 │ 0 s      10 s      20 s      30 s  ▏     the playhead stands at the right end while the page is live
//! ```

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, PointerEvent};

use super::Chart;
use crate::browser;
use crate::number::decimal;

/// The axis above the rows. A press or drag starts a replay at that moment and moves it; released at the end
/// of all events, it ends the replay.
#[component]
pub(super) fn Axis(chart: Chart) -> impl IntoView {
    let store = chart.store;
    let is_down = StoredValue::new(false);
    let scrub = move |event: &PointerEvent| {
        store.start_replay(Some(chart.moment_at(f64::from(event.client_x()))));
    };
    let press = move |event: PointerEvent| {
        if event.button() != 0 {
            return;
        }
        event.prevent_default();
        is_down.set_value(true);
        if let Some(axis) = event.current_target().and_then(|it| it.dyn_into::<Element>().ok()) {
            // Without pointer capture the drag only ends at the edge of the axis.
            drop(axis.set_pointer_capture(event.pointer_id()));
        }
        scrub(&event);
    };
    let drag = move |event: PointerEvent| {
        if is_down.get_value() {
            scrub(&event);
        }
    };
    let release = move |_| {
        is_down.set_value(false);
        // The right end of the axis is the present.
        let is_at_end = store.replay.told.with_untracked(|replay| {
            replay.as_ref().is_some_and(|it| it.at > 0 && it.at >= it.total && it.missing == 0 && !it.is_cut)
        });
        if is_at_end {
            store.end_replay();
        }
    };
    let ticks = move || {
        let ticks = chart.ticks().into_iter().map(|tick| {
            let left = format!("{}%", decimal(tick.at * 100.0));
            view! { <span class="tl-tick num" style:left=left>{tick.label}</span> }
        });
        ticks.collect_view()
    };
    let is_replaying = move || store.replay.is_on();
    view! {
        <div class="tl-top">
            <span class="tl-corner meta num">{move || at(chart)}</span>
            <div class="tl-axis" class:past=is_replaying data-t="timeline-axis" title="Drag to go back in time"
                on:pointerdown=press on:pointermove=drag
                on:pointerup=release
                on:pointercancel=move |_| is_down.set_value(false)>
                <div class="tl-ticks" aria-hidden="true">{ticks}</div>
                <i class="tl-grip" aria-hidden="true"></i>
            </div>
        </div>
    }
}

/// The time of the day of the moment that a replay shows; `None` while there is none, or if it has no times.
fn at(chart: Chart) -> Option<String> {
    let clock = chart.store.replay.told.with(|replay| replay.as_ref().and_then(|replay| replay.clock))?;
    Some(browser::time_of_day(clock))
}
