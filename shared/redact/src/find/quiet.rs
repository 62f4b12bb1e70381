//! Whether a piece of a text needs no search, since no secret begins in it. So it is with nearly every piece of most texts, so this is what redaction costs
//! them.

use super::{Entry, Finder, What};
use crate::card;
use crate::verdict::BEGIN as PRIVATE_KEY_BEGIN;

/// Most bytes of a text that [`Finder::is_quiet`] takes beside the piece that follows them: the two at its end that were not looked at, the
/// first of which may be inside of a letter of four.
pub(crate) const BEFORE_BYTES_MAX: usize = 5;

impl Finder {
    /// Whether no secret begins in `before` or in `piece`, which follows it, whatever comes next; only where a secret begins with the last
    /// two bytes it cannot tell. Both are without escapes. It looks at no rule, so it may say no of what is none either; and no of a
    /// `before` of more than [`BEFORE_BYTES_MAX`] bytes.
    #[inline]
    pub(crate) fn is_quiet(&self, before: &[u8], piece: &[u8]) -> bool {
        let is_told_by_starts = self.email.is_none() && self.patterns.is_empty();
        is_told_by_starts && (self.is_plain(before, piece) || self.is_excluded(before, piece))
    }

    /// Whether that is told without looking at numbers: no word of the table stands there, no number goes on from `before` or behind `piece`, and
    /// the digits of a card do not stand in it.
    #[inline]
    fn is_plain(&self, before: &[u8], piece: &[u8]) -> bool {
        let goes_on = match piece {
            [.., digit, b' ' | b'-'] | [.., digit] => digit.is_ascii_digit(),
            [] => false,
        };
        let spans = || match (before, piece) {
            // Nearly always, and then nothing is copied.
            ([a, b], [c, d, ..]) => {
                a.is_ascii_digit() | b.is_ascii_digit() | self.starts.may_hold_word_in([*a, *b, *c, *d])
            }
            _ => self.spans_any(before, piece),
        };
        !goes_on && !spans() && !card::may_hold_digits(piece) && !self.starts.may_hold_word(piece)
    }

    /// Whether a number goes on from `before`, or a word of the table may begin there.
    #[inline(never)]
    fn spans_any(&self, before: &[u8], piece: &[u8]) -> bool {
        let mut joint = [0; BEFORE_BYTES_MAX + 2];
        before.iter().any(u8::is_ascii_digit)
            || joined(&mut joint, before, piece).is_none_or(|seam| self.starts.may_hold_word(seam))
    }

    /// Whether it is told by what may begin at each place.
    #[inline(never)]
    fn is_excluded(&self, before: &[u8], piece: &[u8]) -> bool {
        let mut joint = [0; BEFORE_BYTES_MAX + 2];
        let Some(seam) = joined(&mut joint, before, piece) else { return false };
        self.starts.places(seam).next().is_none()
            && self.starts.places(piece).all(|(at, entries)| {
                let text = piece.get(at..).unwrap_or_default();
                entries.iter().all(|entry| entry.is_excluded(text))
            })
    }
}

impl Entry {
    /// Whether what `text` begins with is no secret of this kind, whatever follows it; told by its first bytes alone.
    fn is_excluded(&self, text: &[u8]) -> bool {
        let differs = |start: &[u8]| start.iter().zip(text).any(|(one, other)| one != other);
        match (&self.encoded, self.what) {
            (Some(encoded), _) => differs(&encoded.letters),
            (None, What::Key(_, start)) => differs(start.as_bytes()),
            (None, What::PrivateKey) => differs(PRIVATE_KEY_BEGIN),
            (None, What::Card) => card::is_excluded(text),
        }
    }
}

/// `before` and the first two bytes of `piece`, in `joint`; nothing where they have no room.
fn joined<'a>(joint: &'a mut [u8], before: &[u8], piece: &[u8]) -> Option<&'a [u8]> {
    let count = before.len() + piece.len().min(2);
    let seam = joint.get_mut(..count)?;
    seam.iter_mut().zip(before.iter().chain(piece)).for_each(|(byte, from)| *byte = *from);
    Some(seam)
}
