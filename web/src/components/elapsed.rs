//! Times that grow. One ticker moves them all, and only those of what runs.

use leptos::prelude::*;

use crate::format;
use crate::store::use_store;

/// A span of time on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Span {
    /// Nothing to show.
    None,
    /// Over, in milliseconds.
    Took(u64),
    /// Since then, by the hub's clock; shown from so many milliseconds on.
    Since(u64, u64),
    /// It was at least so long; nobody knows its end.
    AtLeast(u64),
}

impl Span {
    /// From `started_at` to `ended_at`, by the hub's clock; nothing where a recording has no times.
    pub(super) fn of(started_at: u64, ended_at: Option<u64>) -> Self {
        match ended_at {
            _ if started_at == 0 => Self::None,
            Some(end) => Self::Took(end.saturating_sub(started_at)),
            None => Self::Since(started_at, 0),
        }
    }
}

/// The text of a span; tracks the ticker only when it grows. Without a link the time stands still and says so.
pub(super) fn span_text(span: Span) -> String {
    let store = use_store();
    match span {
        Span::None => String::new(),
        Span::Took(ms) => format::duration(ms),
        Span::AtLeast(ms) => format!("≥ {}", format::duration(ms)),
        Span::Since(from, shown_after) => {
            let ms = store.now.get().saturating_sub(from);
            let sure = if store.is_current() { "" } else { "≥ " };
            if ms < shown_after { String::new() } else { format!("{sure}{}", format::clock(ms)) }
        }
    }
}
