//! Patterns of conversation names: a name, or a name with `*`, which matches any number of characters. `\*`
//! is a literal star. No name contains a backslash.

use std::fmt;

use compact_str::CompactString;
use model::limits::CONVERSATION_ID_BYTES_MAX;

/// The longest pattern as written, in bytes.
const PATTERN_BYTES_MAX: usize = 2 * CONVERSATION_ID_BYTES_MAX;

/// A pattern of conversation names. It is stored as the pieces between the stars, so there is one piece more
/// than stars.
#[derive(Clone, PartialEq, Eq)]
pub struct Pattern {
    /// The literal pieces between the stars; a single one if there is no star.
    pieces: Vec<CompactString>,
}

/// Why a text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// The text is empty.
    #[error("the pattern is empty; `*` matches every conversation")]
    Empty,
    /// The text is too long; the value is its length in bytes.
    #[error("the pattern has {0} bytes, the limit is {PATTERN_BYTES_MAX}")]
    TooLong(usize),
    /// A backslash is not followed by a star.
    #[error("a backslash in the pattern {0:?} is not followed by a star")]
    Backslash(String),
    /// The text contains a character that no name has, so it would match nothing.
    #[error("the pattern holds {0:?}, which no conversation's name has")]
    Forbidden(char),
}

impl Pattern {
    /// The pattern that matches every conversation.
    pub fn any() -> Self {
        Self { pieces: vec![CompactString::default(); 2] }
    }

    /// The pattern that matches only the conversation `name`, whatever characters that contains.
    pub fn exactly(name: &str) -> Self {
        Self { pieces: vec![name.into()] }
    }

    /// Parses a written pattern. Fails for one that could match no name.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        if text.len() > PATTERN_BYTES_MAX {
            return Err(PatternError::TooLong(text.len()));
        }
        let mut pieces = vec![CompactString::default()];
        let mut signs = text.chars();
        while let Some(sign) = signs.next() {
            let literal = match sign {
                '*' => {
                    pieces.push(CompactString::default());
                    continue;
                }
                '\\' if signs.next() == Some('*') => '*',
                '\\' => return Err(PatternError::Backslash(text.to_owned())),
                sign if sign.is_control() || sign == '/' => return Err(PatternError::Forbidden(sign)),
                sign => sign,
            };
            if let Some(last) = pieces.last_mut() {
                last.push(literal);
            }
        }
        Ok(Self { pieces })
    }

    /// Whether the pattern matches every name.
    pub fn is_any(&self) -> bool {
        self.pieces.len() > 1 && self.pieces.iter().all(CompactString::is_empty)
    }

    /// Whether the pattern matches one name and no other.
    pub fn is_one(&self) -> bool {
        self.pieces.len() == 1
    }

    /// What names begin with, if the pattern matches those that begin with it and no others: its only star is its last
    /// character.
    pub fn start(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [start, end] if end.is_empty() => Some(start),
            _ => None,
        }
    }

    /// Whether the pattern matches `name`. The time is at most the product of both lengths, and usually their
    /// sum.
    pub fn matches(&self, name: &str) -> bool {
        let Some((first, rest)) = self.pieces.split_first() else { return false };
        let Some((last, middle)) = rest.split_last() else { return name == first };
        let Some(mut left) = name.strip_prefix(first.as_str()) else { return false };
        // The first place of each piece leaves the most text for those after it.
        for piece in middle {
            let Some((_, behind)) = left.split_once(piece.as_str()) else { return false };
            left = behind;
        }
        left.ends_with(last.as_str())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, piece) in self.pieces.iter().enumerate() {
            if number > 0 {
                f.write_str("*")?;
            }
            f.write_str(&piece.replace('*', "\\*"))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({self})")
    }
}

#[cfg(test)]
mod tests;
