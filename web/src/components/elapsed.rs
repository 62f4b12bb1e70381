//! Durations that grow while something runs; one ticker updates them all.

use leptos::prelude::*;

pub(super) use crate::span::Span;
use crate::span::{growing, told};
use crate::store::use_store;

/// The text of a span, such as `1.2 s`. It tracks the ticker only if the span grows. Without a connection the
/// time stands still and says so with "≥". A span that grows may be shown only after it has reached a least
/// length, and is empty before.
pub(super) fn span_text(span: Span) -> String {
    let store = use_store();
    match span {
        Span::Since(from, shown_after) => {
            growing(store.reading.now.get().saturating_sub(from), shown_after, store.is_current())
        }
        other => told(other),
    }
}
