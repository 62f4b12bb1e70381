//! Plain text that grows: pieces of about 2 KB that never change again, and a short rest.
//!
//! A browser lays out a growing text node as a whole at each change, so the part that grows must stay small.

/// Shortest piece, in bytes; it ends at the next line end, or at the next space when a line is very long.
const PIECE_BYTES: usize = 2048;

/// Longest piece, in bytes: a text without any space is cut between two characters.
const PIECE_BYTES_MAX: usize = 4096;

/// How much of a growing text was given out as pieces.
#[derive(Debug, Default)]
pub struct Plain {
    done: usize,
}

/// What a page does to follow the text.
#[derive(Debug, PartialEq, Eq)]
pub struct Pieces<'a> {
    /// Whether everything that was given out before is void.
    pub restart: bool,
    /// Pieces that do not change again; they come before the rest.
    pub done: Vec<&'a str>,
    /// What comes after them.
    pub rest: &'a str,
}

impl Plain {
    /// Looks at `text`, which begins with what it was at the last call.
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

/// The first piece of `text` and what comes after it, when there is enough for one.
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
