//! Numbers of payment cards: the ranges of the large schemes, the lengths that each has, the groups in which people write them, and
//! the check digit of Luhn.

use crate::verdict::{End, Strength, Verdict};

/// Most digits of a number.
const DIGITS_MAX: usize = 19;

/// Fewest digits of a number.
const DIGITS_MIN: usize = 14;

/// So many digits name the bank and not the card.
pub(crate) const BANK_DIGITS: usize = 6;

/// The groups of digits in which numbers are written.
const GROUPINGS: [&[usize]; 4] = [&[4, 4, 4, 4], &[4, 6, 5], &[4, 6, 4], &[4, 4, 4, 4, 3]];

/// So many groups of four digits in a row are a list of numbers, which has no card in it.
const LIST_GROUPS: usize = 6;

/// Most bytes before a number that say whether it is within a list.
pub(crate) const BEFORE_BYTES: usize = 5 * (LIST_GROUPS - 4) + 1;

/// Most bytes of a number before or behind one of its own: all others, with a space or dash between any two.
const ROW_BYTES: usize = 2 * DIGITS_MAX;

/// Whether the digits of a card may stand in `text`, with nothing but spaces and dashes between them. It never says no where they do.
pub(crate) fn may_hold_digits(text: &[u8]) -> bool {
    // Of so many bytes in a row as a number has at least, one is looked at: in nearly every piece of a text that is none or one.
    let mut at = DIGITS_MIN - 1;
    while at < text.len() {
        if is_of_number(text, at) && has_row_at(text, at) {
            return true;
        }
        at += DIGITS_MIN;
    }
    false
}

/// Whether the byte at `at` is a digit, or stands alone between two.
fn is_of_number(text: &[u8], at: usize) -> bool {
    match text.get(at.saturating_sub(1)..).unwrap_or_default() {
        [_, digit, ..] if digit.is_ascii_digit() => true,
        [one, b' ' | b'-', other, ..] => one.is_ascii_digit() & other.is_ascii_digit(),
        _ => false,
    }
}

/// Whether as many digits as a card has at least stand before `at` and from there on, with nothing but spaces and dashes between them.
#[inline(never)]
fn has_row_at(text: &[u8], at: usize) -> bool {
    let (before, behind) = text.split_at(at);
    let row = before.iter().rev().take(ROW_BYTES).take_while(|byte| is_sign(**byte));
    let row = row.chain(behind.iter().take(ROW_BYTES).take_while(|byte| is_sign(**byte)));
    row.filter(|byte| byte.is_ascii_digit()).count() >= DIGITS_MIN
}

/// Whether `byte` may stand in the number of a card.
fn is_sign(byte: u8) -> bool {
    byte.is_ascii_digit() | matches!(byte, b' ' | b'-')
}

/// Whether `text`, whatever follows it, begins with too few digits for a card. Says of most numbers in a text that they are none, before they
/// are read as one.
pub(crate) fn is_excluded(text: &[u8]) -> bool {
    // All of them, whatever the first says: where numbers end is not to be foreseen, and a wrong guess of the processor costs more.
    text.iter().take(DIGITS_MIN).fold(false, |is_other, byte| is_other | !is_sign(*byte))
}

/// Judges whether the number of a card begins with `text`. Before it is `before`, whose last byte is no letter or digit.
pub(crate) fn card(text: &[u8], end: End, before: &[u8]) -> Verdict {
    if is_excluded(text) {
        return Verdict::No;
    }
    let read = Digits::read(text);
    if !may_be_card(read.first(read.count)) {
        return Verdict::No;
    }
    let goes_on = read.bytes == text.len() && end == End::Open;
    let verdicts = std::iter::once(read.whole(text, goes_on))
        .chain(GROUPINGS.iter().map(|grouping| read.judge(grouping, text, goes_on, before)));
    let (mut is_open, mut found) = (false, None);
    for verdict in verdicts {
        match verdict {
            Verdict::Open(_) => is_open = true,
            Verdict::Secret { .. } => found = found.or(Some(verdict)),
            Verdict::No => {}
        }
    }
    if is_open {
        let strength = if read.count > BANK_DIGITS { Strength::Begun } else { Strength::Known };
        return Verdict::Open(strength);
    }
    found.unwrap_or(Verdict::No)
}

/// How many groups of four digits stand right before a number, each with a space or dash behind it.
fn fours_before(mut before: &[u8]) -> usize {
    let mut count = 0;
    while let [rest @ .., a, b, c, d, b' ' | b'-'] = before
        && [a, b, c, d].iter().all(|byte| byte.is_ascii_digit())
        && !rest.last().is_some_and(u8::is_ascii_digit)
    {
        (before, count) = (rest, count + 1);
    }
    count
}

/// Most groups that are looked at: as many as show that it is a list.
const GROUPS_MAX: usize = LIST_GROUPS;

/// The digits at the beginning of a text, with one space or dash between two of them at most.
#[derive(Default)]
struct Digits {
    kept: [u8; DIGITS_MAX],
    /// How many there are, also of those that are not kept.
    count: usize,
    /// Digits of each group, and the byte behind it.
    groups: [(usize, usize); GROUPS_MAX],
    /// Bytes that were read.
    bytes: usize,
}

impl Digits {
    fn read(text: &[u8]) -> Self {
        let mut read = Self::default();
        let (mut group, mut separated) = (0, false);
        for (at, byte) in text.iter().enumerate() {
            if byte.is_ascii_digit() {
                group += usize::from(separated);
                separated = false;
                if let Some(digit) = read.kept.get_mut(read.count) {
                    *digit = byte - b'0';
                }
                read.count += 1;
                let Some(length) = read.groups.get_mut(group) else { break };
                *length = (length.0 + 1, at + 1);
            } else if matches!(byte, b' ' | b'-') && !separated && read.count > 0 {
                separated = true;
            } else {
                break;
            }
            read.bytes = at + 1;
            if read.count > 2 * DIGITS_MAX {
                break;
            }
        }
        read
    }

    /// The first `count` digits, as far as they are kept.
    fn first(&self, count: usize) -> &[u8] {
        self.kept.get(..count.min(DIGITS_MAX)).unwrap_or_default()
    }

    /// The groups that were read: how many digits each has, and where it ends.
    fn groups(&self) -> &[(usize, usize)] {
        let count = self.groups.iter().take_while(|(digits, _)| *digits > 0).count();
        self.groups.get(..count).unwrap_or_default()
    }

    /// Whether the last group has ended: a space or dash is behind it.
    fn is_separated(&self) -> bool {
        self.groups().last().is_some_and(|(_, to)| *to < self.bytes)
    }

    /// Judges the first group as a number that is written in one.
    fn whole(&self, text: &[u8], goes_on: bool) -> Verdict {
        match self.groups() {
            [(digits, _)] if goes_on && *digits <= DIGITS_MAX && !self.is_separated() => {
                Verdict::Open(Strength::Known)
            }
            [(digits, to), ..] => self.number(text, *digits, *to),
            [] => Verdict::No,
        }
    }

    /// Judges the first groups as a number that is written in `grouping`. `goes_on`: more may follow what was read.
    fn judge(&self, grouping: &[usize], text: &[u8], goes_on: bool, before: &[u8]) -> Verdict {
        let groups = self.groups();
        let same = groups.iter().zip(grouping).take_while(|(group, wanted)| group.0 == **wanted).count();
        if let Some(wanted) = grouping.get(same) {
            let grows = match groups.get(same..) {
                Some([]) | None => true,
                Some([(digits, _)]) => digits < wanted && !self.is_separated(),
                Some(_) => false,
            };
            return if goes_on && grows { Verdict::Open(Strength::Known) } else { Verdict::No };
        }
        let (count, to) = (grouping.iter().sum(), groups.get(same - 1).map_or(0, |group| group.1));
        let rest = groups.get(same..).unwrap_or_default();
        let verdict = self.number(text, count, to);
        if verdict == Verdict::No {
            // With one digit more it is another number, but no card in this grouping.
            return verdict;
        }
        let is_of_fours = grouping.iter().all(|digits| *digits == 4);
        if !is_of_fours {
            return if goes_on && rest.is_empty() { Verdict::Open(Strength::Known) } else { verdict };
        }
        let fours = rest.iter().take_while(|(digits, _)| *digits == 4).count();
        let (may_grow, may_be_four) = match rest.get(fours..).unwrap_or_default() {
            [] => (goes_on, goes_on),
            [(digits, _)] => (false, goes_on && *digits < 4 && !self.is_separated()),
            _ => (false, false),
        };
        if fours_before(before) + same + fours >= LIST_GROUPS && !may_grow {
            return Verdict::No;
        }
        if may_be_four { Verdict::Open(Strength::Known) } else { verdict }
    }

    /// The number of the first `count` digits, which end at `to`, if it is that of a card and nothing follows that belongs to it.
    fn number(&self, text: &[u8], count: usize, to: usize) -> Verdict {
        let is_whole = match text.get(to..).unwrap_or_default() {
            [b'.', digit, ..] => !digit.is_ascii_digit(),
            [byte, ..] => !byte.is_ascii_alphanumeric() && *byte != b'_',
            [] => true,
        };
        if is_whole && count <= DIGITS_MAX && is_card(self.first(count)) {
            Verdict::Secret { from: 0, to }
        } else {
            Verdict::No
        }
    }
}

/// The number that the first `count` digits are, filled up with `fill` where there are fewer.
fn leading(digits: &[u8], count: usize, fill: u8) -> u32 {
    let digits = digits.iter().copied().chain(std::iter::repeat(fill)).take(count);
    digits.fold(0, |number, digit| number * 10 + u32::from(digit))
}

/// The ranges of the first four digits, and the lengths of numbers in them.
const RANGES: [(u32, u32, &[usize]); 11] = [
    (2221, 2720, &[16]),
    (3000, 3059, &[14]),
    (3400, 3499, &[15]),
    (3528, 3589, &[16]),
    (3600, 3699, &[14]),
    (3700, 3799, &[15]),
    (3800, 3999, &[14]),
    (4000, 4999, &[16, 19]),
    (5100, 5599, &[16]),
    (6011, 6011, &[16, 19]),
    (6200, 6599, &[16, 19]),
];

/// Whether a card can begin so.
fn may_be_card(digits: &[u8]) -> bool {
    let (low, high) = (leading(digits, 4, 0), leading(digits, 4, 9));
    !digits.is_empty() && RANGES.iter().any(|(first, last, _)| high >= *first && low <= *last)
}

/// Whether these are all digits of a card.
fn is_card(digits: &[u8]) -> bool {
    let first = leading(digits, 4, 0);
    let range = RANGES.iter().find(|(low, high, _)| (*low..=*high).contains(&first));
    range.is_some_and(|(_, _, lengths)| lengths.contains(&digits.len())) && luhn(digits)
}

fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| {
            let doubled = u32::from(*digit) * if at % 2 == 1 { 2 } else { 1 };
            if doubled > 9 { doubled - 9 } else { doubled }
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    //! Tests of cards.

    use super::*;

    #[test]
    fn numbers_of_the_schemes_are_known_in_every_spelling() {
        for number in [
            "4111111111111111",
            "4111 1111 1111 1111",
            "4111-1111-1111-1111",
            "5555555555554444",
            "2223003122003222",
            "378282246310005",
            "3782 822463 10005",
            "30569309025904",
            "6011111111111117",
            "3530111333300000",
        ] {
            let verdict = card(number.as_bytes(), End::Last, b"");
            assert_eq!(verdict, Verdict::Secret { from: 0, to: number.len() }, "{number}");
            let behind = format!("{number}, thanks");
            assert_eq!(
                card(behind.as_bytes(), End::Open, b""),
                Verdict::Secret { from: 0, to: number.len() },
                "{behind}"
            );
            let expires = format!("{number} 12/27");
            assert_ne!(card(expires.as_bytes(), End::Open, b""), Verdict::No, "{expires}");
        }
    }

    #[test]
    fn other_numbers_are_none() {
        for number in [
            "4111111111111112",
            "1700000000000000",
            "41111111111111111111",
            "4111111111111111a",
            "4111 111 11111 1111",
            "2024",
            "5577006791947779410",
        ] {
            assert_eq!(card(number.as_bytes(), End::Last, b""), Verdict::No, "{number}");
        }
    }

    #[test]
    fn what_is_excluded_is_no_card_and_never_becomes_one() {
        for text in ["345 of it", "4111 1111 11 x", "2024-01-02T"] {
            assert!(is_excluded(text.as_bytes()), "{text}");
            assert_eq!(card(text.as_bytes(), End::Open, b""), Verdict::No, "{text}");
        }
        // The shortest card, and what may become one.
        for text in ["30569309025904", "30569309025904x", "345", "345 ", "3056 930902 5904", ""] {
            assert!(!is_excluded(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn digits_of_a_card_are_seen_wherever_they_stand_and_however_they_are_written() {
        let alternating: String = "30569309025904".chars().flat_map(|digit| [digit, '-']).collect();
        for number in ["30569309025904", "4111 1111 1111 1111", "6011-1111-1111-1111-117", &alternating] {
            for before in 0..40 {
                let text = format!("{}{number}{}", "x".repeat(before), "x".repeat(40 - before));
                assert!(may_hold_digits(text.as_bytes()), "{text}");
            }
        }
        let spaces = " ".repeat(100);
        for text in ["", " word 1234 of it", "2026-11-27T16:20:00.123456", "345 345 345 345 x", &spaces] {
            assert!(!may_hold_digits(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn numbers_in_a_list_are_none() {
        // Each four of them would be right by their digits.
        for list in ["4000 0000 0000 0002 4000 0000 0000 0002", "4111-1111-1111-1111-1111-1111"] {
            assert_eq!(card(list.as_bytes(), End::Last, b""), Verdict::No, "{list}");
        }
        assert_eq!(card(b"4111 1111 1111 1111", End::Last, b"20 4998 4999 "), Verdict::No);
        let card_of = |text: &str, before: &[u8]| card(text.as_bytes(), End::Last, before);
        for before in [&b"2024 "[..], b"4998, 4999 ", b"14998 4999 ", b"Visa "] {
            assert_eq!(card_of("4111 1111 1111 1111", before), Verdict::Secret { from: 0, to: 19 });
        }
        for behind in [" 123", " 1227", " 1227 123", " 12/27", "\n5555 5555 5555 4444 1111 1111"] {
            let text = format!("4111 1111 1111 1111{behind}");
            assert_eq!(card_of(&text, b""), Verdict::Secret { from: 0, to: 19 }, "{text}");
        }
    }

    #[test]
    fn a_list_is_open_only_while_it_may_be_a_card() {
        let open = |text: &str| matches!(card(text.as_bytes(), End::Open, b""), Verdict::Open(_));
        for text in [
            "4111 ",
            "4111 1111 1111 1111",
            "4111 1111 1111 1111 ",
            "4111 1111 1111 1111 12",
            "4111 1111 1111 1111 1227 12",
        ] {
            assert!(open(text), "{text}");
        }
        for text in [
            "268 269",
            "268 269 270 271 2",
            "4112 4113 4114 4115 4116",
            "4111 1111 1111 1111 1227 123 ",
            "2681 x",
            "4111111 ",
        ] {
            assert!(!open(text), "{text}");
        }
    }

    #[test]
    fn a_number_that_may_go_on_is_open_until_it_cannot_be_one() {
        assert_eq!(card(b"41", End::Open, b""), Verdict::Open(Strength::Known));
        assert_eq!(card(b"411111", End::Open, b""), Verdict::Open(Strength::Known));
        assert_eq!(card(b"4111111", End::Open, b""), Verdict::Open(Strength::Begun));
        assert_eq!(card(b"17", End::Open, b""), Verdict::No);
        assert_eq!(card(b"4111111 apples", End::Open, b""), Verdict::No);
    }
}
