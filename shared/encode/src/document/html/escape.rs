//! Escapes text for HTML, for content and for attributes.
//!
//! The five signs `& < > " '` become entities, so the same text is safe as content and between quotes of
//! either kind. It is not safe in a script, a style, a comment, or an attribute without quotes; documents
//! have no such place for a text of a view.

/// Appends `text`, escaped. Control characters are replaced.
///
/// U+FFFD stands for each of them and for code points that are no characters; line feeds and tabs stay.
pub(in crate::document) fn text(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            // A carriage return is left out: with its line feed it is one line end.
            '\r' => {}
            c if c.is_control() || is_noncharacter(c) => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
}

/// `label` as one line, escaped: without line ends and without characters that change the direction of the
/// text after it.
pub(in crate::document) fn label(label: &str) -> String {
    let one = |c: char| match c {
        '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    let line: String = label.chars().map(one).collect();
    let mut out = String::with_capacity(line.len());
    text(&line, &mut out);
    out
}

/// Whether a code point is not a character and must not be in a document.
fn is_noncharacter(c: char) -> bool {
    matches!(c, '\u{fdd0}'..='\u{fdef}') || u32::from(c) & 0xfffe == 0xfffe
}
