//! Decides what a key press means from the focus and from what is on the screen. It does not know the
//! commands.

/// The kind of the focused element, which may handle keys itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    /// An input for text.
    Text,
    /// A box or list that scrolls, and handles the keys that scroll.
    Box,
    /// Anything else.
    Page,
}

/// The modifier that is held during a key press.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// None, or only Shift.
    Nothing,
    /// Ctrl, or the Command key.
    Control,
    /// Alt.
    Alt,
}

/// What is on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// The page.
    Page,
    /// A dialog over the page.
    Dialog,
    /// The bare page: the conversation without dialogs and without Find.
    Bare,
}

/// A key press.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Press<'a> {
    /// The browser's name of the key.
    pub key: &'a str,
    /// The modifier.
    pub held: Held,
    /// The focused element.
    pub focus: Focus,
    /// What is on the screen.
    pub shown: Shown,
    /// Whether the reader has switched single keys off.
    pub is_off: bool,
}

/// What the page does with a key press.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// Nothing: it is left to the browser.
    Nothing,
    /// Shows or hides the palette.
    Palette,
    /// Focuses the input of Find.
    Find,
    /// Goes to the next or the previous hit.
    Hit,
    /// Leaves the text input.
    Leave,
    /// Scrolls up; the view no longer follows the end.
    Up,
    /// Scrolls down.
    Down,
    /// Runs the command of the key, if there is one.
    Key,
}

/// Decides what the page does with a key press.
pub fn heard(press: Press<'_>) -> Heard {
    let Press { key, held, focus, shown, .. } = press;
    if shown == Shown::Bare && (held == Held::Control || matches!(key, "F3" | "/" | "?")) {
        return Heard::Nothing;
    }
    if held == Held::Control {
        return match key {
            "k" | "K" => Heard::Palette,
            "f" | "F" if shown == Shown::Page => Heard::Find,
            _ => Heard::Nothing,
        };
    }
    // A command under a dialog would happen unseen.
    if shown == Shown::Dialog {
        let is_heard = key == "Escape" || (key == "?" && focus != Focus::Text);
        return if is_heard { Heard::Key } else { Heard::Nothing };
    }
    if held == Held::Alt {
        return Heard::Nothing;
    }
    match (focus, key) {
        (_, "F3") => Heard::Hit,
        (Focus::Text, "Escape") => Heard::Leave,
        (Focus::Text, _) | (Focus::Box, "ArrowUp" | "ArrowDown" | "PageUp" | "PageDown" | "Home" | "End") => {
            Heard::Nothing
        }
        (_, "ArrowUp" | "PageUp" | "Home") => Heard::Up,
        (_, "ArrowDown" | "PageDown") => Heard::Down,
        _ if press.is_off && key.chars().count() == 1 && key != "?" => Heard::Nothing,
        _ => Heard::Key,
    }
}

#[cfg(test)]
mod tests {
    //! Tests of what is heard where.

    use super::*;

    const PLAIN: Press<'static> =
        Press { key: "", held: Held::Nothing, focus: Focus::Page, shown: Shown::Page, is_off: false };

    #[test]
    fn under_a_dialog_only_what_opens_and_closes_dialogs_is_heard() {
        let covered = |key, focus| heard(Press { key, focus, shown: Shown::Dialog, ..PLAIN });
        for key in ["A", "R", ".", "j", "End", "F3", "ArrowUp", "/"] {
            assert_eq!(covered(key, Focus::Page), Heard::Nothing, "{key}");
        }
        assert_eq!(covered("Escape", Focus::Text), Heard::Key);
        assert_eq!(covered("?", Focus::Page), Heard::Key);
        assert_eq!(covered("?", Focus::Text), Heard::Nothing, "it is typed");
        let control = |key| heard(Press { key, held: Held::Control, shown: Shown::Dialog, ..PLAIN });
        assert_eq!((control("k"), control("f")), (Heard::Palette, Heard::Nothing));
    }

    #[test]
    fn keys_that_scroll_belong_to_what_scrolls() {
        let at = |key, focus| heard(Press { key, focus, ..PLAIN });
        for key in ["ArrowUp", "PageUp", "Home", "End"] {
            assert_eq!(at(key, Focus::Box), Heard::Nothing, "{key}");
        }
        assert_eq!((at("End", Focus::Page), at("Home", Focus::Page)), (Heard::Key, Heard::Up));
        assert_eq!((at("PageDown", Focus::Page), at("PageDown", Focus::Box)), (Heard::Down, Heard::Nothing));
        assert_eq!(at("j", Focus::Box), Heard::Key);
    }

    #[test]
    fn what_is_typed_is_no_command() {
        let typed = |key| heard(Press { key, focus: Focus::Text, ..PLAIN });
        assert_eq!((typed("A"), typed("?"), typed("End")), (Heard::Nothing, Heard::Nothing, Heard::Nothing));
        assert_eq!((typed("Escape"), typed("F3")), (Heard::Leave, Heard::Hit));
        let off = |key| heard(Press { key, is_off: true, ..PLAIN });
        assert_eq!((off("A"), off("?"), off("Escape")), (Heard::Nothing, Heard::Key, Heard::Key));
    }

    #[test]
    fn a_page_without_find_leaves_the_browsers_own() {
        let find = |shown| heard(Press { key: "f", held: Held::Control, shown, ..PLAIN });
        assert_eq!((find(Shown::Page), find(Shown::Bare)), (Heard::Find, Heard::Nothing));
        assert_eq!(heard(Press { key: "/", shown: Shown::Bare, ..PLAIN }), Heard::Nothing);
        assert_eq!(heard(Press { key: "End", shown: Shown::Bare, ..PLAIN }), Heard::Key);
        assert_eq!(heard(Press { key: "x", held: Held::Alt, ..PLAIN }), Heard::Nothing);
    }
}
