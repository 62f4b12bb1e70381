//! One figure over time: a picture, its legend, the numbers under the pointer, and all of them as a table. Each point opens the runs
//! behind it.
//!
//! ```text
//! address ──▶ path of /api ──▶ Series ──▶ Picture ──▶ readout, axis, svg, legend, table
//!  (signal)    (spec.path)      (JSON)     (pure)
//! ```
//!
//! The picture is built anew for each answer; pointing at it changes only the readout and one marker.
//! [`chart`] and `figures` compute, this file draws.

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast;
use web_sys::{Element, MouseEvent};

use super::address::UNTIL_NOW;
use super::chart::{self, Bar, Chart, ChartLine, told};
use super::dashboard::DashboardState;
use super::figures::{HOUR_MS, Line, PanelSpec, Series, Shape, Unit};
use crate::browser;
use crate::components::refused::refused;

/// Milliseconds of a day.
const DAY_MS: u64 = 24 * HOUR_MS;

/// A time as its reader writes it: the day, and hours and minutes.
///
/// `ms` is in milliseconds since 1970; day and time are those of the reader's time zone.
fn day_and_time(ms: u64) -> (String, String) {
    let whole = browser::date_and_time(ms);
    let day = whole.split(',').next().unwrap_or_default().to_owned();
    let time = browser::moment_of_day(ms).chars().take(5).collect();
    (day, time)
}

/// What a panel draws: the answer of the hub, reduced to as many lines as there are colours, and the geometry
/// made of it.
#[derive(Debug, Clone, PartialEq)]
struct Picture {
    /// When the first step begins, in milliseconds since 1970.
    from: u64,
    /// How long a step is: an hour, a day, or several.
    step_ms: u64,
    /// The lines that are drawn. Of more than there are colours, the rest is one line in bars, and left out
    /// where lines are percentiles.
    lines: Vec<ChartLine>,
    /// All lines of the answer, in its order. As long as nothing was put together, the indices are those of
    /// `lines`.
    source: Vec<Line>,
    /// What the legend calls each line of `source`.
    names: Vec<String>,
    /// The sum of each line of `source` over the whole time, in the unit of the panel; `None` where the hub
    /// gives none.
    totals: Vec<Option<i64>>,
    /// The currency of the first line that has one.
    currency: Option<String>,
    chart: Chart,
}

impl Picture {
    /// The picture of an answer. `names` pairs the metrics of the panel with the words for them; with one
    /// metric, a line is named by its group alone.
    fn of(spec: &PanelSpec, series: &Series, names: &[(&'static str, &'static str)]) -> Self {
        let mut source = Vec::new();
        let mut lines = Vec::new();
        for metric in &series.metrics {
            let own = names.iter().find(|(name, _)| *name == metric.metric).map_or("", |(_, word)| *word);
            for line in &metric.series {
                let name = line.name();
                let own = if names.len() > 1 || name.is_empty() { own } else { "" };
                let words = [own, &name].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>();
                lines.push(ChartLine { name: words.join(" · "), values: line.values.clone() });
                source.push(line.clone());
            }
        }
        let currency = source.iter().find_map(|line| line.currency.clone());
        let totals = source.iter().map(|line| line.total).collect();
        let names = lines.iter().map(|line| line.name.clone()).collect();
        let lines = chart::reduced(lines, spec.shape);
        let chart = chart::chart(&lines, spec.shape, spec.unit);
        Self { from: series.from, step_ms: series.step_ms, lines, source, names, totals, currency, chart }
    }

    /// The indices in `source` of the lines that have no colour of their own.
    fn rest(&self) -> std::ops::Range<usize> {
        let all = self.source.len();
        if all > chart::COLOURS { chart::COLOURS.saturating_sub(1)..all } else { all..all }
    }

    /// The number of steps of the longest line.
    fn steps(&self) -> usize {
        self.lines.iter().map(|line| line.values.len()).max().unwrap_or(0)
    }

    /// When a step begins, in milliseconds since 1970.
    fn start(&self, step: usize) -> u64 {
        self.from.saturating_add((step as u64).saturating_mul(self.step_ms))
    }

    /// When a step begins, as its reader writes it: the day, and the time where days have several.
    fn time(&self, step: usize) -> String {
        let (day, time) = day_and_time(self.start(step));
        if self.step_ms >= DAY_MS { day } else { format!("{day} {time}") }
    }

    /// When a step begins, in one word for the axis: the day, or the time where a step is at most an hour.
    fn tick(&self, step: usize) -> String {
        let (day, time) = day_and_time(self.start(step));
        if self.step_ms > HOUR_MS { day } else { time }
    }

    /// The value of a line at a step with its unit; what [`told`] writes for no value if there is none.
    fn told(&self, line: usize, step: usize, unit: Unit) -> String {
        let value = self.lines.get(line).and_then(|line| line.values.get(step).copied().flatten());
        told(value, unit, self.currency.as_deref())
    }
}

/// A panel with one figure over time. It asks the hub whenever `look.address` changes and at each round of
/// the dashboard; the old picture stays until the new answer is there. An answer to a question that is no
/// longer the newest is dropped, and an error replaces the picture with its text.
#[component]
pub(super) fn Panel(look: DashboardState, spec: PanelSpec) -> impl IntoView {
    let picture = RwSignal::new(None::<Result<Picture, String>>);
    let asked = StoredValue::new(String::new());
    Effect::new(move |_| {
        look.round.track();
        let address = look.address.get();
        let path = spec.path(address, look.board.hub_time());
        asked.set_value(path.clone());
        spawn_local(async move {
            let answer = browser::fetch_text(&path).await;
            // Another time may have been chosen meanwhile.
            if asked.with_value(|newest| *newest != path) {
                return;
            }
            let made = answer.and_then(|text| {
                let series = serde_json::from_str::<Series>(&text).map_err(|error| error.to_string())?;
                Ok(Picture::of(&spec, &series, spec.drawn(address.by)))
            });
            picture.set(Some(made));
        });
    });
    let pointed = RwSignal::new(None::<usize>);
    let name = spec.title.to_lowercase().replace(' ', "-");
    let (heading, id) = (format!("panel-{name}"), format!("panel-{name}"));
    let body = move || {
        picture.with(|picture| match picture {
            None => view! { <p class="meta">"Loading…"</p> }.into_any(),
            Some(Err(why)) => view! { <p class="meta err" role="status">{refused(why)}</p> }.into_any(),
            Some(Ok(picture)) if picture.lines.is_empty() => {
                view! { <p class="meta none">"No data in this period."</p> }.into_any()
            }
            Some(Ok(picture)) => drawn(spec, picture.clone(), pointed).into_any(),
        })
    };
    let whole = move || {
        picture.with(|picture| match picture {
            Some(Ok(it)) if it.lines.len() == 1 && spec.shape == Shape::Bars => {
                told(it.totals.first().copied().flatten(), spec.unit, it.currency.as_deref())
            }
            _ => String::new(),
        })
    };
    view! {
        <section class="panel" aria-labelledby=heading data-t="panel" data-panel=name>
            <h2 id=id>{spec.title} " " <span class="meta num">{whole}</span></h2>
            {body}
        </section>
    }
}

/// The picture with its axes, its legend and its table. `pointed` is the step below the pointer. A click
/// opens the runs behind that step, with Shift those since then, and behind the line that it hit.
fn drawn(spec: PanelSpec, picture: Picture, pointed: RwSignal<Option<usize>>) -> impl IntoView {
    let steps = picture.steps();
    let plot = NodeRef::<html::Div>::new();
    let step_at = move |event: &MouseEvent| {
        let area = plot.get_untracked()?.get_bounding_client_rect();
        let part = (f64::from(event.client_x()) - area.left()) / area.width().max(1.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a place in a picture"
        )]
        let step = (part.clamp(0.0, 0.9999) * steps as f64) as usize;
        Some(step)
    };
    let kept = StoredValue::new(picture.clone());
    let open = move |event: MouseEvent| {
        let Some(step) = step_at(&event) else { return };
        let target = event.target().and_then(|it| it.dyn_into::<Element>().ok());
        let line =
            target.and_then(|it| it.get_attribute("data-line")).and_then(|line| line.parse::<usize>().ok());
        let address = kept.with_value(|picture| {
            let (from, to) = span(picture, step);
            behind(&spec, picture, line, (from, if event.shift_key() { UNTIL_NOW } else { to }))
        });
        drop(browser::window().location().assign(&address));
    };
    let readout = move || {
        kept.with_value(|picture| match pointed.get().filter(|step| *step < steps) {
            Some(step) => {
                let numbers = (0..picture.lines.len()).map(|line| {
                    let name = picture.lines.get(line).map(|line| line.name.clone()).unwrap_or_default();
                    format!("{name} {}", picture.told(line, step, spec.unit)).trim().to_owned()
                });
                format!("{} · {}", picture.time(step), numbers.collect::<Vec<_>>().join(" · "))
            }
            None => String::new(),
        })
    };
    let marker = move || {
        pointed.get().filter(|step| *step < steps).map(|step| {
            let percent = |n: usize| format!("{}%", n.saturating_mul(10_000) / steps.max(1) / 100);
            view! { <i class="at" style:left=percent(step) style:width=percent(1)></i> }
        })
    };
    let top = told(Some(picture.chart.top), spec.unit, picture.currency.as_deref());
    // Half of an odd number of runs would be rounded to a number that stands elsewhere.
    let half = Some(picture.chart.top / 2).filter(|_| picture.chart.top % 2 == 0);
    let half = half.map(|half| told(Some(half), spec.unit, picture.currency.as_deref()));
    let times =
        [0, steps / 2, steps.saturating_sub(1)].map(|step| view! { <span>{picture.tick(step)}</span> });
    view! {
        <p class="meta num readout" aria-hidden="true"><span>{readout}</span></p>
        <div class="chart">
            <div class="axis num" aria-hidden="true"><span>{top}</span><span>{half}</span><span>"0"</span></div>
            <div class="plot" node_ref=plot on:click=open
                on:pointermove=move |event| pointed.set(step_at(&event)) on:pointerleave=move |_| pointed.set(None)>
                {marker}
                {svg(&spec, &picture)}
            </div>
            <div class="times num" aria-hidden="true">{times}</div>
        </div>
        {legend(&spec, &picture)}
        {table(spec, picture)}
    }
}

/// The address of the runs of `time`, from and to, in milliseconds since 1970, and of those behind a line where one was hit. The line that stands
/// for all the rest has no runs of its own: its address is that of all runs.
fn behind(spec: &PanelSpec, picture: &Picture, line: Option<usize>, time: (u64, u64)) -> String {
    // What was put together is not one of those that were asked for.
    let of = line.filter(|line| !picture.rest().contains(line));
    spec.behind(of.and_then(|line| picture.source.get(line)), time)
}

/// When a step begins and ends, in milliseconds since 1970.
fn span(picture: &Picture, step: usize) -> (u64, u64) {
    let from = picture.start(step);
    (from, from.saturating_add(picture.step_ms))
}

/// Bars and curves in a box of 100 by 100 that is stretched to its place. Each shape has the index of its
/// line as `data-line`.
fn svg(spec: &PanelSpec, picture: &Picture) -> impl IntoView + use<> {
    let rect = |bar: &Bar| {
        let class = format!("s{}", bar.line);
        view! {
            <rect class=class data-line=bar.line.to_string() x=format!("{:.3}", bar.x) y=format!("{:.3}", bar.y)
                width=format!("{:.3}", bar.width) height=format!("{:.3}", bar.height) />
        }
    };
    let path = |(line, path): &(usize, String)| {
        view! { <path class=format!("s{line}") data-line=line.to_string() d=path.clone() /> }
    };
    let label = format!("{} from {} on; the table below has the numbers", spec.title, picture.time(0));
    view! {
        <svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label=label>
            <path class="rule" d="M0 0H100M0 50H100M0 100H100" />
            {picture.chart.bars.iter().map(rect).collect_view()}
            {picture.chart.paths.iter().map(path).collect_view()}
        </svg>
    }
}

/// The colours with the names and sums of their lines, if there is more than one line. The line that stands
/// for the rest shows no sum: what it stands for is listed by [`more`].
fn legend(spec: &PanelSpec, picture: &Picture) -> impl IntoView + use<> {
    let item = |(at, line): (usize, &ChartLine)| {
        let total = picture.totals.get(at).copied().flatten().filter(|_| !picture.rest().contains(&at));
        let total = total.map(|total| told(Some(total), spec.unit, picture.currency.as_deref()));
        view! { <li><i class=format!("swatch s{at}")></i> {line.name.clone()} " " <span class="num">{total}</span></li> }
    };
    (picture.lines.len() > 1).then(
        || view! { <ul class="legend">{picture.lines.iter().enumerate().map(item).collect_view()}</ul> {more(spec, picture)} },
    )
}

/// The lines that have no colour of their own, folded: each with its sum, and a link to the runs behind it in the whole time. Nothing
/// if all lines have a colour.
fn more(spec: &PanelSpec, picture: &Picture) -> impl IntoView + use<> {
    let rest = picture.rest();
    let until = (picture.steps() as u64).saturating_mul(picture.step_ms);
    let item = |at: usize| {
        let name = picture.names.get(at).cloned().unwrap_or_default();
        let total = picture.totals.get(at).copied().flatten();
        let total = total.map(|total| told(Some(total), spec.unit, picture.currency.as_deref()));
        let runs = spec.behind(picture.source.get(at), (picture.from, picture.from.saturating_add(until)));
        view! { <li><a href=runs>{name}</a> " " <span class="num">{total}</span></li> }
    };
    let words = format!("and {} more", rest.len());
    (!rest.is_empty()).then(|| {
        view! {
            <details class="more" data-t="more">
                <summary class="meta">{words}</summary>
                <ul class="legend">{rest.map(item).collect_view()}</ul>
            </details>
        }
    })
}

/// The numbers as a table, newest first, made when it is opened; each time is a link to its runs. It is how a
/// screen reader gets the numbers: the picture itself has one label.
fn table(spec: PanelSpec, picture: Picture) -> impl IntoView {
    let is_open = RwSignal::new(false);
    let rows = move || {
        is_open.get().then(|| {
            let heads = picture.lines.iter().map(|line| {
                let name = if line.name.is_empty() { spec.title.to_owned() } else { line.name.clone() };
                view! { <th scope="col">{name}</th> }
            });
            let row = |step: usize| {
                let cells = (0..picture.lines.len()).map(|line| view! { <td class="num">{picture.told(line, step, spec.unit)}</td> });
                view! {
                    <tr><th scope="row"><a href=behind(&spec, &picture, None, span(&picture, step))>{picture.time(step)}</a></th>{cells.collect_view()}</tr>
                }
            };
            view! {
                <div class="numbers" tabindex="0" role="region" aria-label=format!("{}: numbers", spec.title)>
                    <table>
                        <thead><tr><th scope="col">"Time"</th>{heads.collect_view()}</tr></thead>
                        <tbody>{(0..picture.steps()).rev().map(row).collect_view()}</tbody>
                    </table>
                </div>
            }
        })
    };
    let toggled = move |event: web_sys::Event| {
        let details = event.target().and_then(|it| it.dyn_into::<Element>().ok());
        is_open.set(details.is_some_and(|it| it.has_attribute("open")));
    };
    view! { <details on:toggle=toggled><summary class="meta">"Table"</summary>{rows}</details> }
}
