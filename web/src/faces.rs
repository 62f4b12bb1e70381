//! Which of the page's parts are shown.

/// From this width on, in CSS pixels, the panel stands beside the conversation.
const BESIDE_WIDTH: f64 = 1200.0;

/// Whether the panel has room beside the conversation on a page of this width, in CSS pixels; else it lies over it.
pub fn has_room_beside(width: f64) -> bool {
    width >= BESIDE_WIDTH
}

/// Which sheet lies over a narrow page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sheet {
    /// None.
    #[default]
    None,
    /// The list of conversations.
    List,
    /// The tools.
    Tools,
}

impl Sheet {
    /// What lies there after `asked` was asked for: asked for again, a sheet goes.
    #[must_use]
    pub fn toggled(self, asked: Self) -> Self {
        if self == asked { Self::None } else { asked }
    }
}

/// What lies over the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Over {
    /// Nothing.
    #[default]
    Nothing,
    /// The keys, explained.
    Help,
    /// All commands and conversations.
    Palette,
    /// What the reader prefers.
    Settings,
    /// The conversation as a file.
    Export,
    /// What to compare the conversation with.
    Compare,
}

impl Over {
    /// What lies there after `asked` was asked for: asked for again, it goes.
    #[must_use]
    pub fn toggled(self, asked: Self) -> Self {
        if self == asked { Self::Nothing } else { asked }
    }
}

/// What the panel beside the conversation shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tab {
    /// Every call.
    #[default]
    Tools,
    /// The agents, and one of them.
    Agents,
    /// Where a word stands.
    Find,
    /// What is known of the conversation and stands nowhere else.
    Details,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_again_goes_and_something_else_takes_its_place() {
        assert_eq!(Sheet::None.toggled(Sheet::List), Sheet::List);
        assert_eq!(Sheet::List.toggled(Sheet::List), Sheet::None);
        assert_eq!(Sheet::List.toggled(Sheet::Tools), Sheet::Tools);
        assert_eq!(Over::Nothing.toggled(Over::Palette), Over::Palette);
        assert_eq!(Over::Palette.toggled(Over::Palette), Over::Nothing);
        assert_eq!(Over::Palette.toggled(Over::Help), Over::Help);
    }

    #[test]
    fn the_panel_stands_beside_the_conversation_on_a_wide_page_alone() {
        assert!(has_room_beside(1200.0) && has_room_beside(1440.0));
        assert!(!has_room_beside(1199.0) && !has_room_beside(390.0));
    }
}
