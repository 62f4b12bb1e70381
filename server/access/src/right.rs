//! The rights that a grant can contain.

use std::fmt;

/// A right that a grant can contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Right {
    /// See it: live, in the list, in search, and its results.
    View,
    /// Write events into it.
    Publish,
    /// Send messages to agents in it, stop them, approve and reject calls.
    Control,
    /// Create it from a file.
    Import,
    /// Export it to a file.
    Export,
    /// Operate the hub: its metrics, and the links of others. It implies every other right.
    Admin,
}

impl Right {
    /// All rights, in order.
    pub const ALL: [Self; 6] =
        [Self::View, Self::Publish, Self::Control, Self::Import, Self::Export, Self::Admin];

    /// The word in grants.
    pub fn word(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Publish => "publish",
            Self::Control => "control",
            Self::Import => "import",
            Self::Export => "export",
            Self::Admin => "admin",
        }
    }

    /// The right with this word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|right| right.word() == word)
    }

    /// The bit in [`Rights`].
    fn bit(self) -> u8 {
        match self {
            Self::View => 1,
            Self::Publish => 2,
            Self::Control => 4,
            Self::Import => 8,
            Self::Export => 16,
            Self::Admin => 32,
        }
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A set of rights, with a bit for each.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Rights(u8);

impl Rights {
    /// The set of all rights.
    pub fn all() -> Self {
        Right::ALL.into_iter().collect()
    }

    /// Whether `right` is in the set. `Admin` implies all rights.
    pub fn has(self, right: Right) -> bool {
        self.0 & (right.bit() | Right::Admin.bit()) != 0
    }

    /// The rights that were named, without implied ones.
    pub fn named(self) -> impl Iterator<Item = Right> {
        Right::ALL.into_iter().filter(move |right| self.0 & right.bit() != 0)
    }
}

impl FromIterator<Right> for Rights {
    fn from_iter<I: IntoIterator<Item = Right>>(rights: I) -> Self {
        Self(rights.into_iter().fold(0, |bits, right| bits | right.bit()))
    }
}

impl fmt::Debug for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.named()).finish()
    }
}
