//! Times that grow. One ticker moves them all, and only those of what runs.

use leptos::prelude::*;

pub(super) use crate::span::Span;
use crate::span::{growing, told};
use crate::store::use_store;

/// The text of a span; tracks the ticker only when it grows. Without a link the time stands still and says so.
pub(super) fn span_text(span: Span) -> String {
    let store = use_store();
    match span {
        Span::Since(from, shown_after) => {
            growing(store.reading.now.get().saturating_sub(from), shown_after, store.is_current())
        }
        other => told(other),
    }
}
