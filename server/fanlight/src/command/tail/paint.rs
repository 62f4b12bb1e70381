//! Colours for a terminal, or none, and text without control characters.

use crate::command::terminal::harmless;

/// The style of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextStyle {
    /// Text without a style.
    Plain,
    /// The name of a speaker.
    Strong,
    /// Something less important: thinking and notes.
    Dim,
    /// A call that waits to be executed.
    Pending,
    /// A call that is being executed.
    Running,
    /// Something that succeeded.
    Good,
    /// Something that failed.
    Bad,
    /// Something that waits for a person.
    Question,
}

impl TextStyle {
    /// The parameter of the terminal's colour sequence.
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "0",
            Self::Strong => "1",
            Self::Dim => "2",
            Self::Pending => "33",
            Self::Running => "35",
            Self::Good => "32",
            Self::Bad => "31",
            Self::Question => "34",
        }
    }
}

/// Whether to use colours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Palette {
    colours: bool,
}

impl Palette {
    pub(super) fn new(colours: bool) -> Self {
        Self { colours }
    }

    /// Appends `text` in the style `ink` to `out`. Control characters are replaced.
    pub(super) fn add(self, out: &mut String, ink: TextStyle, text: &str) {
        let coloured = self.colours && ink != TextStyle::Plain;
        if coloured {
            out.push_str("\x1b[");
            out.push_str(ink.code());
            out.push('m');
        }
        out.extend(text.chars().map(harmless));
        if coloured {
            out.push_str("\x1b[0m");
        }
    }
}
