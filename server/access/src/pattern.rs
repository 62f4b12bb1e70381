//! Which conversations a grant is about: a name, or a name with `*` in it, which stands for any number of characters. `\*` is a star that
//! the name itself has; no name has a backslash.

use std::fmt;

use compact_str::CompactString;
use model::limits::CONVERSATION_ID_BYTES_MAX;

/// Most bytes of a pattern as it is written.
const PATTERN_BYTES_MAX: usize = 2 * CONVERSATION_ID_BYTES_MAX;

/// Names of conversations: the pieces between the stars, so one more than there are stars.
#[derive(Clone, PartialEq, Eq)]
pub struct Pattern {
    /// What stands between the stars; one piece where there is no star.
    pieces: Vec<CompactString>,
}

/// Why a text is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// There is nothing.
    #[error("the pattern is empty; `*` stands for every conversation")]
    Empty,
    /// It is over the limit.
    #[error("the pattern has {0} bytes, the limit is {PATTERN_BYTES_MAX}")]
    TooLong(usize),
    /// A backslash that stands before no star.
    #[error("a backslash in the pattern {0:?} stands before no star")]
    Backslash(String),
    /// It holds a character that no name has, so it would match nothing.
    #[error("the pattern holds {0:?}, which no conversation's name has")]
    Forbidden(char),
}

impl Pattern {
    /// The pattern that every conversation fits.
    pub fn any() -> Self {
        Self { pieces: vec![CompactString::default(); 2] }
    }

    /// The one conversation `name`, whatever characters it has.
    pub fn exactly(name: &str) -> Self {
        Self { pieces: vec![name.into()] }
    }

    /// The pattern that `text` writes; an error names what does not fit.
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

    /// Whether it stands for every name.
    pub fn is_any(&self) -> bool {
        self.pieces.len() > 1 && self.pieces.iter().all(CompactString::is_empty)
    }

    /// Whether `name` matches. Takes at most the product of both lengths, and for all but contrived patterns their sum.
    pub fn matches(&self, name: &str) -> bool {
        let Some((first, rest)) = self.pieces.split_first() else { return false };
        let Some((last, middle)) = rest.split_last() else { return name == first };
        let Some(mut left) = name.strip_prefix(first.as_str()) else { return false };
        // Each piece at its first place leaves the most for those behind it.
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
