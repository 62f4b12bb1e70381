//! How secrets begin, as a table that is asked with three bytes at a time. A filter with two bits of one word for each beginning answers
//! for nearly all places of a text; where it says yes the map is asked. The map is larger than the first caches: numbers, of which texts are full
//! and with many of which a card begins, do without it. Whether anything but such a number may begin in a piece is told by a set that is cheaper still
//! ([`Words`]): nearly every piece of a stream has neither, and is looked at no further.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use fnv::FnvBuildHasher;

mod words;

use words::Words;

/// Words of the filter: 8 KiB, which stay in the first cache.
const WORDS: usize = 1_024;

/// What may begin with which three bytes.
#[derive(Debug)]
pub(crate) struct Starts<T> {
    filter: Box<[u64; WORDS]>,
    /// The beginnings as a set, without those that [`Starts::enter_numbers`] has entered, of which texts are full.
    words: Words,
    /// What begins with three digits, whichever they are.
    digits: Vec<T>,
    /// The three bytes as a number are the key. They are ours, so nobody chooses keys that collide.
    entries: HashMap<u32, Vec<T>, FnvBuildHasher>,
}

impl<T> Default for Starts<T> {
    fn default() -> Self {
        Self {
            words: Words::default(),
            filter: Box::new([0; WORDS]),
            digits: Vec::new(),
            entries: HashMap::default(),
        }
    }
}

impl<T> Starts<T> {
    /// Enters what begins with `start`, of at least three bytes; a shorter one is not entered.
    pub(crate) fn enter(&mut self, start: &[u8], entry: T) {
        let Some(three) = start.first_chunk() else { return };
        self.pass(*three);
        self.words.enter(*three);
        if is_number(*three) {
            self.digits.push(entry);
        } else {
            self.entries.entry(key(*three)).or_default().push(entry);
        }
    }

    /// Enters what begins with one of `numbers`, of three digits each.
    pub(crate) fn enter_numbers(&mut self, numbers: RangeInclusive<u32>, entry: T) {
        for number in numbers {
            if let Some(three) = number.to_string().as_bytes().first_chunk() {
                self.pass(*three);
            }
        }
        self.digits.push(entry);
    }

    fn pass(&mut self, three: [u8; 3]) {
        let (at, bits) = place(key(three));
        if let Some(word) = self.filter.get_mut(at) {
            *word |= bits;
        }
    }

    /// Whether something else than those numbers may begin in `bytes`. It never says no of what does; of some that does not it says yes.
    pub(crate) fn may_hold_word(&self, bytes: &[u8]) -> bool {
        self.words.may_hold(bytes)
    }

    /// Whether something else than those numbers may begin with the first or the second of four bytes.
    pub(crate) fn may_hold_word_in(&self, four: [u8; 4]) -> bool {
        self.words.of_four(four) != 0
    }

    /// The places of `bytes` at which something may begin, in order, and what: all that begins with those three bytes, and perhaps more.
    pub(crate) fn places<'a>(&'a self, bytes: &'a [u8]) -> Places<'a, T> {
        Places { starts: self, rest: bytes, at: 0 }
    }

    fn at(&self, three: [u8; 3]) -> Option<&[T]> {
        if is_number(three) { Some(&self.digits) } else { self.entries.get(&key(three)).map(Vec::as_slice) }
    }
}

/// Goes over the places of a text, see [`Starts::places`].
#[derive(Debug)]
pub(crate) struct Places<'a, T> {
    starts: &'a Starts<T>,
    rest: &'a [u8],
    /// The index in the text at which `rest` begins.
    at: usize,
}

impl<'a, T> Iterator for Places<'a, T> {
    type Item = (usize, &'a [T]);

    fn next(&mut self) -> Option<Self::Item> {
        let (starts, rest) = (self.starts, self.rest);
        for (off, window) in rest.windows(3).enumerate() {
            let three = *window.first_chunk()?;
            let (word, bits) = place(key(three));
            if starts.filter.get(word)? & bits != bits {
                continue;
            }
            let Some(entries) = starts.at(three) else { continue };
            let at = self.at + off;
            (self.rest, self.at) = (rest.get(off + 1..).unwrap_or_default(), at + 1);
            return Some((at, entries));
        }
        self.rest = &[];
        None
    }
}

fn key([first, second, third]: [u8; 3]) -> u32 {
    u32::from_be_bytes([0, first, second, third])
}

fn is_number(three: [u8; 3]) -> bool {
    three.iter().all(u8::is_ascii_digit)
}

/// The place of a key in the filter: a word, and two bits of it. The multiplier is 2^32 divided by the golden ratio, which spreads what
/// differs in a few bits.
fn place(key: u32) -> (usize, u64) {
    let hash = key.wrapping_mul(0x9E37_79B1);
    let word = usize::try_from(hash >> 22).unwrap_or_default();
    (word, 1 << (hash >> 16 & 63) | 1 << (hash >> 10 & 63))
}

#[cfg(test)]
mod tests {
    //! Tests of the table.

    use super::*;

    #[test]
    fn what_was_entered_is_found_at_each_of_its_places_and_nothing_else() {
        let mut starts = Starts::default();
        for (start, name) in [("sk-", 1), ("sk-ant-", 2), ("2ab", 3), ("ab", 4), ("77a", 5)] {
            starts.enter(start.as_bytes(), name);
        }
        starts.enter_numbers(222..=660, 6);
        let found = |text: &str| -> Vec<(usize, Vec<i32>)> {
            starts.places(text.as_bytes()).map(|(at, names)| (at, names.to_vec())).collect()
        };
        assert_eq!(found("a task-2222"), [(4, vec![1, 2]), (7, vec![6]), (8, vec![6])]);
        assert_eq!(found("abc sk ab 111 661"), []);
        assert_eq!(found("22"), []);
        assert_eq!(found("62ab"), [(1, vec![3])]);
    }

    #[test]
    fn words_are_told_from_numbers_wherever_they_stand() {
        let mut starts = Starts::default();
        starts.enter(b"sk-", 1);
        starts.enter(b"2ab", 2);
        starts.enter(b"777", 3);
        starts.enter_numbers(222..=660, 4);
        for text in ["sk-", "a sk-", "a sk- b", "62ab", "x777", "777 "] {
            assert!(starts.may_hold_word(text.as_bytes()), "{text}");
        }
        for text in ["", "s", "sk", "a word", "345 of 660", "77", "2a"] {
            assert!(!starts.may_hold_word(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_word_is_seen_at_each_place_of_texts_of_each_length() {
        let mut starts = Starts::default();
        for word in [b"sk-", b"eyJ", b"2ab", b"c2s"] {
            starts.enter(word, ());
        }
        for word in ["sk-", "eyJ", "2ab", "c2s"] {
            for length in 3..40 {
                for at in 0..=length - 3 {
                    let text = format!("{}{word}{}", ".".repeat(at), ".".repeat(length - 3 - at));
                    assert!(starts.may_hold_word(text.as_bytes()), "{text}");
                    let four = text
                        .as_bytes()
                        .windows(4)
                        .filter(|four| four.windows(3).any(|it| it == word.as_bytes()));
                    for four in four {
                        assert!(starts.may_hold_word_in(*four.first_chunk().unwrap()), "{text}");
                    }
                }
                assert!(!starts.may_hold_word(".".repeat(length).as_bytes()));
            }
        }
    }

    #[test]
    fn few_places_of_what_begins_with_no_start_go_on_to_the_map() {
        let mut starts = Starts::default();
        // As many as there are with all rules: letters, since the beginnings in base64 are the most.
        for number in 0_u32..1_500 {
            let [.., a, b] = (number * 40_503).to_be_bytes();
            starts.enter(&[b'A' + a % 26, b'a' + b % 26, b'a' + (a ^ b) / 10 % 26], ());
        }
        let asked = |three: &[u8; 3]| {
            starts.filter.get(place(key(*three)).0).is_some_and(|word| {
                let bits = place(key(*three)).1;
                word & bits == bits
            })
        };
        let text: Vec<u8> = (0_u32..100_000)
            .map(|at| b"etaoin shrdlu,."[usize::try_from(at.wrapping_mul(2_654_435_761) >> 20).unwrap() % 15])
            .collect();
        let hits = text.windows(3).filter(|window| asked(window.first_chunk().unwrap())).count();
        assert!(hits < 1_000, "{hits} of 100,000");
    }
}
