//! The hand of an operator: it clicks and types as a person does, and everything that it does is counted where it is done.
//!
//! | what a hand does | counts as |
//! |---|---|
//! | a press and release of the pointer, on what stands under it | a click |
//! | a press of a key, also with Ctrl held | a key; of two keys such as `g d` each one |
//! | a press of the pointer with Shift held | a click |
//! | text that is typed into a field, letter by letter | its words, which blanks divide: `zebra since:24h` is two |
//! | Enter behind what was typed | nothing: it belongs to the words, which it sends |
//! | reading, scrolling, waiting, an address that was open anyway | nothing |

use std::path::PathBuf;

use serde_json::{Value, json};
use tests::BrowserPage;

/// The questions, by the number by which [`Hand::has_answered`] names them, from 1.
const QUESTIONS: [&str; 9] = [
    "which is silent",
    "which waits for a person",
    "which calls the same again and again",
    "which costs most",
    "why is this one slow",
    "what happened since noon",
    "where did a tool return X yesterday",
    "compare two",
    "send a colleague this very moment",
];

/// What was done by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Effort {
    pub(super) clicks: usize,
    pub(super) keys: usize,
    pub(super) words: usize,
}

impl Effort {
    /// Whether it is two clicks at most, or a key and a word at most.
    const fn is_within_bound(self) -> bool {
        let Self { clicks, keys, words } = self;
        (clicks <= 2 && keys + words == 0) || (clicks == 0 && keys <= 1 && words <= 1)
    }
}

/// An operator's hand on a page.
pub(super) struct Hand<'page> {
    page: &'page BrowserPage,
    done: Effort,
    /// Whether the last that was done is typing, which Enter belongs to.
    has_typed: bool,
}

impl<'page> Hand<'page> {
    /// A hand that has done nothing yet.
    pub(super) fn on(page: &'page BrowserPage) -> Self {
        Self { page, done: Effort::default(), has_typed: false }
    }

    /// Clicks the middle of `element`, an expression of the page, once it is there, visible, and covered by nothing.
    pub(super) async fn clicks(&mut self, element: &str) {
        self.click(element, 0).await;
    }

    /// The same while Shift is held.
    pub(super) async fn clicks_with_shift(&mut self, element: &str) {
        self.click(element, 8).await;
    }

    /// Clicks `element` while those keys are held that `modifiers` means: 8 is Shift.
    async fn click(&mut self, element: &str, modifiers: u32) {
        let middle = format!(
            "const it = {element};
             if (!it?.checkVisibility({{visibilityProperty: true}})) return null;
             const box = it.getBoundingClientRect(), x = box.left + box.width / 2, y = box.top + box.height / 2;
             return it.contains(document.elementFromPoint(x, y)) ? [x, y] : null"
        );
        let at = self.page.run_until(&middle, Value::is_array).await;
        let (x, y) = (at.get(0), at.get(1));
        for (kind, button, buttons) in
            [("mouseMoved", "none", 0), ("mousePressed", "left", 1), ("mouseReleased", "left", 0)]
        {
            let event = json!({"type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1, "modifiers": modifiers});
            self.page.devtools("Input.dispatchMouseEvent", event).await;
        }
        self.done.clicks += 1;
        self.has_typed = false;
    }

    /// Presses and releases one key.
    pub(super) async fn presses(&mut self, key: &str) {
        self.page.press(key).await;
        self.done.keys += 1;
        self.has_typed = false;
    }

    /// Presses and releases one key while Ctrl is held.
    pub(super) async fn presses_with_control(&mut self, key: char) {
        let code = u32::from(key.to_ascii_uppercase());
        for kind in ["rawKeyDown", "keyUp"] {
            let event = json!({"type": kind, "key": key, "modifiers": 2, "windowsVirtualKeyCode": code});
            self.page.devtools("Input.dispatchKeyEvent", event).await;
        }
        self.done.keys += 1;
        self.has_typed = false;
    }

    /// Types `words` into the field that has the focus, once one has it.
    pub(super) async fn types(&mut self, words: &str) {
        self.page.holds("return document.activeElement?.matches('input') === true").await;
        for letter in words.chars() {
            self.page.press(&letter.to_string()).await;
        }
        self.done.words += words.split_whitespace().count();
        self.has_typed = true;
    }

    /// Sends what was typed with Enter.
    pub(super) async fn sends(&mut self) {
        assert!(self.has_typed, "Enter by itself is a key of its own");
        self.page.press("Enter").await;
        self.has_typed = false;
    }

    /// The question is answered. What was counted is compared with `effort` and written to `target/tasks`, where the gate reads it. Returns
    /// what it wrote.
    #[must_use]
    pub(super) fn has_answered(self, number: usize, effort: Effort) -> String {
        let question = QUESTIONS.get(number - 1).expect("a number of a question");
        assert_eq!(self.done, effort, "{question}");
        assert!(effort.is_within_bound(), "{question}: {effort:?}");
        let Effort { clicks, keys, words } = effort;
        let line = format!("{number}. {question}: {clicks} clicks, {keys} keys, {words} words");
        let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/tasks"));
        std::fs::create_dir_all(&folder).expect("a folder for what was counted");
        std::fs::write(folder.join(format!("{number}.txt")), &line).expect("what was counted is written");
        line
    }
}
