//! Foreign text on a terminal. Models, tools and hubs can write anything, and a terminal obeys control
//! characters (with which escape sequences begin) and reverses text between direction marks. Both are
//! replaced.

use std::borrow::Cow;

/// Whether a terminal acts on `c` instead of showing it: control characters (C0, DEL, C1), direction marks,
/// and the two characters that some terminals take for ends of lines.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `c`, or the replacement character if a terminal would act on it. Line feeds and tabs stay.
pub(super) fn harmless(c: char) -> char {
    match c {
        '\n' | '\t' => c,
        c if acts(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

/// `text` with its lines.
pub(super) fn lines(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| harmless(c) == c) {
        return text.into();
    }
    text.chars().map(harmless).collect::<String>().into()
}

/// `text` in one line, so that none of it can look like another line.
pub(super) fn line(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\t') { ' ' } else { harmless(c) }).collect()
}

/// `json` (on one line) with escapes for characters on which a terminal would act. The value stays the same.
pub(super) fn json(json: String) -> String {
    if !json.chars().any(acts) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if acts(c) {
            // All of these have four hex digits.
            out.extend(["\\u", &format!("{:04x}", u32::from(c))]);
        } else {
            out.push(c);
        }
    }
    out
}

/// Cleans a file for a terminal, piece by piece. A piece may end inside a character. A character that never
/// ends is not shown.
#[derive(Debug, Default)]
pub(super) struct TerminalSanitizer {
    /// The beginning of an incomplete character.
    begun: Vec<u8>,
}

impl TerminalSanitizer {
    /// The text to show of the next piece.
    pub(super) fn next(&mut self, piece: &[u8]) -> String {
        let mut bytes = std::mem::take(&mut self.begun);
        bytes.extend_from_slice(piece);
        let mut out = String::with_capacity(bytes.len());
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            out.push_str(&lines(chunk.valid()));
            let is_begun = chunks.peek().is_none()
                && std::str::from_utf8(chunk.invalid()).is_err_and(|it| it.error_len().is_none());
            if is_begun {
                self.begun = chunk.invalid().to_vec();
            } else if !chunk.invalid().is_empty() {
                out.push(char::REPLACEMENT_CHARACTER);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    //! Tests of what reaches a terminal.

    use super::*;

    const ODD: &str = "a\u{1b}[31m\u{9b}31m\u{7f}\r\u{8}\u{202e}b\u{2066}c\u{200f}\u{61c}\u{2028}d";

    #[test]
    fn nothing_that_a_terminal_acts_on_is_left() {
        assert_eq!(lines("plain, ü, 漢, 👩\u{200d}💻\n\tstay"), "plain, ü, 漢, 👩\u{200d}💻\n\tstay");
        for text in [lines(ODD).into_owned(), line(ODD), json(format!("\"{ODD}\""))] {
            assert!(!text.chars().any(acts), "{text:?}");
        }
        assert_eq!(line("well\nok  hub: all is well"), "well ok  hub: all is well");
    }

    #[test]
    fn json_keeps_its_value() {
        let text = "\u{9b}31m \u{7f} \u{202e}x \u{2028}";
        let written = json(serde_json::to_string(text).unwrap());
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
    }

    #[test]
    fn a_file_in_pieces_is_the_file() {
        let text = format!("é漢🙂{ODD}");
        let mut bytes = text.clone().into_bytes();
        bytes.insert(2, 0xff);
        let wanted: String = lines(&text).replacen('é', "é\u{fffd}", 1);
        for size in 1..8 {
            let mut pieces = TerminalSanitizer::default();
            let shown: String = bytes.chunks(size).map(|piece| pieces.next(piece)).collect();
            assert_eq!(shown, wanted, "{size}");
        }
    }
}
