//! Texts that stand one after another on the page and are read as one: what is looked for may begin in one and end in
//! another.

use super::Matcher;

/// Texts joined into one for searching, with the place of each.
#[derive(Debug, Default)]
pub struct Joined {
    text: String,
    /// Where each ends, in bytes of all.
    ends: Vec<usize>,
}

/// A place: the number of the text from 0, and how far in it, in units of UTF-16.
pub type Spot = (usize, u32);

impl Joined {
    /// Takes the next text.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
    }

    /// From where to where stands what `matcher` finds.
    pub fn places(&self, matcher: &dyn Matcher) -> impl Iterator<Item = (Spot, Spot)> {
        let found = matcher.places(&self.text).into_iter();
        found.map(|range| {
            // A beginning at the seam is in the text behind it, an end in the one before it.
            let first = self.ends.partition_point(|end| *end <= range.start);
            let last = self.ends.partition_point(|end| *end < range.end);
            (self.spot(first, range.start), self.spot(last, range.end))
        })
    }

    fn spot(&self, number: usize, byte: usize) -> Spot {
        let from = number.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let before = self.text.get(from..byte).unwrap_or_default();
        (number, u32::try_from(before.encode_utf16().count()).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    //! Tests of words over seams.

    use super::*;
    use crate::find::Word;

    #[test]
    fn a_word_goes_over_the_ends_of_texts() {
        let mut joined = Joined::default();
        for text in ["sel", "ect", "", " größe", "😀sel", "ect"] {
            joined.push(text);
        }
        let places = |word: &str| joined.places(&Word::new(word).unwrap()).collect::<Vec<_>>();
        assert_eq!(places("select"), [((0, 0), (1, 3)), ((4, 2), (5, 3))]);
        assert_eq!(places("ect"), [((1, 0), (1, 3)), ((5, 0), (5, 3))], "at a seam, but in one text");
        assert_eq!(places("größe"), [((3, 1), (3, 6))]);
        assert_eq!(places("none"), []);
    }
}
