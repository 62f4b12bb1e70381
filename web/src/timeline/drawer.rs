//! How the timeline is shown below the conversation.

/// How the timeline is shown: its height, and whether in rows or lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Drawer {
    /// The timeline is not shown.
    #[default]
    Closed,
    /// A few rows of the timeline.
    Low,
    /// Many rows of the timeline.
    Tall,
    /// Lanes, on two fifths of the height of the page.
    Lanes,
}

impl Drawer {
    /// All ways in which the timeline is shown.
    const SHOWN: [Self; 3] = [Self::Low, Self::Tall, Self::Lanes];

    /// The value in addresses and settings; that of rows is their height in CSS pixels.
    pub fn word(self) -> &'static str {
        match self {
            Self::Closed => "0",
            Self::Low => "168",
            Self::Tall => "320",
            Self::Lanes => "lanes",
        }
    }

    /// The way with this value; `None` if there is none.
    pub fn parse(word: &str) -> Option<Self> {
        let all = Self::SHOWN.into_iter().chain([Self::Closed]);
        all.into_iter().find(|drawer| drawer.word() == word)
    }

    /// The other of the two heights of rows.
    #[must_use]
    pub fn resized(self) -> Self {
        if self == Self::Low { Self::Tall } else { Self::Low }
    }
}

#[cfg(test)]
mod tests {
    //! Tests the words of the drawer.

    use super::*;

    #[test]
    fn a_height_is_read_as_it_was_said() {
        for drawer in [Drawer::Closed, Drawer::Low, Drawer::Tall, Drawer::Lanes] {
            assert_eq!(Drawer::parse(drawer.word()), Some(drawer));
        }
        assert_eq!(Drawer::parse("7"), None);
        assert_eq!(Drawer::Tall.resized(), Drawer::Low);
    }
}
