//! Texts that follow each other on the page and are searched as one: a match may begin in one text and end in
//! another.

use super::Matcher;

/// Texts joined for searching.
#[derive(Debug, Default)]
pub struct Joined {
    text: String,
    /// The end of each text, in bytes of the whole.
    ends: Vec<usize>,
}

/// A place: the index of the text, and the offset in it in UTF-16 code units, as the DOM counts.
pub type Spot = (usize, u32);

impl Joined {
    /// Appends a text at the end.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
    }

    /// The matches of `matcher`, each with its beginning and end.
    pub fn places(&self, matcher: &dyn Matcher) -> impl Iterator<Item = (Spot, Spot)> {
        let found = matcher.places(&self.text).into_iter();
        found.map(|range| {
            // At the border of two texts, a match begins in the second and ends in the first.
            let first = self.ends.partition_point(|end| *end <= range.start);
            let last = self.ends.partition_point(|end| *end < range.end);
            (self.spot(first, range.start), self.spot(last, range.end))
        })
    }

    /// The place at `byte` of the whole, which is in the text `number`.
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
