//! A view as bytes: what a late viewer gets, and what two viewers compare to know that they see the same.

use std::hash::Hasher as _;

use crate::view::{TopItem, View};

/// `view` as one line of JSON. The same events give the same bytes on every target (invariant I6).
pub fn encode(view: &View) -> Vec<u8> {
    // A view holds nothing that cannot be written: no map with keys that are no strings, no failing writer.
    serde_json::to_vec(view).unwrap_or_default()
}

/// `view` in pieces of about `max` bytes, each a view of its own that holds some of the messages and runs, in their
/// order; [`join`] puts them together. A run is never cut.
pub fn pieces(view: &View, max: usize) -> Vec<Vec<u8>> {
    let whole = encode(view);
    if whole.len() <= max {
        return vec![whole];
    }
    let mut pieces = Vec::new();
    let mut piece = head(view);
    let mut bytes = encode(&piece).len();
    for item in &view.items {
        // A name and a few marks around it count for nothing.
        let size = match item {
            TopItem::Message(id) => size_of_json(&view.messages.get(id)),
            TopItem::Run(id) => size_of_json(&view.runs.get(id)),
        };
        if bytes.saturating_add(size) > max && !piece.items.is_empty() {
            pieces.push(encode(&piece));
            piece = View { seq: view.seq, ..View::default() };
            bytes = 0;
        }
        bytes = bytes.saturating_add(size);
        piece.items.push(item.clone());
        match item {
            TopItem::Message(id) => {
                piece.messages.extend(view.messages.get(id).map(|message| (id.clone(), message.clone())));
            }
            TopItem::Run(id) => piece.runs.extend(view.runs.get(id).map(|run| (id.clone(), run.clone()))),
        }
    }
    pieces.push(encode(&piece));
    pieces
}

/// What of `view` is no message and no run.
pub(crate) fn head(view: &View) -> View {
    View {
        seq: view.seq,
        title: view.title.clone(),
        forked_from: view.forked_from.clone(),
        label: view.label.clone(),
        earlier: view.earlier.clone(),
        anomalies: view.anomalies.clone(),
        full: view.full,
        ..View::default()
    }
}

pub(crate) fn size_of_json(value: &impl serde::Serialize) -> usize {
    let mut count = CountingWriter(0);
    drop(serde_json::to_writer(&mut count, value));
    count.0
}

/// Counts what is written.
struct CountingWriter(usize);

impl std::io::Write for CountingWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Adds the next piece to those before it.
pub fn join(view: &mut View, next: View) {
    view.items.extend(next.items);
    view.messages.extend(next.messages);
    view.runs.extend(next.runs);
}

/// The view that `bytes` hold.
pub fn decode(bytes: &[u8]) -> Result<View, serde_json::Error> {
    serde_json::from_slice(bytes)
}

/// FNV-1a 64 of the snapshot of `view`, as 16 hex digits: equal for viewers that see the same.
pub fn hash(view: &View) -> String {
    let mut hasher = fnv::FnvHasher::default();
    hasher.write(&encode(view));
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests;
