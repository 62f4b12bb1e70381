//! Terminal output: colours and weights are kept, all other control sequences are removed.
//!
//! ```text
//! "\u{1b}[1;32mok\u{1b}[0m 3 tests"  ─▶  Piece { "ok", colour 2, bold }, Piece { " 3 tests" }
//! ```
//!
//! A result counts as terminal output if its tool is a shell or the text has such sequences (`kinds::kind`).

use std::borrow::Cow;

/// A stretch of the output in one style.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Piece {
    /// The text of the stretch.
    pub text: String,
    /// The colour, from 0 (black) to 7 (white); bright colours are mapped to the normal ones.
    pub colour: Option<u8>,
    /// Whether it is bold.
    pub is_bold: bool,
    /// Whether it is faint.
    pub is_faint: bool,
}

/// Words in the names of tools whose output is that of a terminal.
const SHELLS: [&str; 10] =
    ["bash", "shell", "sh", "zsh", "terminal", "exec", "command", "cmd", "powershell", "console"];

/// Whether a tool with this name executes shell commands.
pub fn is_shell(name: &str) -> bool {
    let lower = name.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).any(|word| SHELLS.contains(&word))
}

/// Whether `text` contains control sequences.
pub(super) fn has_orders(text: &str) -> bool {
    text.contains("\u{1b}[")
}

/// Splits the text into stretches of one style.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut look = Piece::default();
    let mut rest = text;
    while let Some((plain, after)) = rest.split_once('\u{1b}') {
        say(&mut pieces, &look, plain);
        rest = match after.strip_prefix('[') {
            Some(order) => {
                // A control sequence ends with a letter or one of the characters next to the letters.
                let end = order.find(|c: char| ('@'..='~').contains(&c));
                let Some((numbers, behind)) = end.and_then(|end| order.split_at_checked(end)) else {
                    return pieces;
                };
                if behind.starts_with('m') {
                    colour(&mut look, numbers);
                }
                behind.get(1..).unwrap_or_default()
            }
            // A window title or a link: skipped up to its end mark.
            None if after.starts_with(']') => {
                let end = after.find(['\u{7}', '\u{1b}']).unwrap_or(after.len());
                after.get(end..).unwrap_or_default().trim_start_matches('\u{7}')
            }
            None => after.strip_prefix('\\').unwrap_or(after),
        };
    }
    say(&mut pieces, &look, rest);
    pieces
}

/// The lines of the output, each with its pieces and its line feed.
pub fn lines(pieces: Vec<Piece>) -> Vec<Vec<Piece>> {
    let mut lines = Vec::new();
    let mut open = Vec::new();
    for piece in pieces {
        for text in piece.text.split_inclusive('\n') {
            open.push(Piece { text: text.to_owned(), ..piece.clone() });
            if text.ends_with('\n') {
                lines.push(std::mem::take(&mut open));
            }
        }
    }
    if !open.is_empty() {
        lines.push(open);
    }
    lines
}

/// The text without control sequences, for output that still grows: what is returned for a beginning of it
/// is the beginning of what is returned for all of it.
pub fn without_orders(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        let Some(behind) = behind_order(after) else { return Cow::Owned(plain) };
        rest = behind;
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// What follows the control sequence at the beginning of `after`, which an escape character precedes. `None`
/// if it has not ended.
fn behind_order(after: &str) -> Option<&str> {
    if let Some(order) = after.strip_prefix('[') {
        let end = order.find(|c: char| ('@'..='~').contains(&c))?;
        return order.get(end.saturating_add(1)..);
    }
    if let Some(title) = after.strip_prefix(']') {
        let end = title.find(['\u{7}', '\u{1b}'])?;
        return title.get(end..).map(|rest| rest.strip_prefix('\u{7}').unwrap_or(rest));
    }
    let first = after.chars().next()?;
    Some(if first == '\\' { after.get(1..).unwrap_or_default() } else { after })
}

/// Appends a text in a style. Of a line that was overwritten after `\r`, the last version is kept.
fn say(pieces: &mut Vec<Piece>, look: &Piece, text: &str) {
    if text.is_empty() {
        return;
    }
    let mut kept = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let body = line.trim_end_matches(['\r', '\n']);
        kept.push_str(body.rsplit('\r').next().unwrap_or(body));
        if line.ends_with('\n') {
            kept.push('\n');
        }
    }
    match pieces.last_mut() {
        Some(last)
            if (last.colour, last.is_bold, last.is_faint) == (look.colour, look.is_bold, look.is_faint) =>
        {
            last.text.push_str(&kept);
        }
        _ => pieces.push(Piece { text: kept, ..look.clone() }),
    }
}

/// Applies the numbers of a style sequence.
fn colour(look: &mut Piece, numbers: &str) {
    let mut numbers = numbers.split([';', ':']).map(|number| number.parse::<u8>().unwrap_or(0));
    while let Some(number) = numbers.next() {
        match number {
            0 => *look = Piece::default(),
            1 => look.is_bold = true,
            2 => look.is_faint = true,
            22 => (look.is_bold, look.is_faint) = (false, false),
            30..=37 => look.colour = Some(number.saturating_sub(30)),
            90..=97 => look.colour = Some(number.saturating_sub(90)),
            39 => look.colour = None,
            // A colour of a larger palette, with numbers of its own.
            38 | 48 => {
                let more = if numbers.next() == Some(5) { 1 } else { 3 };
                numbers.by_ref().take(more).for_each(drop);
            }
            _ => {}
        }
    }
}
