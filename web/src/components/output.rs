//! A text that does not change: its first lines, and the rest after clicks. JSON is formatted and coloured.
//! Text is never interpreted as HTML.

use leptos::prelude::*;

use crate::format;
use crate::kinds::preview_bytes;
use crate::preview::{TokenKind, pretty};

/// How much more each click shows, in bytes; a browser lays this much out without a noticeable pause.
const STEP_BYTES: usize = 256 << 10;

/// The longest JSON that is formatted and coloured, in bytes.
const PRETTY_BYTES: usize = 64 << 10;

/// The text to show.
#[derive(Debug, Clone)]
pub(super) struct OutputText {
    /// The text that is shown.
    pub(super) text: String,
    /// Whether the text is JSON.
    pub(super) is_json: bool,
    /// Whether only a preview is shown at first.
    pub(super) is_cut: bool,
}

/// The text, in a box that scrolls. At first it shows its first lines ([`preview_bytes`]) if it is to be cut,
/// otherwise [`STEP_BYTES`]; each click adds as much. JSON is laid out once all of it is shown, if it
/// has at most [`PRETTY_BYTES`].
#[component]
pub(super) fn Text(shown: OutputText) -> impl IntoView {
    let store = crate::store::use_store();
    let len = shown.text.len();
    let start = if shown.is_cut && !store.reading.is_bare { preview_bytes(&shown.text) } else { STEP_BYTES };
    let bytes = RwSignal::new(start);
    let OutputText { text, is_json, .. } = shown;
    let text = StoredValue::new(text);
    let is_whole = move || bytes.get() >= len;
    let content = move || {
        text.with_value(|text| {
            let end = text.floor_char_boundary(bytes.get());
            let part = text.get(..end).unwrap_or_default();
            if is_json && end == len && len <= PRETTY_BYTES {
                return coloured(part).into_any();
            }
            let more = if end < len { "…" } else { "" };
            format!("{part}{more}").into_any()
        })
    };
    let label = move || {
        let next = if bytes.get() < STEP_BYTES { STEP_BYTES } else { bytes.get().saturating_add(STEP_BYTES) };
        if next >= len {
            format!("Show all {}", format::bytes(len as u64))
        } else {
            format!("Show {} of {}", format::bytes(next as u64), format::bytes(len as u64))
        }
    };
    let more = move |_| {
        bytes.update(|n| *n = if *n < STEP_BYTES { STEP_BYTES } else { n.saturating_add(STEP_BYTES) });
        store.reading.tell_drawn();
    };
    view! {
        <pre class="pre" class:all=store.reading.is_bare tabindex="0">{content}</pre>
        {move || (!is_whole()).then(|| view! { <button type="button" class="more" on:click=more>{label}</button> })}
    }
}

/// JSON, formatted and coloured.
fn coloured(json: &str) -> impl IntoView + use<> {
    let class = |kind| match kind {
        TokenKind::Plain => "",
        TokenKind::Key => "k",
        TokenKind::Text => "s",
        TokenKind::Word => "v",
    };
    let tokens = pretty(json).into_iter();
    tokens.map(|token| view! { <span class=class(token.kind)>{token.text}</span> }).collect_view()
}
