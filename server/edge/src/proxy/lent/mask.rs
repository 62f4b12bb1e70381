//! Keeps the hub's key out of the answer of an upstream that repeats it: each of its bytes becomes a star, so
//! that the length stays. The end of a piece that may be the beginning of the key waits for the next piece.

use std::fmt;

use axum::body::Bytes;
use axum::http::HeaderValue;

/// Masks one key in one body. Owned by the body.
pub(in crate::proxy) struct KeyMask {
    key: Vec<u8>,
    /// The end of the body so far, if it is a beginning of the key; shorter than the key.
    held: Vec<u8>,
}

impl fmt::Debug for KeyMask {
    /// Prints nothing of the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyMask").finish_non_exhaustive()
    }
}

impl KeyMask {
    /// A mask for `key`, which is not empty.
    pub(in crate::proxy) fn new(key: &HeaderValue) -> Self {
        Self { key: key.as_bytes().to_vec(), held: Vec::new() }
    }

    /// What is certain of the body once `bytes` have come. Bytes without the key pass without a copy.
    pub(in crate::proxy) fn feed(&mut self, bytes: &Bytes) -> Bytes {
        if self.held.is_empty() && self.place(bytes).is_none() && self.begun(bytes) == 0 {
            return bytes.clone();
        }
        let mut whole = std::mem::take(&mut self.held);
        whole.extend_from_slice(bytes);
        while let Some(place) = self.place(&whole) {
            let end = place.saturating_add(self.key.len());
            whole.get_mut(place..end).into_iter().flatten().for_each(|byte| *byte = b'*');
        }
        self.held = whole.split_off(whole.len() - self.begun(&whole));
        whole.into()
    }

    /// What waits, when nothing follows; `None` if nothing does.
    pub(in crate::proxy) fn rest(&mut self) -> Option<Bytes> {
        let held = std::mem::take(&mut self.held);
        (!held.is_empty()).then(|| held.into())
    }

    /// Whether some bytes wait for the next ones.
    pub(in crate::proxy) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// The index at which the key begins in `bytes`.
    fn place(&self, bytes: &[u8]) -> Option<usize> {
        let first = *self.key.first()?;
        let starts = bytes.iter().enumerate().filter(|(_, byte)| **byte == first);
        starts.map(|(at, _)| at).find(|at| bytes.get(*at..).is_some_and(|rest| rest.starts_with(&self.key)))
    }

    /// How many bytes at the end of `bytes` are a beginning of the key.
    fn begun(&self, bytes: &[u8]) -> usize {
        let most = self.key.len().saturating_sub(1).min(bytes.len());
        let is_begun = |length: &usize| self.key.get(..*length).is_some_and(|begin| bytes.ends_with(begin));
        (1..=most).rev().find(is_begun).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    //! A key in every position and every split.

    use super::*;

    const KEY: &str = "sk-sk-1234";

    #[test]
    fn a_key_is_masked_wherever_the_body_is_split_and_the_length_stays() {
        let body = format!("sk-sk-sk-1234 and {KEY}, {KEY}{KEY} but sk-sk-123 sk-");
        let masked = body.replace(KEY, &"*".repeat(KEY.len()));
        assert!(!masked.contains(KEY) && masked.contains("sk-sk-123 sk-"));
        let body = body.as_bytes();
        for first in 0..=body.len() {
            for second in first..=body.len() {
                let mut mask = KeyMask::new(&HeaderValue::from_static(KEY));
                let pieces = [&body[..first], &body[first..second], &body[second..]];
                let fed = pieces.map(|piece| mask.feed(&Bytes::copy_from_slice(piece)));
                let all = fed.into_iter().chain(mask.rest()).collect::<Vec<_>>().concat();
                assert_eq!(String::from_utf8(all).unwrap(), masked, "{first} {second}");
            }
        }
    }
}
