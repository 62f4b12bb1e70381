//! The line above the lanes: the run in view, what its time was spent on and its critical path; and the step that the reader
//! chose or that is under the pointer.
//!
//! ```text
//! analyst · 1:12 · model 13 % · tools 70 % · waiting 17 % · critical path 58 s     run_sql · executing · 0:14 · select …
//! ```

use leptos::prelude::*;
use model::{RunId, View};
use wasm_bindgen::JsCast;
use web_sys::Element;

use super::Chart;
use super::line::span_of;
use crate::browser;
use crate::components::elapsed::span_text;
use crate::format;
use crate::store::Store;
use crate::timeline::{Summary, face};

/// The line above the lanes.
#[component]
pub(super) fn Strip(chart: Chart) -> impl IntoView {
    let store = chart.store;
    let words = Memo::new(move |_| {
        chart.summary.with(|summary| {
            let (run, summary) = summary.as_ref()?;
            let (name, is_stalled) = store.reading.view(|view| {
                let run = view.runs.get(run);
                (
                    run.and_then(|run| run.name.clone()),
                    run.is_some_and(|run| run.is_running() && run.stalled_at.is_some()),
                )
            });
            let least = if is_stalled { "≥ " } else { "" };
            Some(words(name.as_deref().unwrap_or("main agent"), least, summary))
        })
    });
    let step = Memo::new(move |_| {
        chart.beat.track();
        let key = chart.pointed.get().or_else(|| chart.chosen.get())?;
        let is_critical = chart.summary.with(|it| it.as_ref().is_some_and(|(_, it)| it.path.contains(&key)));
        Some((store.reading.view(|view| face(view, &key))?, is_critical))
    });
    let inspected = move || {
        step.get().map(|(face, is_critical)| {
            let mut words = vec![face.word.to_owned(), span_text(span_of(&face))];
            words.extend(is_critical.then(|| "on the critical path".to_owned()));
            words.push(face.hint.clone());
            words.retain(|word| !word.is_empty());
            view! { <strong>{face.name}</strong> " · " {words.join(" · ")} }
        })
    };
    view! {
        <div class="tl-strip meta num">
            <span class="tl-summary" data-t="timeline-summary">{words}</span>
            <span class="tl-step" data-t="timeline-step" role="status">{inspected}</span>
        </div>
    }
}

/// A run summed up in words. `least` stands before its duration: that it took at least so long, where its end is unknown.
fn words(name: &str, least: &str, summary: &Summary) -> String {
    let took = summary.span.1.saturating_sub(summary.span.0);
    let mut words = vec![name.to_owned(), format!("{least}{}", format::duration(took))];
    let shares = summary.shares.words();
    words.extend((!shares.is_empty()).then_some(shares));
    words.push(format!("critical path {}", format::duration(summary.path_ms)));
    words.join(" · ")
}

/// The run that the reader looks at: the newest one while the conversation follows its end, otherwise the one that stands
/// in the middle of the screen.
pub(super) fn run_in_view(store: Store, view: &View) -> Option<RunId> {
    let newest = || view.runs.keys().next_back().cloned();
    if store.reading.following.get_untracked() {
        return newest();
    }
    let document = browser::document();
    let stage = document.query_selector("[data-t=transcript]").ok().flatten()?.get_bounding_client_rect();
    let found = document.query_selector_all("[data-t=transcript] .turn[data-run]").ok()?;
    let turns = (0..found.length()).filter_map(|number| found.get(number)?.dyn_into::<Element>().ok());
    let middle = stage.top() + stage.height() / 2.0;
    let above = turns.take_while(|turn| turn.get_bounding_client_rect().top() <= middle);
    let name = above.last().and_then(|turn| turn.get_attribute("data-run"));
    name.as_deref().map(RunId::new).filter(|run| view.runs.contains_key(run)).or_else(newest)
}
