//! A streamed text, as few deltas.

use compact_str::CompactString;

use crate::view::Streamed;

/// The deltas that make `body`: where each starts, and its text. Nearly always one, or none.
pub(super) fn deltas(body: &Streamed) -> Vec<(u64, CompactString)> {
    let mut deltas = Vec::new();
    if body.missing > 0 || !body.text.is_empty() {
        deltas.push((body.missing, CompactString::new(body.text.as_str())));
    }
    let mut len = body.missing.saturating_add(body.text.len() as u64);
    // A delta that began inside of a character that was there already made the text longer than what is kept of it.
    while body.overlapped && body.cut == 0 && len < body.len && len > 0 {
        let (text, more) = match body.len.saturating_sub(len) {
            1 => ("é", 1),
            2 => ("漢", 2),
            _ => ("🙂", 3),
        };
        deltas.push((len.saturating_sub(1), CompactString::new(text)));
        len = len.saturating_add(more);
    }
    if body.overlapped && deltas.len() < 2 && len > 0 {
        deltas.push((0, CompactString::default()));
    }
    deltas
}
