//! Splits a growing plain text into final pieces of about 2 KB and a short rest.
//!
//! A browser lays out a growing text node as a whole at each change, so the part that grows must stay small.

/// The shortest piece, in bytes. It ends at the next end of a line, or at the next space in a very long line.
const PIECE_BYTES: usize = 2048;

/// The longest piece, in bytes: a text without spaces is split between two characters.
const PIECE_BYTES_MAX: usize = 4096;

/// How much of a growing text was returned as pieces.
#[derive(Debug, Default)]
pub struct Plain {
    done: usize,
}

/// What changed since the last call.
#[derive(Debug, PartialEq, Eq)]
pub struct Pieces<'a> {
    /// Whether all pieces that were returned before are invalid.
    pub restart: bool,
    /// The new final pieces; they are before the rest.
    pub done: Vec<&'a str>,
    /// The text after the pieces.
    pub rest: &'a str,
}

impl Plain {
    /// Takes the text, which must begin with that of the last call.
    pub fn advance<'a>(&mut self, text: &'a str) -> Pieces<'a> {
        let restart = !text.is_char_boundary(self.done);
        if restart {
            self.done = 0;
        }
        let mut rest = text.get(self.done..).unwrap_or_default();
        let mut done = Vec::new();
        while let Some((piece, after)) = piece_of(rest) {
            done.push(piece);
            rest = after;
            self.done = self.done.saturating_add(piece.len());
        }
        Pieces { restart, done, rest }
    }
}

/// The first piece of `text` and the text after it; `None` if the text is too short for one.
fn piece_of(text: &str) -> Option<(&str, &str)> {
    if text.len() <= PIECE_BYTES {
        return None;
    }
    let from = text.ceil_char_boundary(PIECE_BYTES);
    let to = text.floor_char_boundary(PIECE_BYTES_MAX.min(text.len()));
    let window = text.get(from..to).unwrap_or_default();
    let end =
        window.find('\n').or_else(|| (text.len() >= PIECE_BYTES_MAX).then(|| window.rfind(' ')).flatten());
    let cut = match end {
        Some(at) => from.saturating_add(at).saturating_add(1),
        None if text.len() >= PIECE_BYTES_MAX => to,
        None => return None,
    };
    text.split_at_checked(cut)
}

#[cfg(test)]
mod tests;
