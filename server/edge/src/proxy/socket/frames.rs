//! Frames of a WebSocket (RFC 6455), read along with what passes: where messages begin and end, and their
//! texts.
//!
//! ```text
//! | FIN RSV1-3 opcode | MASK length | longer length: 0, 2 or 8 bytes | mask: 0 or 4 bytes | payload |
//! ```
//!
//! It only reads: nothing of what passes is changed or held up. Input that is no WebSocket, and a message
//! over the bound, end the reading for good, because nobody knows where the next message begins.

/// The longest head of a frame, in bytes.
const HEAD_BYTES_MAX: usize = 14;

/// A whole text message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    /// The bytes of the message, compressed if `is_packed`.
    pub(super) bytes: Vec<u8>,
    /// Whether it is compressed (RFC 7692).
    pub(super) is_packed: bool,
}

/// The kind of the message to which frames belong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    None,
    /// A text message, whose bytes are kept.
    Text,
    /// A binary message, of which only the end is looked for.
    Other,
}

/// Reads one direction of a connection, wherever its bytes are cut. Holds at most `bytes_max` bytes of a
/// message and one head.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "none depends on another")]
pub(super) struct Frames {
    /// The head of a frame that is not complete yet.
    head: Vec<u8>,
    /// How many bytes of the payload are still to come.
    left: u64,
    mask: [u8; 4],
    /// The index in the mask for the next byte.
    masked: usize,
    /// Whether the frame is a control frame, which may come between the frames of a message.
    is_control: bool,
    is_last: bool,
    /// The kind of the message that is open.
    kind: Kind,
    is_packed: bool,
    message: Vec<u8>,
    /// Most bytes of a message that are kept.
    bytes_max: usize,
    /// Whether reading has been given up: this is not a WebSocket that is understood, or a message was too
    /// long.
    is_lost: bool,
}

impl Frames {
    /// Keeps messages of at most `bytes_max` bytes; with 0 it keeps none and only finds where they end.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, ..Self::default() }
    }

    /// Whether reading has been given up.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// How many bytes of an incomplete message are held.
    pub(super) fn held(&self) -> usize {
        self.message.len()
    }

    /// Whether a message could begin now, because no frame and no message is open.
    pub(super) fn is_between(&self) -> bool {
        !self.is_lost && self.head.is_empty() && self.left == 0 && self.kind == Kind::None
    }

    /// Reads bytes that pass, and calls `told` for each text message that they complete.
    pub(super) fn feed(&mut self, mut bytes: &[u8], told: &mut impl FnMut(Message)) {
        while !self.is_lost && !bytes.is_empty() {
            if self.left > 0 {
                let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
                let (now, rest) = bytes.split_at(most);
                self.payload(now);
                self.left = self.left.saturating_sub(now.len() as u64);
                bytes = rest;
            } else if let Some((first, rest)) = bytes.split_first() {
                self.head.push(*first);
                bytes = rest;
                if !self.begin() {
                    continue;
                }
            }
            if self.left == 0 && !self.is_lost {
                self.end(told);
            }
        }
    }

    /// Begins a frame once its head is complete.
    fn begin(&mut self) -> bool {
        let [flags, length, rest @ ..] = self.head.as_slice() else { return false };
        let wide = match length & 0x7f {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let mask = if length & 0x80 == 0 { 0 } else { 4 };
        if rest.len() < wide + mask {
            debug_assert!(self.head.len() <= HEAD_BYTES_MAX, "heads are bounded by their own lengths");
            return false;
        }
        let (wide, mask) = rest.split_at(wide);
        self.left = match wide {
            [] => u64::from(length & 0x7f),
            wide => wide.iter().fold(0, |sum, byte| (sum << 8) | u64::from(*byte)),
        };
        self.mask = mask.first_chunk().copied().unwrap_or_default();
        self.masked = 0;
        self.is_last = flags & 0x80 != 0;
        let (packed, opcode) = (flags & 0x40 != 0, flags & 0x0f);
        let is_odd = flags & 0x30 != 0;
        self.is_control = opcode >= 8;
        self.head.clear();
        match opcode {
            1 | 2 if self.kind == Kind::None => {
                self.kind = if opcode == 1 { Kind::Text } else { Kind::Other };
                self.is_packed = packed;
            }
            0 if self.kind != Kind::None => {}
            // A control frame is not fragmented, not compressed, and short.
            8..=10 if self.is_last && !packed && self.left < 126 => {}
            _ => self.is_lost = true,
        }
        self.is_lost |= is_odd;
        true
    }

    /// Takes bytes of the payload.
    fn payload(&mut self, bytes: &[u8]) {
        if self.is_control || self.kind != Kind::Text || self.bytes_max == 0 {
            return;
        }
        if self.message.len().saturating_add(bytes.len()) > self.bytes_max {
            self.is_lost = true;
            self.message = Vec::new();
            return;
        }
        let masks = self.mask.iter().cycle().skip(self.masked);
        self.message.extend(bytes.iter().zip(masks).map(|(byte, mask)| byte ^ mask));
        self.masked = self.masked.wrapping_add(bytes.len()) & 3;
    }

    /// Ends a frame, and the message if it was its last frame.
    fn end(&mut self, told: &mut impl FnMut(Message)) {
        if self.is_control || !self.is_last {
            return;
        }
        let bytes = std::mem::take(&mut self.message);
        if std::mem::take(&mut self.kind) == Kind::Text && self.bytes_max > 0 {
            told(Message { bytes, is_packed: self.is_packed });
        }
    }
}

#[cfg(test)]
mod tests;
