//! The height of the timeline below the conversation.

/// The height of the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Drawer {
    /// Not shown.
    #[default]
    Closed,
    /// A few rows.
    Low,
    /// Many rows.
    Tall,
}

impl Drawer {
    /// The height in CSS pixels.
    pub fn px(self) -> u32 {
        match self {
            Self::Closed => 0,
            Self::Low => 168,
            Self::Tall => 320,
        }
    }

    /// The value in addresses and settings.
    pub fn word(self) -> &'static str {
        match self {
            Self::Closed => "0",
            Self::Low => "168",
            Self::Tall => "320",
        }
    }

    /// The height with this value.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Closed, Self::Low, Self::Tall].into_iter().find(|drawer| drawer.word() == word)
    }

    /// The other of the two visible heights.
    #[must_use]
    pub fn resized(self) -> Self {
        if self == Self::Low { Self::Tall } else { Self::Low }
    }
}

#[cfg(test)]
mod tests {
    //! Its words.

    use super::*;

    #[test]
    fn a_height_is_read_as_it_was_said() {
        for drawer in [Drawer::Closed, Drawer::Low, Drawer::Tall] {
            assert_eq!(Drawer::parse(drawer.word()), Some(drawer));
            assert_eq!(drawer.word(), drawer.px().to_string());
        }
        assert_eq!(Drawer::parse("7"), None);
        assert_eq!(Drawer::Tall.resized(), Drawer::Low);
    }
}
