//! A view as bytes: what a late viewer gets, and what two viewers compare to know that they see the same.

use std::hash::Hasher as _;

use crate::view::View;

/// `view` as one line of JSON. The same events give the same bytes on every target (invariant I6).
pub fn encode(view: &View) -> Vec<u8> {
    // A view holds nothing that cannot be written: no map with keys that are no strings, no failing writer.
    serde_json::to_vec(view).unwrap_or_default()
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
