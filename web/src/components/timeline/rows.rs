//! The rows of the timeline: the visible ones, moved and zoomed with the pointer and walked with the
//! keyboard.
//!
//! | input | does |
//! |---|---|
//! | wheel | scrolls the rows; sideways moves along the time axis; with Ctrl it zooms around the pointer |
//! | drag | moves along the axis and scrolls the rows; a finger scrolls only |
//! | double click | shows all of the time |
//! | click on a row | shows it in the conversation |
//! | ↑ ↓, Page Up, Page Down, Home, End | moves the focus among the rows |
//! | + - 0 | zooms in, out, shows all of the time |

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, KeyboardEvent};

use super::Chart;
use super::frame::{Frame, Press, drag, wheel};
use super::line::Line;
use crate::browser;
use crate::number::decimal;
use crate::timeline::visible;

/// The visible rows of the timeline, in a sheet that is as high as all of them. Rows beyond the box are not
/// in the document, so their number does not matter. One row at a time can be reached with the Tab key: the
/// active one.
#[component]
pub(super) fn Rows(chart: Chart) -> impl IntoView {
    let frame = Frame::new();
    let active = RwSignal::new(0_usize);
    let count = Memo::new(move |_| chart.rows.with(Vec::len));
    let range = Memo::new(move |_| visible(frame.top.get(), frame.height.get(), chart.row_px(), count.get()));
    let shown = move || {
        let range = range.get();
        chart.rows.with(|rows| {
            let numbered = rows.iter().enumerate().skip(range.start).take(range.len());
            numbered.map(|(at, row)| (at, row.clone())).collect::<Vec<_>>()
        })
    };
    stick(chart, frame, count);
    let pressed = StoredValue::new(None::<Press>);
    let dragged = StoredValue::new(false);
    let reveal = move |at: usize| {
        // The end of a drag is not a click.
        if !dragged.try_update_value(std::mem::take).unwrap_or(false)
            && let Some(row) = chart.rows.with_untracked(|rows| rows.get(at).cloned())
        {
            active.set(at);
            chart.store.reveal_row(&row.key);
        }
    };
    let height = move || {
        #[expect(clippy::cast_precision_loss, reason = "rows of a page")]
        let count = count.get() as f64;
        format!("{}px", decimal(count * chart.row_px()))
    };
    let key = move |event: KeyboardEvent| {
        if press_key(chart, frame, active, &event) {
            event.prevent_default();
            event.stop_propagation();
        }
    };
    view! {
        <div class="tl-rows" node_ref=frame.element data-t="timeline-rows" role="group" aria-label="Agents and steps"
            on:scroll=move |_| frame.look()
            on:keydown=key
            on:dblclick=move |_| chart.rescale(|scale, _| scale.fit())
            on:wheel=move |event| wheel(chart, &event)
            on:pointerdown=move |event| {
                dragged.set_value(false);
                pressed.set_value(Press::of(&event));
            }
            on:pointermove=move |event| if let Some(press) = pressed.get_value() {
                let next = drag(chart, frame, press, &event);
                dragged.set_value(next.is_drag);
                pressed.set_value(Some(next));
            }
            on:pointerup=move |_| pressed.set_value(None)
            on:pointercancel=move |_| pressed.set_value(None)>
            <div class="tl-sheet" style:height=height>
                <For each=shown key=|(at, row)| (*at, row.key.clone()) let:numbered>
                    <Line chart=chart at=numbered.0 row=numbered.1 active=active reveal=reveal />
                </For>
            </div>
            <div class="tl-head-line" aria-hidden="true"><div class="tl-clip"><i class="tl-playhead"></i></div></div>
        </div>
        {move || (count.get() == 0).then(|| view! { <p class="meta pad tl-none">"Nothing has happened yet"</p> })}
    }
}

/// Scrolls to new rows while a run is active and the end was visible, and measures the box again when the
/// drawer changes its height.
fn stick(chart: Chart, frame: Frame, count: Memo<usize>) {
    Effect::new(move |was: Option<usize>| {
        let count = count.get();
        let row = chart.row_px();
        #[expect(clippy::cast_precision_loss, reason = "rows of a page")]
        let px = move |rows: usize| rows as f64 * row;
        frame.look();
        let was_at_end =
            was.is_none_or(|was| frame.top.get_untracked() + frame.height.get_untracked() >= px(was) - row);
        if was_at_end && chart.store.reading.running.get_untracked() {
            browser::before_paint(move || frame.scroll_to(px(count)));
        }
        count
    });
    Effect::new(move |_| {
        chart.store.panel.drawer.track();
        chart.is_stacked.track();
        browser::before_paint(move || frame.look());
    });
}

/// Handles the keys that walk the rows and zoom. Returns whether the key was one of them.
fn press_key(chart: Chart, frame: Frame, active: RwSignal<usize>, event: &KeyboardEvent) -> bool {
    if event.ctrl_key() || event.meta_key() || event.alt_key() {
        return false;
    }
    let last = chart.rows.with_untracked(Vec::len).saturating_sub(1);
    let now = active.get_untracked().min(last);
    let next = match event.key().as_str() {
        "ArrowDown" => now.saturating_add(1).min(last),
        "ArrowUp" => now.saturating_sub(1),
        "PageDown" => now.saturating_add(8).min(last),
        "PageUp" => now.saturating_sub(8),
        "Home" => 0,
        "End" => last,
        key => return chart.zoom_key(key),
    };
    active.set(next);
    let row = chart.is_stacked.with_untracked(|is_stacked| if *is_stacked { 44.0 } else { 26.0 });
    #[expect(clippy::cast_precision_loss, reason = "rows of a page")]
    let top = next as f64 * row;
    let (from, height) = (frame.top.get_untracked(), frame.height.get_untracked());
    if top < from {
        frame.scroll_to(top);
    } else if top + row > from + height {
        frame.scroll_to(top + row - height);
    }
    browser::before_paint(move || {
        let wanted = format!("[data-at=\"{next}\"]");
        let element = frame.element.try_get_untracked().flatten();
        let found = element.and_then(|it| it.query_selector(&wanted).ok().flatten());
        if let Some(row) = found.and_then(|it| it.dyn_into::<HtmlElement>().ok()) {
            drop(row.focus());
        }
    });
    true
}
