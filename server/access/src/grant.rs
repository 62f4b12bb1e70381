//! Grants: rights on the conversations whose names match a pattern, such as `view,publish:team-a-*`.
//!
//! ```text
//! view:*                 see every conversation
//! view,control:team-*    see those of the team, and command in them
//! admin                  everything, everywhere
//! ```

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::pattern::{Pattern, PatternError};
use crate::right::{Right, Rights};

/// Rights on the conversations whose names match a pattern. Written without a pattern, it covers every
/// conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Grant {
    /// What it allows.
    rights: Rights,
    /// Where it allows that.
    pattern: Pattern,
}

/// Why a text is not a grant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// A word is not a right.
    #[error("{0:?} is not a right; there are view, publish, control, import, export and admin")]
    UnknownRight(String),
    /// The pattern is invalid.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// `admin` has a pattern, although it concerns the whole hub.
    #[error("admin is about the whole hub: write it without a pattern, or with `*`")]
    NarrowAdmin,
}

impl Grant {
    /// A grant of `rights` on all conversations that match `pattern`.
    pub fn new(rights: impl IntoIterator<Item = Right>, pattern: Pattern) -> Self {
        Self { rights: rights.into_iter().collect(), pattern }
    }

    /// Whether the grant contains `right`. `admin` contains every right.
    pub fn has(&self, right: Right) -> bool {
        self.rights.has(right)
    }

    /// The pattern of the conversations that it covers.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }
}

/// Reads `RIGHTS` or `RIGHTS:PATTERN`, with commas between rights.
impl FromStr for Grant {
    type Err = GrantError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (words, pattern) = text.split_once(':').unwrap_or((text, "*"));
        let right = |word: &str| {
            let word = word.trim();
            Right::of_word(word).ok_or_else(|| GrantError::UnknownRight(word.chars().take(40).collect()))
        };
        let rights = words.split(',').map(right).collect::<Result<Rights, _>>()?;
        let pattern = Pattern::parse(pattern)?;
        if rights.named().any(|right| right == Right::Admin) && !pattern.is_any() {
            return Err(GrantError::NarrowAdmin);
        }
        Ok(Self { rights, pattern })
    }
}

impl TryFrom<String> for Grant {
    type Error = GrantError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Grant> for String {
    fn from(grant: Grant) -> Self {
        grant.to_string()
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, right) in self.rights.named().enumerate() {
            write!(f, "{}{right}", if number > 0 { "," } else { "" })?;
        }
        write!(f, ":{}", self.pattern)
    }
}

#[cfg(test)]
mod tests {
    //! Tests of how grants are written.

    use super::*;

    #[test]
    fn a_grant_is_read_as_it_is_written() {
        for text in ["view:*", "view,publish:team-a-*", "control:a:b", "admin:*"] {
            assert_eq!(text.parse::<Grant>().unwrap().to_string(), text);
        }
        assert_eq!("view, export".parse::<Grant>().unwrap().to_string(), "view,export:*");
    }

    #[test]
    fn what_is_no_grant_is_refused_by_name() {
        assert_eq!("read:*".parse::<Grant>(), Err(GrantError::UnknownRight("read".to_owned())));
        assert_eq!("".parse::<Grant>(), Err(GrantError::UnknownRight(String::new())));
        assert_eq!("view:".parse::<Grant>(), Err(GrantError::Pattern(PatternError::Empty)));
        assert_eq!("view,admin:team-*".parse::<Grant>(), Err(GrantError::NarrowAdmin));
    }

    #[test]
    fn who_operates_the_hub_has_every_right() {
        let admin: Grant = "admin".parse().unwrap();
        assert!(Right::ALL.into_iter().all(|right| admin.has(right)));
        let view: Grant = "view:*".parse().unwrap();
        assert!(Right::ALL.into_iter().all(|right| view.has(right) == (right == Right::View)));
    }
}
