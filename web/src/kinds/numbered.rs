//! Texts in which a tool numbered the lines, as coding agents read files: `     7→fn main() {`.

/// A text whose lines were numbered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbered {
    /// The number of the first line.
    pub first: usize,
    /// The text without the numbers.
    pub text: String,
}

/// The fewest lines that are recognised.
const LINES_MIN: usize = 2;

/// The text without its numbers, if each line begins with one, followed by an arrow or a tab, and they rise
/// by one. Lines behind the last numbered one, such as a hint of the tool, are not recognised.
pub(super) fn numbered(text: &str) -> Option<Numbered> {
    let mut first = None;
    let mut count = 0_usize;
    let mut plain = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (number, rest) = line.trim_start_matches(' ').split_once(['→', '\t'])?;
        let number: usize = number.parse().ok()?;
        let first = *first.get_or_insert(number);
        if number != first.checked_add(count)? {
            return None;
        }
        count = count.saturating_add(1);
        plain.push_str(rest);
    }
    (count >= LINES_MIN).then_some(Numbered { first: first?, text: plain })
}
