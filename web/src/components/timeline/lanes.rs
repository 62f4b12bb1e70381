//! The lanes of the timeline, drawn on a canvas by hand: a run with a thousand calls is as quickly drawn as the pixels that
//! show it. What the pointer or the keyboard chose is said in words beside the summary.
//!
//! | input | does |
//! |---|---|
//! | wheel, drag, double click, + - 0 | as in the rows |
//! | click on a step, Enter | shows it in the conversation |
//! | ← → | goes to the step before or after, of the same agent |
//! | ↑ ↓ | goes to the lane above or below |
//! | Shift and ← → | moves along the time |

use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{HtmlCanvasElement, KeyboardEvent, PointerEvent};

use super::Chart;
use super::frame::{Frame, Press, drag, wheel};
use super::paint::{Brush, fit_canvas};
use crate::number::decimal;
use crate::timeline::{self, Direction, HEAD_PX, Key, LANE_PX, LaneBox, LaneGroup, LaneStep, float};

/// How far beside a step the pointer still is on it, in CSS pixels.
const NEAR_PX: f64 = 2.0;

/// How far Shift with an arrow moves, as a part of the visible time.
const PAN: f64 = 0.25;

/// The lanes in a box that scrolls. The canvas is as large as the box and stays where it is; headings of agents stand on it.
#[component]
pub(super) fn LaneRows(chart: Chart) -> impl IntoView {
    let frame = Frame::new();
    let canvas = NodeRef::<html::Canvas>::new();
    let pressed = StoredValue::new(None::<Press>);
    draw_lanes(chart, frame, canvas);
    let at = move |event: &PointerEvent| step_at(chart, frame, canvas, event);
    let click = move |event: PointerEvent| {
        let was = pressed.try_update_value(Option::take).flatten();
        if was.is_some_and(|press| !press.is_drag)
            && let Some(key) = at(&event)
        {
            chart.chosen.set(Some(key.clone()));
            chart.store.reveal_row(&key);
        }
    };
    let moved = move |event: PointerEvent| {
        if let Some(press) = pressed.get_value() {
            pressed.set_value(Some(drag(chart, frame, press, &event)));
            return;
        }
        let found = at(&event);
        if chart.pointed.with_untracked(|pointed| *pointed != found) {
            chart.pointed.set(found);
        }
    };
    let height = move || format!("{}px", decimal(chart.lanes.with(timeline::Lanes::height)));
    let groups = Memo::new(move |_| {
        let heading = |group: &LaneGroup| (group.name.clone(), group.agents, group.depth, decimal(group.top));
        chart.lanes.with(|lanes| lanes.groups.iter().map(heading).collect::<Vec<_>>())
    });
    let headings = move || {
        let heading = |(name, agents, depth, top): (String, usize, usize, String)| {
            let indent = format!("{}px", depth.min(6).saturating_mul(14).saturating_add(12));
            let times = (agents > 1).then(|| format!(" × {agents}"));
            view! { <span class="tl-group" data-t="timeline-group" style:top=format!("{top}px") style:padding-left=indent>{name} <span class="meta num">{times}</span></span> }
        };
        groups.get().into_iter().map(heading).collect_view()
    };
    let key = move |event: KeyboardEvent| {
        if press_key(chart, frame, &event) {
            event.prevent_default();
            event.stop_propagation();
        }
    };
    view! {
        <div class="tl-rows tl-lanes" node_ref=frame.element data-t="timeline-lanes" role="group" tabindex="0"
            aria-label="Steps by agent. Arrows choose a step, Enter shows it in the conversation."
            on:scroll=move |_| frame.look() on:keydown=key
            on:dblclick=move |_| chart.rescale(|scale, _| scale.fit())
            on:wheel=move |event| wheel(chart, &event)
            on:pointerdown=move |event| pressed.set_value(Press::of(&event))
            on:pointermove=moved on:pointerup=click
            on:pointercancel=move |_| pressed.set_value(None)
            on:pointerleave=move |_| chart.pointed.set(None)>
            <div class="tl-sheet" style:height=height>
                <canvas class="tl-canvas" node_ref=canvas aria-hidden="true"></canvas>
                {headings}
            </div>
            <div class="tl-head-line" aria-hidden="true"><div class="tl-clip"><i class="tl-playhead"></i></div></div>
        </div>
        {move || (chart.lanes.with(|lanes| lanes.groups.is_empty())).then(|| view! { <p class="meta pad tl-none">"Nothing has happened yet"</p> })}
    }
}

/// Draws the lanes whenever time has moved, or what is seen of them has.
fn draw_lanes(chart: Chart, frame: Frame, canvas: NodeRef<html::Canvas>) {
    Effect::new(move |_| {
        chart.tick.track();
        chart.width.track();
        chart.store.panel.drawer.track();
        frame.look();
        let (window, chosen) = (chart.window(), chart.chosen.get());
        let (Some(canvas), top, height) = (canvas.get(), frame.top.get(), frame.height.get()) else { return };
        let (width, now) = (canvas_width(&canvas), chart.store.moment());
        let area = LaneBox { width, height, top, window, now };
        let picture = chart.summary.with(|summary| {
            let is_critical =
                |key: &Key| summary.as_ref().is_some_and(|(_, summary)| summary.path.contains(key));
            chart.lanes.with(|lanes| {
                chart.squeeze.with(|squeeze| {
                    chart.store.reading.view(|view| {
                        timeline::picture(lanes, &area, squeeze, is_critical, chosen.as_ref(), |key| {
                            timeline::name(view, key)
                        })
                    })
                })
            })
        });
        let Some(context) = fit_canvas(&canvas, width, height) else { return };
        let mut brush = Brush::new(chart, &context);
        picture.marks.iter().for_each(|mark| brush.mark(mark));
        picture.labels.iter().for_each(|label| brush.label(label));
        // Said to whoever looks at the page from outside: the canvas says nothing itself.
        drop(canvas.set_attribute("data-steps", &picture.steps.to_string()));
        drop(canvas.set_attribute("data-marks", &picture.marks.len().to_string()));
    });
}

/// The width of the canvas in CSS pixels.
fn canvas_width(canvas: &HtmlCanvasElement) -> f64 {
    canvas.get_bounding_client_rect().width()
}

/// The step under the pointer.
fn step_at(chart: Chart, frame: Frame, canvas: NodeRef<html::Canvas>, event: &PointerEvent) -> Option<Key> {
    let area = canvas.get_untracked()?.get_bounding_client_rect();
    let (x, y) =
        (f64::from(event.client_x()), f64::from(event.client_y()) - area.top() + frame.top.get_untracked());
    let (from, to) = (chart.moment_at(x - NEAR_PX), chart.moment_at(x + NEAR_PX));
    chart.lanes.with_untracked(|lanes| lanes.hit(y, from, to).map(|step| step.key.clone()))
}

/// Handles the keys that choose steps and move along the time. Returns whether the key was one of them.
fn press_key(chart: Chart, frame: Frame, event: &KeyboardEvent) -> bool {
    if event.ctrl_key() || event.meta_key() || event.alt_key() {
        return false;
    }
    let way = match event.key().as_str() {
        "ArrowLeft" if event.shift_key() => return pan(chart, -PAN),
        "ArrowRight" if event.shift_key() => return pan(chart, PAN),
        "ArrowLeft" => Direction::Earlier,
        "ArrowRight" => Direction::Later,
        "ArrowUp" => Direction::Up,
        "ArrowDown" => Direction::Down,
        "Enter" => {
            let chosen = chart.chosen.get_untracked();
            if let Some(key) = &chosen {
                chart.store.reveal_row(key);
            }
            return chosen.is_some();
        }
        key => return chart.zoom_key(key),
    };
    let chosen = chart.chosen.get_untracked();
    let found = chart.lanes.with_untracked(|lanes| {
        let step = lanes.step(chosen.as_ref(), way)?;
        let top = lanes
            .groups
            .iter()
            .find(|group| group.steps.iter().any(|it| std::ptr::eq(it, step)))?
            .lane_top(step.lane);
        Some((step.clone(), top))
    });
    if let Some((step, top)) = found {
        bring(chart, frame, &step, top);
        chart.chosen.set(Some(step.key));
    }
    true
}

/// Moves along the time.
fn pan(chart: Chart, by: f64) -> bool {
    chart.rescale(|scale, whole| scale.pan(whole, by));
    true
}

/// Scrolls to the lane at `top`, and moves along the time to a step that is out of sight.
fn bring(chart: Chart, frame: Frame, step: &LaneStep, top: f64) {
    let (from, height) = (frame.top.get_untracked(), frame.height.get_untracked());
    if top - HEAD_PX < from {
        frame.scroll_to(top - HEAD_PX);
    } else if top + LANE_PX > from + height {
        frame.scroll_to(top + LANE_PX - height);
    }
    let place = chart.squeeze.with_untracked(|squeeze| squeeze.place(step.span().0));
    let (begin, span) = chart.window_untracked();
    if float(place) < begin || float(place) > begin + span {
        chart.rescale(|scale, whole| scale.center(whole, place));
    }
}

/// The canvas of a pointer event.
pub(super) fn canvas_of(event: &PointerEvent) -> Option<HtmlCanvasElement> {
    event.current_target()?.dyn_into().ok()
}
