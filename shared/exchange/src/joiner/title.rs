//! The title of a conversation: one line of what the user says when it begins.

use dialects::framing::excerpt;

/// What clients ask before anything else in a session, to name it themselves: opencode.
const TITLE_REQUEST: &str = "Generate a title for this conversation";

/// Whether a client says `text` to have a title made.
pub(super) fn asks_for_title(text: &str) -> bool {
    text.starts_with(TITLE_REQUEST)
}

/// A title made of the pieces of what the user said. Coding agents put what they know of the machine in
/// front of it, in elements (`<system-reminder>…`). These are left out, unless there is nothing else. Nothing
/// for empty pieces.
pub(super) fn title<'a>(pieces: impl Iterator<Item = &'a str> + Clone) -> Option<String> {
    let line = |pieces: &mut dyn Iterator<Item = &str>| {
        let words: Vec<&str> = pieces.flat_map(str::split_whitespace).collect();
        Some(excerpt(&words.join(" ")).to_owned()).filter(|title| !title.is_empty())
    };
    line(&mut pieces.clone().map(without_elements)).or_else(|| line(&mut pieces.into_iter()))
}

/// The part of `text` after the elements that it begins with.
fn without_elements(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some(behind) = behind_element(rest) {
        rest = behind.trim_start();
    }
    rest
}

/// The part of `text` after the element that it begins with; nothing if it does not begin with a complete
/// element.
fn behind_element(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('<')?;
    let name = inside.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_')).next()?;
    if name.is_empty() {
        return None;
    }
    let close = format!("</{name}>");
    let at = text.find(&close)?;
    text.get(at.saturating_add(close.len())..)
}

#[cfg(test)]
mod tests {
    //! What is left out, and what is not.

    use super::*;

    fn of(pieces: &[&str]) -> Option<String> {
        title(pieces.iter().copied())
    }

    #[test]
    fn what_a_client_puts_in_front_is_not_the_title() {
        let context = "<system-reminder>\nThe time is <b>12:00</b>.\n</system-reminder>\n<env_context a=\"1\">x</env_context>\n";
        assert_eq!(of(&[&format!("{context}\nFix  the\nbuild.")]).as_deref(), Some("Fix the build."));
        assert_eq!(of(&[context, "Fix it."]).as_deref(), Some("Fix it."));
        assert_eq!(of(&["What is <div>?</div> in HTML"]).as_deref(), Some("What is <div>?</div> in HTML"));
    }

    #[test]
    fn what_is_nothing_else_is_the_title_after_all() {
        assert_eq!(of(&["<p>Hello</p>"]).as_deref(), Some("<p>Hello</p>"));
        assert_eq!(of(&["<open and never closed"]).as_deref(), Some("<open and never closed"));
        assert_eq!(of(&["< 3 is less"]).as_deref(), Some("< 3 is less"));
        assert_eq!(of(&["", "  "]), None);
    }
}
