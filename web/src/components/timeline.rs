//! The timeline below the conversation: agents, calls and model steps, in lanes that are packed per agent, or as a waterfall
//! with a row for each step.
//!
//! Three CSS variables on the root place all bars: the beginning and the length of the visible part, and the
//! present. They are written four times a second; no row is updated for it. Only visible rows are in the
//! document.
//!
//! `axis` is the time axis, `rows` the visible rows, `line` one row; `lanes` and `map` are painted by hand (`paint`), `strip`
//! sums up the run in view; `frame` is the box that scrolls.
//!
//! ```text
//! every 250 ms ─▶ read, if events have come: rows or lanes
//!              ─▶ measure: the width, whether rows are stacked
//!              ─▶ place: --from, --span, --now on the root        (no row is touched)
//! pointer, keys ─▶ rescale ─▶ the same three variables
//! ```

use std::time::Duration;

use leptos::html;
use leptos::prelude::*;
use model::RunId;
use wasm_bindgen::JsCast;

use super::icon::icon;
use crate::browser;
use crate::format;
use crate::modules::{self, from_module};
use crate::number::decimal;
use crate::page_modules::PageModule;
use crate::store::{Store, use_store};
use crate::timeline::{self, Drawer, Extent, Key, Lanes, Row, Scale, Squeeze, Summary, Tick, float};

mod axis;
mod frame;
mod lanes;
mod line;
mod map;
mod paint;
mod rows;
mod strip;

use axis::Axis;
use lanes::LaneRows;
use map::TimeMap;
use rows::Rows;
use strip::Strip;

/// The time between two beats of the timeline, in milliseconds.
const BEAT_MS: u64 = 250;

/// The factor of one zoom step.
const ZOOM: f64 = 0.5;

/// The timeline, if it is open. Its height is kept in the address. The module that draws it is fetched when
/// it is first opened.
#[component]
pub(crate) fn Timeline() -> impl IntoView {
    let store = use_store();
    let is_open = Memo::new(move |_| store.panel.drawer.get() != Drawer::Closed);
    move || is_open.get().then(|| from_module(PageModule::Timeline, modules::timeline))
}

/// The state that the parts of an open timeline share. A handle; it lives as long as the timeline is open.
#[derive(Clone, Copy)]
struct Chart {
    /// The store whose view is drawn.
    store: Store,
    /// The element with the CSS variables.
    root: NodeRef<html::Section>,
    /// The rows as of the last beat.
    rows: RwSignal<Vec<Row>, LocalStorage>,
    /// The lanes as of the last beat.
    lanes: RwSignal<Lanes, LocalStorage>,
    /// The run in view, summed up.
    summary: RwSignal<Option<(RunId, Summary)>, LocalStorage>,
    /// Whether the visible part of time is that of the run in view, whichever that is.
    fits_run: RwSignal<bool>,
    /// The step that the reader chose in the lanes.
    chosen: RwSignal<Option<Key>>,
    /// The step under the pointer.
    pointed: RwSignal<Option<Key>>,
    /// The number of beats at which something had changed.
    beat: RwSignal<u32>,
    /// The number of beats at which something had changed or time has moved.
    tick: RwSignal<u32>,
    /// The length of the whole timeline as drawn, in milliseconds.
    whole: RwSignal<u64>,
    /// The visible part of time.
    scale: RwSignal<Scale>,
    /// The pauses that are left out of the drawing.
    squeeze: RwSignal<Squeeze>,
    /// Whether pauses are left out.
    is_squeezed: RwSignal<bool>,
    /// The width of the bars' area in CSS pixels.
    width: RwSignal<f64>,
    /// Whether names are above their bars instead of beside them.
    is_stacked: RwSignal<bool>,
}

impl Chart {
    fn new(store: Store) -> Self {
        Self {
            store,
            root: NodeRef::new(),
            rows: RwSignal::new_local(Vec::new()),
            lanes: RwSignal::new_local(Lanes::default()),
            summary: RwSignal::new_local(None),
            fits_run: RwSignal::new(store.panel.drawer.get_untracked() == Drawer::Lanes),
            chosen: RwSignal::new(None),
            pointed: RwSignal::new(None),
            beat: RwSignal::new(0),
            tick: RwSignal::new(0),
            whole: RwSignal::new(1),
            scale: RwSignal::new(Scale::default()),
            squeeze: RwSignal::new(Squeeze::default()),
            is_squeezed: RwSignal::new(false),
            width: RwSignal::new(800.0),
            is_stacked: RwSignal::new(false),
        }
    }

    /// The height of a row in CSS pixels; the styles have the same. Tracks whether rows are stacked.
    fn row_px(self) -> f64 {
        if self.is_stacked.get() { 44.0 } else { 26.0 }
    }

    /// Whether the steps are shown in lanes.
    fn is_in_lanes(self) -> bool {
        self.store.panel.drawer.get_untracked() == Drawer::Lanes
    }

    /// Reads the rows or the lanes from the view: those of one agent if the reader chose one. Called at a beat if events
    /// have come since.
    fn read(self) {
        let only = self.store.reading.only.get_untracked();
        if self.is_in_lanes() {
            self.lanes.set(self.store.reading.view(|view| Lanes::of(view, only.as_ref())));
        } else {
            self.rows.set(self.store.reading.view(|view| timeline::rows(view, only.as_ref())));
        }
        self.beat.update(|beat| *beat = beat.wrapping_add(1));
    }

    /// Sums up the run in view, and fits the visible part of time to it if that is wanted.
    fn sum_up(self) {
        let now = self.store.moment();
        let found = self.store.reading.view(|view| {
            let run = strip::run_in_view(self.store, view)?;
            let summary = self.lanes.with_untracked(|lanes| timeline::summary(view, lanes, &run, now))?;
            let end = view.runs.get(&run).filter(|it| !it.is_running()).map(|_| summary.span.1);
            Some((run, summary, end))
        });
        if self.fits_run.get_untracked()
            && let Some((_, summary, end)) = &found
        {
            let (from, to) = self
                .squeeze
                .with_untracked(|squeeze| (squeeze.place(summary.span.0), end.map(|end| squeeze.place(end))));
            let mut scale = self.scale.get_untracked();
            scale.show(self.whole.get_untracked(), from, to);
            if scale != self.scale.get_untracked() {
                self.scale.set(scale);
                self.write(now);
            }
        }
        let summary = found.map(|(run, summary, _)| (run, summary));
        if self.summary.with_untracked(|old| *old != summary) {
            self.summary.set(summary);
        }
    }

    /// Advances time: computes how long the timeline is and which pauses are left out, and writes the CSS
    /// variables.
    fn place(self) {
        let now = self.store.moment();
        let extent = self.store.extent(now).unwrap_or(Extent { from: now, to: now.saturating_add(1) });
        let squeeze = if self.is_squeezed.get_untracked() {
            self.store.reading.view(|view| Squeeze::of(view, now))
        } else {
            Squeeze::none(extent.from)
        };
        let whole = squeeze.place(extent.to).max(1);
        if self.squeeze.with_untracked(|old| *old != squeeze) {
            self.squeeze.set(squeeze);
        }
        if self.whole.get_untracked() != whole {
            self.whole.set(whole);
        }
        self.write(now);
    }

    /// Writes the CSS variables for the present `now`, in milliseconds since 1970.
    fn write(self, now: u64) {
        let Some(root) = self.root.get_untracked() else { return };
        let (from, span) = self.window_untracked();
        let now = self.squeeze.with_untracked(|squeeze| squeeze.place(now));
        let style = root.unchecked_ref::<web_sys::HtmlElement>().style();
        for (name, value) in [("--from", from), ("--span", span), ("--now", float(now))] {
            drop(style.set_property(name, &decimal(value)));
        }
    }

    /// The visible part of time: its beginning and its length, in milliseconds of the time line.
    fn window(self) -> (f64, f64) {
        self.scale.get().window(self.whole.get())
    }

    /// The visible part of time, as [`Self::window`] gives it, untracked.
    fn window_untracked(self) -> (f64, f64) {
        self.scale.get_untracked().window(self.whole.get_untracked())
    }

    /// Handles the keys that zoom. Returns whether the key was one of them.
    fn zoom_key(self, key: &str) -> bool {
        match key {
            "+" | "=" => self.rescale(|scale, whole| scale.zoom(whole, 0.5, ZOOM)),
            "-" => self.rescale(|scale, whole| scale.zoom(whole, 0.5, 1.0 / ZOOM)),
            "0" => self.rescale(|scale, _| scale.fit()),
            _ => return false,
        }
        true
    }

    /// Changes the visible part of time as the reader wants it, who then sees that part and not the run in view. `change` gets the scale and the length of the whole, in
    /// milliseconds.
    fn rescale(self, change: impl FnOnce(&mut Scale, u64)) {
        let whole = self.whole.get_untracked();
        self.fits_run.set(false);
        self.scale.update(|scale| change(scale, whole));
        self.write(self.store.moment());
    }

    /// Measures the width of the chart, in which the ticks must fit, and whether the page is so narrow that
    /// rows are stacked.
    fn measure(self) {
        let is_stacked = browser::width() < 800.0;
        if self.is_stacked.get_untracked() != is_stacked {
            self.is_stacked.set(is_stacked);
        }
        let Some(root) = self.root.get_untracked() else { return };
        let axis = root.query_selector(".tl-axis").ok().flatten();
        let width = axis.map_or(800.0, |axis| axis.get_bounding_client_rect().width());
        if (self.width.get_untracked() - width).abs() > 0.5 {
            self.width.set(width);
        }
    }

    /// The moment at the x coordinate `x` of the window, in milliseconds since 1970. Pauses that are left out
    /// are counted in.
    fn moment_at(self, x: f64) -> u64 {
        let axis = self.root.get_untracked().and_then(|root| root.query_selector(".tl-axis").ok().flatten());
        let at = axis.map_or(1.0, |axis| {
            let area = axis.get_bounding_client_rect();
            (x - area.left()) / area.width().max(1.0)
        });
        let place = self.scale.get_untracked().place(self.whole.get_untracked(), at);
        self.squeeze.with_untracked(|squeeze| squeeze.moment(place))
    }

    /// The ticks of the axis.
    fn ticks(self) -> Vec<Tick> {
        let (from, span) = self.window();
        timeline::ticks(from, span, self.width.get())
    }
}

/// The open timeline. It is drawn at each beat ([`BEAT_MS`]), and at once for another conversation, agent or
/// moment. The beats end when it is closed.
#[component]
pub(crate) fn OpenTimeline() -> impl IntoView {
    let store = use_store();
    let chart = Chart::new(store);
    let seen = StoredValue::new(None::<(u64, u32)>);
    let beat = move || {
        let stand = (store.reading.seq.get_untracked(), store.reading.recordings.get_untracked());
        let is_new = seen.get_value() != Some(stand);
        if is_new {
            seen.set_value(Some(stand));
            chart.read();
        }
        chart.measure();
        chart.place();
        if chart.is_in_lanes() {
            chart.sum_up();
        }
        if is_new || store.reading.running.get_untracked() {
            chart.tick.update(|tick| *tick = tick.wrapping_add(1));
        }
    };
    Effect::new(move |_| {
        // A change of the conversation, of how much of it is here, of the agent or the moment is drawn at once, not at the next beat.
        store.reading.conversation.track();
        store.reading.recordings.track();
        store.reading.part.track();
        store.reading.only.track();
        store.panel.drawer.track();
        store.replay.told.with(|replay| replay.as_ref().map(|replay| replay.at));
        chart.root.track();
        chart.is_squeezed.track();
        seen.set_value(None);
        untrack(beat);
    });
    Effect::new(move |_| {
        // The steps of another conversation are others.
        store.reading.conversation.track();
        chart.chosen.set(None);
        chart.pointed.set(None);
        chart.fits_run.set(chart.is_in_lanes());
    });
    if let Ok(handle) = set_interval_with_handle(beat, Duration::from_millis(BEAT_MS)) {
        on_cleanup(move || handle.clear());
    }
    let draw = draw_for_other_looks(chart, beat);
    // One attribute for all classes: setting it as a whole would remove classes that were added separately.
    let class = move || match (store.panel.drawer.get(), chart.is_stacked.get()) {
        (Drawer::Lanes, true) => "drawer lanes stacked",
        (Drawer::Lanes, false) => "drawer lanes",
        (Drawer::Tall, true) => "drawer tall stacked",
        (Drawer::Tall, false) => "drawer tall",
        (_, true) => "drawer stacked",
        (_, false) => "drawer",
    };
    let is_in_lanes = Memo::new(move |_| store.panel.drawer.get() == Drawer::Lanes);
    view! {
        <section class=class node_ref=chart.root data-t="timeline"
            aria-label="Timeline" on:transitionend=move |_| draw()>
            <Head chart=chart is_in_lanes=is_in_lanes />
            {move || is_in_lanes.get().then(|| view! { <Strip chart=chart /> <TimeMap chart=chart /> })}
            <Axis chart=chart />
            {move || if is_in_lanes.get() {
                view! { <LaneRows chart=chart /> }.into_any()
            } else {
                view! { <Rows chart=chart /> }.into_any()
            }}
        </section>
    }
}

/// Draws the timeline at once when the window gets another size or the page other colours: a canvas keeps what was painted on it.
/// Returns what is to be called when a colour of the timeline has changed.
fn draw_for_other_looks(chart: Chart, beat: impl Fn() + Copy + Send + Sync + 'static) -> impl Fn() + Copy {
    let draw = move || {
        // The timeline may have been closed since.
        if chart.tick.try_get_untracked().is_some() {
            beat();
            chart.tick.update(|tick| *tick = tick.wrapping_add(1));
        }
    };
    let resized = window_event_listener(leptos::ev::resize, move |_| {
        draw();
        // A narrower window can stack the rows, which moves what is measured.
        browser::before_paint(draw);
    });
    on_cleanup(move || resized.remove());
    draw
}

/// The title, the number of rows or steps, the legend, and the commands: leave out pauses, replay, follow, fit, zoom, form,
/// height, close.
#[component]
fn Head(chart: Chart, is_in_lanes: Memo<bool>) -> impl IntoView {
    let store = chart.store;
    let count = move || {
        if is_in_lanes.get() {
            format::counted(chart.lanes.with(Lanes::count), "step")
        } else {
            format::counted(chart.rows.with(Vec::len), "row")
        }
    };
    let gaps = Memo::new(move |_| {
        chart.beat.track();
        store.reading.view(|view| Squeeze::of(view, store.moment()).gaps())
    });
    let squeeze = move || {
        (gaps.get() > 0).then(|| {
            let label = format!("Skip {}", format::counted(gaps.get(), "pause"));
            view! {
                <button type="button" class="plain" aria-pressed=move || chart.is_squeezed.get().to_string()
                    title="Leave out the time between runs"
                    on:click=move |_| chart.is_squeezed.update(|on| *on = !*on)>{label}</button>
            }
        })
    };
    let follow = move |_| {
        chart.rescale(|scale, whole| if scale.follows() { scale.fit() } else { scale.follow(whole) });
    };
    let form =
        move |_| store.set_drawer(if is_in_lanes.get_untracked() { Drawer::Tall } else { Drawer::Lanes });
    let form_hint = move || if is_in_lanes.get() { "A row for each step" } else { "Lanes, packed per agent" };
    let zoom = move |factor: f64| chart.rescale(|scale, whole| scale.zoom(whole, 0.5, factor));
    let resize = move |_| store.set_drawer(store.panel.drawer.get_untracked().resized());
    let size_name = move || if store.panel.drawer.get() == Drawer::Tall { "Fewer rows" } else { "More rows" };
    let size_icon = move || if store.panel.drawer.get() == Drawer::Tall { "#down" } else { "#up" };
    view! {
        <div class="tl-head">
            <h2>"Timeline"</h2>
            <span class="meta num hide">{count}</span>
            <span class="tl-legend meta hide" aria-hidden="true">
                <i class="tl-key hatched"></i>"model" <i class="tl-key solid"></i>"tool" <i class="tl-key outline"></i>"waiting"
            </span>
            <span class="grow"></span>
            {squeeze}
            <button type="button" class="plain" data-t="replay-start" title="Replay (p)"
                disabled=move || store.replay.is_on()
                on:click=move |_| store.start_replay(None)>{icon("#play", "")} "Replay"</button>
            <button type="button" class="plain" data-t="timeline-follow" title="Follow the present"
                aria-pressed=move || chart.scale.with(|scale| scale.follows()).to_string() on:click=follow>"Follow"</button>
            {move || is_in_lanes.get().then(|| view! {
                <button type="button" class="plain" data-t="timeline-fit-run" title="Fit to the run in view"
                    aria-pressed=move || chart.fits_run.get().to_string()
                    on:click=move |_| { chart.fits_run.set(true); chart.sum_up(); }>"Fit run"</button>
            })}
            <button type="button" class="plain" title="Everything (0)" data-t="timeline-fit"
                disabled=move || chart.scale.with(|scale| scale.is_fit())
                on:click=move |_| chart.rescale(|scale, _| scale.fit())>"Fit"</button>
            <button type="button" class="icon" aria-label="Zoom out" title="Zoom out (−)"
                on:click=move |_| zoom(1.0 / ZOOM)>{icon("#minus", "")}</button>
            <button type="button" class="icon" aria-label="Zoom in" title="Zoom in (+)"
                on:click=move |_| zoom(ZOOM)>{icon("#plus", "")}</button>
            <button type="button" class="plain" data-t="timeline-form" title=form_hint on:click=form>
                {move || if is_in_lanes.get() { "Rows" } else { "Lanes" }}
            </button>
            {move || (!is_in_lanes.get()).then(|| view! {
                <button type="button" class="icon" aria-label=size_name title=size_name on:click=resize>
                    <svg aria-hidden="true"><use href=size_icon /></svg>
                </button>
            })}
            <button type="button" class="icon" aria-label="Close the timeline" title="Close (t)"
                on:click=move |_| store.set_drawer(Drawer::Closed)>{icon("#cross", "")}</button>
        </div>
    }
}
