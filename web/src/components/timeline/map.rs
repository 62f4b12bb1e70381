//! The map above the lanes: all of the time, with the part that the lanes show. A drag chooses a part; a click moves the
//! part there.

use leptos::html;
use leptos::prelude::*;
use web_sys::PointerEvent;

use super::Chart;
use super::lanes::canvas_of;
use super::paint::{Brush, fit_canvas};
use crate::number::within;
use crate::timeline::{self, Scale, float};

/// The height of the map in CSS pixels; the styles have the same.
const HIGH_PX: f64 = 22.0;

/// How far the pointer must move before a press chooses a part, in CSS pixels.
const DRAG_PX: f64 = 4.0;

/// The map. Everything that it does the keyboard does in the lanes.
#[component]
pub(super) fn TimeMap(chart: Chart) -> impl IntoView {
    let canvas = NodeRef::<html::Canvas>::new();
    // Where the press began, from 0 to 1.
    let pressed = StoredValue::new(None::<(f64, f64)>);
    Effect::new(move |_| {
        chart.tick.track();
        let (width, window, whole) = (chart.width.get(), chart.window(), chart.whole.get());
        let Some(canvas) = canvas.get() else { return };
        let Some(context) = fit_canvas(&canvas, width, HIGH_PX) else { return };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "pixels of a screen")]
        let columns = width.max(1.0) as usize;
        let now = chart.store.moment();
        let map = chart
            .lanes
            .with(|lanes| chart.squeeze.with(|squeeze| timeline::map(lanes, squeeze, whole, columns, now)));
        let mut brush = Brush::new(chart, &context);
        let mut from = 0.0;
        for stretch in map.chunk_by(|a, b| a == b) {
            #[expect(clippy::cast_precision_loss, reason = "pixels of a screen")]
            let wide = stretch.len() as f64;
            if let Some(Some(work)) = stretch.first() {
                brush.stretch(from, wide, 5.0, HIGH_PX - 10.0, *work);
            }
            from += wide;
        }
        let place = |at: f64| within(at / float(whole.max(1)) * width, 0.0, width);
        brush.shade(place(window.0), place(window.0 + window.1).max(place(window.0) + 2.0), width, HIGH_PX);
    });
    let press = move |event: PointerEvent| {
        if event.button() == 0
            && let Some((at, x)) = place_of(&event)
        {
            event.prevent_default();
            pressed.set_value(Some((at, x)));
            if let Some(canvas) = canvas_of(&event) {
                // Without pointer capture the drag ends at the edge.
                drop(canvas.set_pointer_capture(event.pointer_id()));
            }
        }
    };
    let moved = move |event: PointerEvent| {
        if let (Some((began, from)), Some((at, x))) = (pressed.get_value(), place_of(&event))
            && (x - from).abs() > DRAG_PX
        {
            let place = |at: f64| Scale::default().place(chart.whole.get_untracked(), at);
            let (from, to) = (place(began.min(at)), place(began.max(at)));
            chart.rescale(|scale, whole| scale.show(whole, from, Some(to)));
        }
    };
    let release = move |event: PointerEvent| {
        let was = pressed.try_update_value(Option::take).flatten();
        if let (Some((_, from)), Some((at, x))) = (was, place_of(&event))
            && (x - from).abs() <= DRAG_PX
        {
            let place = Scale::default().place(chart.whole.get_untracked(), at);
            chart.rescale(|scale, whole| scale.center(whole, place));
        }
    };
    view! {
        <canvas class="tl-map" node_ref=canvas data-t="timeline-map" aria-hidden="true" title="Drag to choose a part of the time"
            on:pointerdown=press on:pointermove=moved on:pointerup=release
            on:pointercancel=move |_| pressed.set_value(None)></canvas>
    }
}

/// Where on the map the pointer is: from 0 to 1, and in CSS pixels.
fn place_of(event: &PointerEvent) -> Option<(f64, f64)> {
    let area = canvas_of(event)?.get_bounding_client_rect();
    let x = f64::from(event.client_x()) - area.left();
    Some((within(x / area.width().max(1.0), 0.0, 1.0), x))
}
