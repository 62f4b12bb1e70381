//! Which of the page's parts are shown.

/// Which sheet lies over a narrow page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Sheet {
    /// None.
    #[default]
    None,
    /// The list of conversations.
    List,
    /// The tools.
    Tools,
}

/// What lies over the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Over {
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

/// What the panel beside the conversation shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tab {
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
