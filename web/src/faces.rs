//! Says which parts of the page are shown: sheets, dialogs, and tabs of the panel.

/// The smallest width of the page, in CSS pixels, at which the panel is beside the conversation.
const BESIDE_WIDTH: f64 = 1200.0;

/// Whether a page of this width, in CSS pixels, shows the panel beside the conversation instead of over it.
pub fn has_room_beside(width: f64) -> bool {
    width >= BESIDE_WIDTH
}

/// The sheet that covers a narrow page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sheet {
    /// The page is not covered.
    #[default]
    None,
    /// The list of conversations.
    List,
    /// The panel beside the conversation.
    Tools,
}

impl Sheet {
    /// The sheet after a request for `asked`. A second request closes it.
    #[must_use]
    pub fn toggled(self, asked: Self) -> Self {
        if self == asked { Self::None } else { asked }
    }
}

/// The dialog that is open over the page. At most one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OpenDialog {
    /// No dialog is open.
    #[default]
    None,
    /// The list of keys.
    Help,
    /// The palette of commands and conversations.
    Palette,
    /// The settings of the reader.
    Settings,
    /// The export of the conversation.
    Export,
    /// Pin, archive, tags and note of the conversation.
    Order,
    /// The choice of a conversation for a comparison.
    Compare,
    /// Whether to delete the conversation.
    Delete,
    /// Links to the conversation.
    Share,
}

impl OpenDialog {
    /// The dialog after a request for `asked`. A second request closes it.
    #[must_use]
    pub fn toggled(self, asked: Self) -> Self {
        if self == asked { Self::None } else { asked }
    }
}

/// The tabs of the panel beside the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tab {
    /// The list of all calls.
    #[default]
    Tools,
    /// The tree of agents, or one agent.
    Agents,
    /// Questions, headings and failures.
    Outline,
    /// The hits of a search.
    Find,
    /// Facts about the conversation that are shown nowhere else.
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
        assert_eq!(OpenDialog::None.toggled(OpenDialog::Palette), OpenDialog::Palette);
        assert_eq!(OpenDialog::Palette.toggled(OpenDialog::Palette), OpenDialog::None);
        assert_eq!(OpenDialog::Palette.toggled(OpenDialog::Help), OpenDialog::Help);
    }

    #[test]
    fn the_panel_stands_beside_the_conversation_on_a_wide_page_alone() {
        assert!(has_room_beside(1200.0) && has_room_beside(1440.0));
        assert!(!has_room_beside(1199.0) && !has_room_beside(390.0));
    }
}
