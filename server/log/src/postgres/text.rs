//! Texts as the database takes them: it refuses one character, which texts of others may hold.

use std::borrow::Cow;

/// `text` without the character NUL: it and the character that stands for it are written as two.
pub(super) fn escape(text: &str) -> Cow<'_, str> {
    if text.contains(['\0', '\u{1}']) {
        Cow::Owned(text.replace('\u{1}', "\u{1}1").replace('\0', "\u{1}0"))
    } else {
        Cow::Borrowed(text)
    }
}

/// What [`escape`] was given.
pub(super) fn unescape(text: &str) -> Cow<'_, str> {
    if text.contains('\u{1}') {
        Cow::Owned(text.replace("\u{1}0", "\0").replace("\u{1}1", "\u{1}"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_comes_back_and_never_holds_what_is_refused(text in "[\0\u{1}01a漢]{0,12}") {
            let escaped = escape(&text);
            prop_assert!(!escaped.contains('\0'));
            prop_assert_eq!(unescape(&escaped), text.as_str());
        }
    }
}
