//! Grants: rights on the conversations whose names match a pattern, such as `view,publish:team-a-*`.
//!
//! ```text
//! view:*                 see every conversation
//! view,control:team-*    see those of the team, and command in them
//! admin                  everything, everywhere
//! publish(as=ci-*):ci-*  write events under these publisher ids alone, see `publishing`
//! ```

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::pattern::{Pattern, PatternError};
use crate::publishing::{PublishLimit, PublishLimitError};
use crate::right::{Right, Rights};

/// Rights on the conversations whose names match a pattern. Written without a pattern, it covers every
/// conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Grant {
    /// The rights that it gives.
    rights: Rights,
    /// The conversations that it covers.
    pattern: Pattern,
    /// What may be published, where that is not everything; `publish` is among the rights then.
    limit: Option<PublishLimit>,
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
    /// What may be published is not said in a form that is understood.
    #[error(transparent)]
    Limit(#[from] PublishLimitError),
}

impl Grant {
    /// A grant of `rights` on all conversations that match `pattern`.
    pub fn new(rights: impl IntoIterator<Item = Right>, pattern: Pattern) -> Self {
        Self { rights: rights.into_iter().collect(), pattern, limit: None }
    }

    /// Whether the grant contains `right` without a limit. `admin` contains every right.
    pub fn has(&self, right: Right) -> bool {
        self.rights.has(right) && (right != Right::Publish || self.limit.is_none())
    }

    /// What may be published by it, where that is something and not everything.
    pub fn limit(&self) -> Option<&PublishLimit> {
        self.limit.as_ref()
    }

    /// The pattern of the conversations that it covers.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }
}

/// Splits `text` at each `at` that is not between parentheses, at most into `parts` parts.
fn outside(text: &str, at: char, parts: usize) -> Vec<&str> {
    let mut depth = 0_usize;
    text.splitn(parts, |sign: char| {
        match sign {
            '(' => depth = depth.saturating_add(1),
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        sign == at && depth == 0
    })
    .collect()
}

/// Reads `RIGHTS` or `RIGHTS:PATTERN`, with commas between rights.
impl FromStr for Grant {
    type Err = GrantError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut halves = outside(text, ':', 2).into_iter();
        let (words, pattern) = (halves.next().unwrap_or_default(), halves.next().unwrap_or("*"));
        let (mut rights, mut limit) = (Vec::new(), None);
        for word in outside(words, ',', usize::MAX).into_iter().map(str::trim) {
            let (name, limited) = match word.strip_suffix(')').and_then(|word| word.split_once('(')) {
                Some((name, limited)) => (name, Some(limited)),
                None => (word, None),
            };
            let right = Right::of_word(name);
            let right = right.ok_or_else(|| GrantError::UnknownRight(word.chars().take(40).collect()))?;
            if let Some(limited) = limited {
                // Of two that say what may be published, nobody knows which counts.
                if right != Right::Publish || rights.contains(&right) {
                    return Err(PublishLimitError::Form(word.chars().take(100).collect()).into());
                }
                limit = Some(PublishLimit::parse(limited)?);
            } else if right == Right::Publish && limit.is_some() {
                return Err(PublishLimitError::Form(words.chars().take(100).collect()).into());
            }
            rights.push(right);
        }
        let is_admin = rights.contains(&Right::Admin);
        let pattern = Pattern::parse(pattern)?;
        if is_admin && (!pattern.is_any() || limit.is_some()) {
            return Err(GrantError::NarrowAdmin);
        }
        Ok(Self { rights: rights.into_iter().collect(), pattern, limit })
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
            if let Some(limit) = self.limit.as_ref().filter(|_| right == Right::Publish) {
                limit.fmt(f)?;
            }
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
