//! What the other side of a connection over HTTP/2 says of itself (RFC 9113, 6.5), read along with what comes: how many
//! calls it lets through at once.

/// The length of the head of a frame, in bytes.
const HEAD: usize = 9;

/// The type of the frame, and the flag that it only says that ours came.
const SETTINGS: u8 = 4;
const ACK: u8 = 1;

/// Its settings are short; of longer ones the beginning is read.
const SETTINGS_BYTES_MAX: usize = 1_024;

/// How many calls at once.
const MAX_CONCURRENT_STREAMS: u16 = 3;

/// Reads HTTP/2 SETTINGS frames out of the bytes of one connection.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    head: Vec<u8>,
    said: Vec<u8>,
    /// Bytes of the frame that are to come.
    left: usize,
    /// They are settings.
    is_read: bool,
    /// Some came before: what they leave out stays as it was.
    is_known: bool,
}

impl Settings {
    /// Takes what came. Gives the number of calls that are let through where it was said now.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Option<u32> {
        let mut calls = None;
        while let Some((first, after)) = bytes.split_first() {
            if self.left > 0 {
                let (taken, rest) = bytes.split_at(self.left.min(bytes.len()));
                if self.is_read && self.said.len() < SETTINGS_BYTES_MAX {
                    self.said.extend_from_slice(taken);
                }
                self.left = self.left.saturating_sub(taken.len());
                bytes = rest;
            } else {
                self.head.push(*first);
                bytes = after;
                if self.head.len() < HEAD {
                    continue;
                }
                self.begin();
            }
            if self.left == 0 && std::mem::take(&mut self.is_read) {
                calls = self.read().or(calls);
            }
        }
        calls
    }

    fn begin(&mut self) {
        if let [high, middle, low, kind, flags, ..] = *self.head.as_slice() {
            self.left = u32::from_be_bytes([0, high, middle, low]) as usize;
            self.is_read = kind == SETTINGS && flags & ACK == 0;
        }
        self.head.clear();
        self.said.clear();
    }

    fn read(&mut self) -> Option<u32> {
        let mut calls = None;
        for setting in self.said.chunks_exact(6) {
            if let [a, b, c, d, e, f] = *setting
                && u16::from_be_bytes([a, b]) == MAX_CONCURRENT_STREAMS
            {
                calls = Some(u32::from_be_bytes([c, d, e, f]));
            }
        }
        let is_first = !std::mem::replace(&mut self.is_known, true);
        // Without a word about it there is no limit. To let none through later on is a pause: what is on its way goes on.
        if is_first { calls.or(Some(u32::MAX)) } else { calls.map(|calls| calls.max(1)) }
    }
}

#[cfg(test)]
mod tests;
