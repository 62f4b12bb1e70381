//! The box in which rows or lanes scroll, and what the pointer does in it: it moves along the time, zooms, and scrolls.

use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, PointerEvent, WheelEvent};

use super::Chart;
use crate::number::within;

/// How far the pointer must move before a press becomes a drag, in CSS pixels.
const DRAG_PX: f64 = 4.0;

/// A press of the pointer on the rows, in CSS pixels of the window; when it is a drag, the place of the last
/// move.
#[derive(Debug, Clone, Copy)]
pub(super) struct Press {
    x: f64,
    y: f64,
    /// Whether the pointer has moved by more than [`DRAG_PX`] since; a press that has not is a click.
    pub(super) is_drag: bool,
}

impl Press {
    /// The press of the first button; `None` for another.
    pub(super) fn of(event: &PointerEvent) -> Option<Self> {
        let (x, y) = (f64::from(event.client_x()), f64::from(event.client_y()));
        (event.button() == 0).then_some(Self { x, y, is_drag: false })
    }
}

/// The scroll position of the box, as signals, so that the visible rows follow from it.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    /// The box that scrolls.
    pub(super) element: NodeRef<html::Div>,
    /// How far the box is scrolled, in CSS pixels.
    pub(super) top: RwSignal<f64>,
    /// The height of the box, in CSS pixels.
    pub(super) height: RwSignal<f64>,
}

impl Frame {
    /// A frame that was not measured yet.
    pub(super) fn new() -> Self {
        Self { element: NodeRef::new(), top: RwSignal::new(0.0), height: RwSignal::new(120.0) }
    }

    /// Reads the scroll position. Does nothing after the timeline was closed.
    pub(super) fn look(self) {
        if self.top.try_get_untracked().is_none() {
            // The timeline was closed before the painting for which this waited.
            return;
        }
        let Some(element) = self.element.get_untracked() else { return };
        let (top, height) = (f64::from(element.scroll_top()), f64::from(element.client_height()));
        if (self.top.get_untracked() - top).abs() > 0.5 {
            self.top.set(top);
        }
        if (self.height.get_untracked() - height).abs() > 0.5 {
            self.height.set(height);
        }
    }

    /// Scrolls to `top`, in CSS pixels.
    pub(super) fn scroll_to(self, top: f64) {
        if self.top.try_get_untracked().is_none() {
            return;
        }
        if let Some(element) = self.element.get_untracked() {
            #[expect(clippy::cast_possible_truncation, reason = "pixels of a page")]
            element.set_scroll_top(top.round() as i32);
        }
        self.look();
    }
}

/// Zooms if Ctrl is pressed, otherwise moves along the time axis if the wheel turns sideways.
pub(super) fn wheel(chart: Chart, event: &WheelEvent) {
    if event.ctrl_key() || event.meta_key() {
        event.prevent_default();
        let whole = chart.whole.get_untracked();
        let (from, span) = chart.scale.get_untracked().window(whole);
        let place = chart
            .squeeze
            .with_untracked(|squeeze| squeeze.place(chart.moment_at(f64::from(event.client_x()))));
        let at = (crate::timeline::float(place) - from) / span.max(1e-6);
        let factor = (within(event.delta_y(), -200.0, 200.0) / 300.0).exp();
        chart.rescale(|scale, whole| scale.zoom(whole, within(at, 0.0, 1.0), factor));
    } else if event.delta_x().abs() > event.delta_y().abs() && !chart.scale.get_untracked().is_fit() {
        event.prevent_default();
        let by = event.delta_x() / chart.width.get_untracked().max(1.0);
        chart.rescale(|scale, whole| scale.pan(whole, by));
    }
}

/// Moves along the time axis and scrolls the rows with the pointer. Returns the press for the next move.
pub(super) fn drag(chart: Chart, frame: Frame, press: Press, event: &PointerEvent) -> Press {
    let (x, y) = (f64::from(event.client_x()), f64::from(event.client_y()));
    let is_new = !press.is_drag && (x - press.x).abs().max((y - press.y).abs()) > DRAG_PX;
    if event.pointer_type() == "touch" || (!press.is_drag && !is_new) {
        // The browser scrolls the rows for a finger.
        return press;
    }
    if is_new && let Some(element) = event.current_target().and_then(|it| it.dyn_into::<Element>().ok()) {
        // Without pointer capture the drag only ends at the edge.
        drop(element.set_pointer_capture(event.pointer_id()));
    }
    chart.rescale(|scale, whole| scale.pan(whole, (press.x - x) / chart.width.get_untracked().max(1.0)));
    frame.scroll_to(frame.top.get_untracked() + press.y - y);
    Press { x, y, is_drag: true }
}
