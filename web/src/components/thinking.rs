//! Thinking of the model: one line, a short preview while it grows, and the whole after a click.

use leptos::prelude::*;
use model::{PartId, RunId};

use super::copy::Copy;
use super::elapsed::{Span, span_text};
use super::icon::Chevron;
use super::text::{Growing, part};
use crate::open::Fold;
use crate::store::{thinking_key, use_store};

/// What the line of a thinking section shows.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Head {
    /// Whether more may come: the part has no end and its run is active.
    is_growing: bool,
    /// Whether the provider sent none of the text.
    is_hidden: bool,
    /// How long the model has thought; the reported duration before the one between the events.
    span: Span,
}

/// A thinking section. At the level Steps it is open while it grows, unless the setting "thinking closed" is
/// on, and closed afterwards; at All it is open. What the reader chose wins over that, and a section that
/// ends while the reader is elsewhere in the conversation stays open.
#[component]
pub(super) fn Thinking(run: RunId, id: PartId) -> impl IntoView {
    let store = use_store();
    let key = StoredValue::new(thinking_key(&run, &id));
    let silent_since = store.reading.silent_since(&run);
    let ids = StoredValue::new((run, id));
    let head = Memo::new(move |_| {
        let (run, id) = ids.get_value();
        let runs = store.reading.run(&run, model::view::RunView::is_running).unwrap_or(false);
        let read = part(store, &run, &id, |part| {
            let ended = part.ended_at.map(|end| end.saturating_sub(part.started_at));
            let is_growing = ended.is_none() && runs;
            let took = part.duration_ms.or(ended).filter(|ms| *ms > 0);
            let span = if is_growing {
                Span::Since(part.started_at, 0)
            } else {
                took.map_or(Span::None, Span::Took)
            };
            Head { is_growing, is_hidden: part.hidden && part.body.text.is_empty(), span }
        });
        read.unwrap_or(Head { is_growing: false, is_hidden: false, span: Span::None })
    });
    let is_growing = Memo::new(move |_| head.get().is_growing);
    let open = Memo::new(move |_| {
        let streaming = is_growing.get() && !store.reading.thinking_closed.get();
        key.with_value(|key| store.reading.is_open(key, Fold::Thinking { streaming }))
    });
    // A section that ends while the reader is elsewhere stays open: closing it would move what they read.
    Effect::new(move |was: Option<bool>| {
        let grows = is_growing.get();
        if was == Some(true) && !grows && !store.reading.following.get_untracked() {
            key.with_value(|key| {
                if !store.reading.has_choice(key) {
                    store.reading.choose(key, true);
                }
            });
        }
        grows
    });
    let toggle = move |event: leptos::ev::MouseEvent| {
        super::aside::hold(&event, store);
        key.with_value(|key| store.reading.choose(key, !open.get_untracked()));
    };
    let text = move || {
        let (run, id) = ids.get_value();
        store
            .reading
            .view(|view| Some(view.runs.get(&run)?.parts.get(&id)?.body.text.to_string()))
            .unwrap_or_default()
    };
    let title = move || match head.get() {
        Head { is_hidden: true, is_growing: false, .. } => "Thinking is hidden by the provider".to_owned(),
        Head { is_growing: true, span, .. } => {
            format!("Thinking… {}", span_text(span.known_until(silent_since.get())))
        }
        Head { span: Span::None, .. } => "Thought".to_owned(),
        Head { span, .. } => format!("Thought for {}", span_text(span)),
    };
    view! {
        <section class="thinking" data-t="thinking">
            <button type="button" class="think num" data-nav="" data-t="furniture"
                aria-expanded=move || open.get().to_string() on:click=toggle>
                <Chevron open=open /> {title}
            </button>
            {move || open.get().then(|| view! { <ThinkingText ids=ids is_growing=is_growing /> })}
            {move || (open.get() && !is_growing.get() && !store.reading.is_bare).then(|| view! {
                <div class="answer-foot"><Copy text=text label="Copy thinking" /></div>
            })}
        </section>
    }
}

/// The text, as it is, without Markdown: a box of six lines that follows the end while it grows, a larger box
/// afterwards, and all of it on the bare page.
#[component]
fn ThinkingText(ids: StoredValue<(RunId, PartId)>, is_growing: Memo<bool>) -> impl IntoView {
    let store = use_store();
    let read = move |show: &mut dyn FnMut(&str, bool)| {
        let (run, id) = ids.get_value();
        part(store, &run, &id, |part| show(&part.body.text, is_growing.get()));
    };
    let class = if store.reading.is_bare {
        "think-text all"
    } else if is_growing.get_untracked() {
        "think-text live"
    } else {
        "think-text"
    };
    view! { <Growing read=read class=class newest=true /> }
}
