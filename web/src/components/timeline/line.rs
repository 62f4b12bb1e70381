//! A row of the timeline: a name, a state, a duration, and bars.
//!
//! ```text
//! ▾ researcher  0:31 │      ████▒▒▒▒████──        a bar from `--a` to `--b`, in milliseconds of the chart
//! ```
//!
//! The styles compute the place of a bar from its ends and from the variables of the root, so a bar that
//! grows needs no update.

use leptos::prelude::*;

use super::Chart;
use crate::components::elapsed::{Span, span_text};
use crate::components::icon::{StateIcon, run_icon, tool_icon};
use crate::number::decimal;
use crate::timeline::{Bar, Face, Fill, Key, Row, face};

/// A row, at its place in the sheet. `reveal` is called with its index when it is clicked; `active` is the
/// row that the Tab key reaches. It reads its face again at each beat at which something changed.
#[component]
pub(super) fn Line(
    chart: Chart,
    at: usize,
    row: Row,
    active: RwSignal<usize>,
    reveal: impl Fn(usize) + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let store = chart.store;
    let Row { key, depth } = row;
    let class = if key.is_agent() { "tl-row agent" } else { "tl-row" };
    let call = if let Key::Tool(_, call) = &key { Some(call.to_string()) } else { None };
    let is_part = matches!(key, Key::Part(..));
    let (Key::Run(run) | Key::Agent(run, _) | Key::Part(run, _) | Key::Tool(run, _)) = &key;
    let silent_since = store.reading.silent_since(run);
    let key = StoredValue::new(key);
    let face = Memo::new(move |_| {
        chart.beat.track();
        key.with_value(|key| store.reading.view(|view| face(view, key))).unwrap_or_default()
    });
    let top = move || {
        #[expect(clippy::cast_precision_loss, reason = "rows of a page")]
        let at = at as f64;
        format!("{}px", decimal(at * chart.row_px()))
    };
    let indent = format!("{}px", depth.min(6).saturating_mul(14));
    let shape = Signal::derive(move || {
        let is_known = store.is_current() && silent_since.get().is_none();
        face.with(|face| match (face.state, face.status) {
            (Some(state), _) => tool_icon(state, is_known),
            (_, Some(status)) => run_icon(status, is_known),
            _ => ("#dot", "gone"),
        })
    });
    let span = Memo::new(move |_| face.with(span_of).known_until(silent_since.get()));
    let bars = Memo::new(move |_| face.with(|face| face.bars.clone()));
    let sign = if is_part {
        view! { <svg class="tl-no" aria-hidden="true"></svg> }.into_any()
    } else {
        view! { <StateIcon shape=shape /> }.into_any()
    };
    view! {
        <button type="button" class=class style:top=top data-at=at.to_string() data-t="timeline-row" data-call=call
            data-state=move || face.with(|face| face.word)
            tabindex=move || if active.get() == at { "0" } else { "-1" }
            title=move || face.with(|face| face.hint.clone())
            on:focus=move |_| active.set(at) on:click=move |_| reveal(at)>
            <span class="tl-name" style:padding-left=indent>
                {sign}
                <span class="nm">{move || face.with(|face| face.name.clone())}</span>
                <span class="sr">{move || face.with(|face| format!(", {}, ", face.word))}</span>
                <span class="tm num meta">{move || span_text(span.get())}</span>
            </span>
            <span class="tl-track">{move || bars.get().into_iter().map(|bar| draw(chart, bar)).collect_view()}</span>
        </button>
    }
}

/// The span that the row shows: a reported duration before the one between the events.
pub(super) fn span_of(face: &Face) -> Span {
    match (face.took, face.span) {
        (Some(ms), _) => Span::Took(ms),
        (None, Some((from, to))) => Span::of(from, to),
        (None, None) => Span::None,
    }
}

/// A bar. Its ends are CSS variables; the styles compute the place.
fn draw(chart: Chart, bar: Bar) -> impl IntoView {
    let fill = match bar.fill {
        Fill::Solid => "solid",
        Fill::Hatched => "hatched",
        Fill::Outline => "outline",
        Fill::Thin => "thin",
    };
    let goes_on = if bar.to.is_none() { " on" } else { "" };
    let class = format!("tl-bar {fill} {}{goes_on}", bar.tone.class());
    let place = move |at: u64| chart.squeeze.with(|squeeze| squeeze.place(at)).to_string();
    let from = move || place(bar.from);
    // A bar without an end ends at the present, which the styles read from the root.
    let to = move || bar.to.map_or_else(|| "var(--now)".to_owned(), place);
    view! { <i class=class style=("--a", from) style=("--b", to)></i> }
}
