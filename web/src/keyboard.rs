//! Decides what a key press means from the focus and from what is on the screen. It does not know the
//! commands.

/// The kind of the focused element, which may handle keys itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    /// An input for text.
    Text,
    /// A box or list that scrolls, and handles the keys that scroll.
    Box,
    /// Any other element, or none.
    Page,
}

/// The modifier that is held during a key press.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Modifier {
    /// No modifier, or only Shift.
    Nothing,
    /// Ctrl, or the Command key.
    Control,
    /// The Alt key.
    Alt,
}

/// What is on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Screen {
    /// The page itself.
    Page,
    /// A dialog over the page.
    Dialog,
    /// The bare page: the conversation without dialogs and without Find.
    Bare,
}

/// A press of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Press<'a> {
    /// The browser's name of the key.
    pub key: &'a str,
    /// The modifier that is held.
    pub held: Modifier,
    /// The kind of the focused element.
    pub focus: Focus,
    /// What is on the screen: the page, a dialog or the bare page.
    pub shown: Screen,
    /// Whether the reader has switched single keys off.
    pub is_off: bool,
}

/// What the page does with a key press.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyAction {
    /// The page does nothing: the key is left to the browser.
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
    /// Scrolls down the view.
    Down,
    /// Runs the command of the key, if there is one.
    Key,
}

/// Decides what the page does with a key press.
pub fn action_of(press: Press<'_>) -> KeyAction {
    let Press { key, held, focus, shown, .. } = press;
    if shown == Screen::Bare && (held == Modifier::Control || matches!(key, "F3" | "/" | "?")) {
        return KeyAction::Nothing;
    }
    if held == Modifier::Control {
        return match key {
            "k" | "K" => KeyAction::Palette,
            "f" | "F" if shown == Screen::Page => KeyAction::Find,
            _ => KeyAction::Nothing,
        };
    }
    // A command under a dialog would happen unseen.
    if shown == Screen::Dialog {
        let is_heard = key == "Escape" || (key == "?" && focus != Focus::Text);
        return if is_heard { KeyAction::Key } else { KeyAction::Nothing };
    }
    if held == Modifier::Alt {
        return KeyAction::Nothing;
    }
    match (focus, key) {
        (_, "F3") => KeyAction::Hit,
        (Focus::Text, "Escape") => KeyAction::Leave,
        (Focus::Text, _) | (Focus::Box, "ArrowUp" | "ArrowDown" | "PageUp" | "PageDown" | "Home" | "End") => {
            KeyAction::Nothing
        }
        (_, "ArrowUp" | "PageUp" | "Home") => KeyAction::Up,
        (_, "ArrowDown" | "PageDown") => KeyAction::Down,
        _ if press.is_off && key.chars().count() == 1 && key != "?" => KeyAction::Nothing,
        _ => KeyAction::Key,
    }
}

#[cfg(test)]
mod tests {
    //! Tests of what is heard where.

    use super::*;

    const PLAIN: Press<'static> =
        Press { key: "", held: Modifier::Nothing, focus: Focus::Page, shown: Screen::Page, is_off: false };

    #[test]
    fn under_a_dialog_only_what_opens_and_closes_dialogs_is_heard() {
        let covered = |key, focus| action_of(Press { key, focus, shown: Screen::Dialog, ..PLAIN });
        for key in ["A", "R", ".", "j", "End", "F3", "ArrowUp", "/"] {
            assert_eq!(covered(key, Focus::Page), KeyAction::Nothing, "{key}");
        }
        assert_eq!(covered("Escape", Focus::Text), KeyAction::Key);
        assert_eq!(covered("?", Focus::Page), KeyAction::Key);
        assert_eq!(covered("?", Focus::Text), KeyAction::Nothing, "it is typed");
        let control = |key| action_of(Press { key, held: Modifier::Control, shown: Screen::Dialog, ..PLAIN });
        assert_eq!((control("k"), control("f")), (KeyAction::Palette, KeyAction::Nothing));
    }

    #[test]
    fn keys_that_scroll_belong_to_what_scrolls() {
        let at = |key, focus| action_of(Press { key, focus, ..PLAIN });
        for key in ["ArrowUp", "PageUp", "Home", "End"] {
            assert_eq!(at(key, Focus::Box), KeyAction::Nothing, "{key}");
        }
        assert_eq!((at("End", Focus::Page), at("Home", Focus::Page)), (KeyAction::Key, KeyAction::Up));
        assert_eq!(
            (at("PageDown", Focus::Page), at("PageDown", Focus::Box)),
            (KeyAction::Down, KeyAction::Nothing)
        );
        assert_eq!(at("j", Focus::Box), KeyAction::Key);
    }

    #[test]
    fn what_is_typed_is_no_command() {
        let typed = |key| action_of(Press { key, focus: Focus::Text, ..PLAIN });
        assert_eq!(
            (typed("A"), typed("?"), typed("End")),
            (KeyAction::Nothing, KeyAction::Nothing, KeyAction::Nothing)
        );
        assert_eq!((typed("Escape"), typed("F3")), (KeyAction::Leave, KeyAction::Hit));
        let off = |key| action_of(Press { key, is_off: true, ..PLAIN });
        assert_eq!((off("A"), off("?"), off("Escape")), (KeyAction::Nothing, KeyAction::Key, KeyAction::Key));
    }

    #[test]
    fn a_page_without_find_leaves_the_browsers_own() {
        let find = |shown| action_of(Press { key: "f", held: Modifier::Control, shown, ..PLAIN });
        assert_eq!((find(Screen::Page), find(Screen::Bare)), (KeyAction::Find, KeyAction::Nothing));
        assert_eq!(action_of(Press { key: "/", shown: Screen::Bare, ..PLAIN }), KeyAction::Nothing);
        assert_eq!(action_of(Press { key: "End", shown: Screen::Bare, ..PLAIN }), KeyAction::Key);
        assert_eq!(action_of(Press { key: "x", held: Modifier::Alt, ..PLAIN }), KeyAction::Nothing);
    }
}
