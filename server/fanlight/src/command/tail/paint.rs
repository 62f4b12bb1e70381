//! Colours of a terminal, or none; and text that cannot do anything to a terminal.

use crate::command::terminal::harmless;

/// What a piece of text stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextStyle {
    /// As it is.
    Plain,
    /// Who speaks.
    Strong,
    /// Thinking and marginal notes.
    Dim,
    /// Waits to be executed.
    Pending,
    /// Is executed.
    Running,
    /// Is done.
    Good,
    /// Has failed.
    Bad,
    /// Waits for a person.
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

/// Whether there are colours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Palette {
    colours: bool,
}

impl Palette {
    pub(super) fn new(colours: bool) -> Self {
        Self { colours }
    }

    /// Adds `text` in `ink` to `out`.
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
