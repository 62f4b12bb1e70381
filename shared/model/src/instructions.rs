//! What a client puts around the words of its user, told apart from the words.
//!
//! Coding agents send what they know of the machine, and how the model is to behave, in the message of the user: in elements before and
//! behind the words. Claude Code writes `<system-reminder>`, Codex `<environment_context>`, editors `<ide_selection>`.

/// The names of such elements. Others are the user's own words, such as HTML.
const ELEMENTS: [&str; 15] = [
    "system-reminder",
    "system_reminder",
    "environment_context",
    "environment_details",
    "env_context",
    "user_instructions",
    "local-command-caveat",
    "local-command-stderr",
    "local-command-stdout",
    "command-args",
    "command-message",
    "command-name",
    "ide_diagnostics",
    "ide_opened_file",
    "ide_selection",
];

/// A message, cut into what its user wrote and what the client put around it.
#[derive(Debug, PartialEq, Eq)]
pub struct Asked<'a> {
    /// What the user wrote; the whole text if there is nothing but elements.
    pub words: &'a str,
    /// The elements, with their tags, in the order of the text.
    pub instructions: Vec<&'a str>,
}

/// Cuts `text`. Elements between words stay where they are.
pub fn told_apart(text: &str) -> Asked<'_> {
    let (mut words, mut before, mut behind) = (text.trim(), Vec::new(), Vec::new());
    while let Some((element, rest)) = first_element(words) {
        before.push(element);
        words = rest.trim_start();
    }
    while let Some((rest, element)) = last_element(words) {
        behind.push(element);
        words = rest.trim_end();
    }
    if words.is_empty() || before.len() + behind.len() == 0 {
        return Asked { words: text, instructions: Vec::new() };
    }
    before.extend(behind.into_iter().rev());
    Asked { words, instructions: before }
}

/// Whether clients write elements of this name.
fn is_of_client(name: &str) -> bool {
    ELEMENTS.contains(&name)
}

/// The name at the beginning of `text`, which stands behind `<` or `</`.
fn name_of(text: &str) -> &str {
    let end = text.find(|it: char| !it.is_ascii_alphanumeric() && !matches!(it, '-' | '_'));
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// The element of a client with which `text` begins, and the rest.
fn first_element(text: &str) -> Option<(&str, &str)> {
    let name = name_of(text.strip_prefix('<')?);
    if !is_of_client(name) {
        return None;
    }
    let close = format!("</{name}>");
    let end = text.find(&close)?.saturating_add(close.len());
    text.split_at_checked(end)
}

/// What stands before the element of a client with which `text` ends, and that element.
fn last_element(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_suffix('>')?;
    let (_, name) = inside.rsplit_once("</")?;
    if name_of(name) != name || !is_of_client(name) {
        return None;
    }
    let start = text.rfind(&format!("<{name}>"))?;
    let (words, element) = text.split_at_checked(start)?;
    // In the middle of a line it is something that the user speaks of.
    words.trim_end_matches([' ', '\t']).ends_with('\n').then_some((words, element))
}

#[cfg(test)]
mod tests {
    //! What is folded, and what is not.

    use super::*;

    #[test]
    fn elements_before_and_behind_the_words_are_told_apart() {
        let (first, second, third) = (
            "<system-reminder>\nIt is <b>noon</b>.\n</system-reminder>",
            "<ide_selection a=\"1\">x</ide_selection>",
            "<system-reminder>Be brief.</system-reminder>",
        );
        let text = format!("{first}\n{second}\n\nFix the build.\n\n{third}\n");
        let asked = told_apart(&text);
        assert_eq!(asked, Asked { words: "Fix the build.", instructions: vec![first, second, third] });
    }

    #[test]
    fn words_stay_as_they_are() {
        let html = "<p>Hello</p> and <my-element>this</my-element>";
        let alone = " <command-name>/exit</command-name>\n<command-args></command-args>";
        let open = "<system-reminder>never closed";
        let between = "One <system-reminder>x</system-reminder> two ";
        let spoken_of = "Why do I see <system-reminder>? My file ends with </system-reminder>";
        let own = "<additional_context>the spec</additional_context> Do it";
        let line = "<command-line>rm -rf x</command-line> What does this do?";
        for text in
            [html, alone, open, between, spoken_of, own, line, "", "  a <", "a</system-reminder>", "</>"]
        {
            assert_eq!(told_apart(text), Asked { words: text, instructions: Vec::new() });
        }
    }
}
