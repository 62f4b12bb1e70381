//! Numbers of payment cards: the ranges of the large schemes, the lengths that each has, the groups in which people write them, and
//! the check digit of Luhn.

use crate::verdict::{End, Strength, Verdict};

/// Most digits of a number.
const DIGITS_MAX: usize = 19;

/// So many digits name the bank and not the card.
pub(crate) const BANK_DIGITS: usize = 6;

/// The groups of digits in which numbers are written.
const GROUPINGS: [&[usize]; 4] = [&[4, 4, 4, 4], &[4, 6, 5], &[4, 6, 4], &[4, 4, 4, 4, 3]];

/// Judges whether the number of a card begins with `text`; the byte before it is no letter or digit.
pub(crate) fn card(text: &[u8], end: End) -> Verdict {
    let read = Digits::read(text);
    if !may_be_card(read.first(read.count)) {
        return Verdict::No;
    }
    if read.bytes == text.len() && end == End::Open && read.count <= DIGITS_MAX {
        let strength = if read.count > BANK_DIGITS { Strength::Begun } else { Strength::Known };
        return Verdict::Open(strength);
    }
    let whole: [usize; 1] = [read.groups.first().map_or(0, |group| group.0)];
    let groupings = std::iter::once(whole.as_slice()).chain(GROUPINGS);
    let mut found = groupings.filter_map(|grouping| {
        let (count, to) = read.grouped(grouping)?;
        let is_whole = match text.get(to..).unwrap_or_default() {
            [b'.', digit, ..] => !digit.is_ascii_digit(),
            [byte, ..] => !byte.is_ascii_alphanumeric() && *byte != b'_',
            [] => true,
        };
        (is_whole && count <= DIGITS_MAX && is_card(read.first(count)))
            .then_some(Verdict::Secret { from: 0, to })
    });
    found.next().unwrap_or(Verdict::No)
}

/// Most groups that are looked at.
const GROUPS_MAX: usize = 6;

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

    /// Digits and bytes of the first groups, where they have these lengths.
    fn grouped(&self, grouping: &[usize]) -> Option<(usize, usize)> {
        let groups = self.groups.get(..grouping.len())?;
        let fits = groups.iter().zip(grouping).all(|(group, wanted)| group.0 == *wanted);
        fits.then(|| (grouping.iter().sum(), groups.last().map_or(0, |group| group.1)))
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
            let verdict = card(number.as_bytes(), End::Last);
            assert_eq!(verdict, Verdict::Secret { from: 0, to: number.len() }, "{number}");
            let behind = format!("{number}, thanks");
            assert_eq!(
                card(behind.as_bytes(), End::Open),
                Verdict::Secret { from: 0, to: number.len() },
                "{behind}"
            );
            let expires = format!("{number} 12/27");
            assert_ne!(card(expires.as_bytes(), End::Open), Verdict::No, "{expires}");
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
            assert_eq!(card(number.as_bytes(), End::Last), Verdict::No, "{number}");
        }
    }

    #[test]
    fn a_number_that_may_go_on_is_open_until_it_cannot_be_one() {
        assert_eq!(card(b"41", End::Open), Verdict::Open(Strength::Known));
        assert_eq!(card(b"411111", End::Open), Verdict::Open(Strength::Known));
        assert_eq!(card(b"4111111", End::Open), Verdict::Open(Strength::Begun));
        assert_eq!(card(b"17", End::Open), Verdict::No);
        assert_eq!(card(b"4111111 apples", End::Open), Verdict::No);
    }
}
