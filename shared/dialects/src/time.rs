//! Times as streams write them: RFC 3339, or a number of seconds or milliseconds since 1970.

use super::field::ForeignField;

/// Numbers from here on are milliseconds: as seconds they would be a year after 5000.
const MILLIS_FROM: u64 = 100_000_000_000;

impl ForeignField<'_> {
    /// A time in milliseconds since 1970; nothing for what is no time, or one before that.
    /// Numbers below [`MILLIS_FROM`] are seconds, with a fraction down to the millisecond.
    pub(crate) fn time(self) -> Option<u64> {
        if let Some(time) = self.text().as_deref().and_then(millis) {
            return Some(time);
        }
        let whole = self.count()?;
        if whole >= MILLIS_FROM {
            return Some(whole);
        }
        let fraction = self.as_json_text().trim_matches('"').split_once('.').map_or("", |(_, digits)| digits);
        whole.checked_mul(1000)?.checked_add(thousandths(fraction)?)
    }
}

/// The milliseconds since 1970 of a time such as `2026-08-04T19:58:15.115854+02:00`. Without an offset it is UTC.
/// Nothing for dates that cannot be, years after 9999 and times before 1970. Digits after the millisecond are
/// cut off.
fn millis(text: &str) -> Option<u64> {
    if let Some((date, clock, fraction)) = usual(text.as_bytes()) {
        return at(date, clock, 0, fraction);
    }
    let (date, rest) = text.split_at_checked("2026-08-04".len())?;
    let (clock, zone) = split_zone(rest.strip_prefix(['T', 't', ' '])?);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let (date, clock) = (numbers(date, '-')?, numbers(clock, ':')?);
    let zone = match zone.strip_prefix('-') {
        Some(behind) => i64::try_from(offset(behind)?).ok()?.checked_neg()?,
        None => i64::try_from(offset(zone.trim_start_matches('+'))?).ok()?,
    };
    at(date, clock, zone, thousandths(fraction)?)
}

/// The date, the clock and the thousandths of a time that is written as nearly all are, `2026-08-04T19:58:15.115854Z`;
/// nothing for any other one.
fn usual(text: &[u8]) -> Option<([u64; 3], [u64; 3], u64)> {
    let two = |at: usize| {
        let [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] = text.get(at..)?.first_chunk::<2>()? else {
            return None;
        };
        Some(u64::from(tens & 15) * 10 + u64::from(ones & 15))
    };
    let [b'-', _, _, b'-', _, _, b'T', _, _, b':', _, _, b':', _, _, rest @ .., b'Z'] = text.get(4..)? else {
        return None;
    };
    let year = two(0)?.checked_mul(100)?.checked_add(two(2)?)?;
    let (date, clock) = ([year, two(5)?, two(8)?], [two(11)?, two(14)?, two(17)?]);
    let digits = match rest {
        [] => &[],
        [b'.', digits @ ..] if digits.iter().all(u8::is_ascii_digit) => digits,
        _ => return None,
    };
    let digits = digits.iter().chain(b"000").take(3);
    Some((date, clock, digits.fold(0, |sum, digit| sum * 10 + u64::from(digit & 15))))
}

/// The milliseconds since 1970 of a date and a clock that is `zone` seconds ahead of UTC.
fn at(
    [year, month, day]: [u64; 3],
    [hour, minute, second]: [u64; 3],
    zone: i64,
    fraction: u64,
) -> Option<u64> {
    let is_real = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !is_real {
        return None;
    }
    let local = sum(&[(days(year, month, day)?, 86_400), (hour, 3600), (minute, 60), (second, 1)])?;
    sum(&[(local.checked_sub_signed(zone)?, 1000), (fraction, 1)])
}

/// A time of the day, and what stands behind it for its zone.
fn split_zone(text: &str) -> (&str, &str) {
    match text.find(['Z', 'z', '+', '-']) {
        Some(at) => text.split_at_checked(at).unwrap_or((text, "")),
        None => (text, ""),
    }
}

/// Seconds of the offset `02:00`, `0200`, `02` or of nothing.
fn offset(zone: &str) -> Option<u64> {
    let digits: String = zone.chars().filter(char::is_ascii_digit).collect();
    let (hours, minutes) = digits.split_at_checked(2).unwrap_or(("0", ""));
    sum(&[(hours.parse().ok()?, 3600), (if minutes.is_empty() { 0 } else { minutes.parse().ok()? }, 60)])
}

/// Three numbers with `between` between them; the third may be absent and is 0 then. Nothing if there are
/// more or others.
fn numbers(text: &str, between: char) -> Option<[u64; 3]> {
    let mut found = text.split(between).map(str::parse::<u64>);
    let (first, second) = (found.next()?.ok()?, found.next()?.ok()?);
    let third = found.next().unwrap_or(Ok(0)).ok()?;
    found.next().is_none().then_some([first, second, third])
}

/// The first three digits of a fraction.
fn thousandths(fraction: &str) -> Option<u64> {
    let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
    digits.parse().ok()
}

/// Days from 1970 on, by the Gregorian calendar. A year is counted from March, so that the leap day comes
/// last.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    const BEFORE_1970: u64 = 719_469;
    let year = if month <= 2 { year.checked_sub(1)? } else { year };
    let month = month.checked_add(9)?.checked_rem(12)?;
    let leaps = year.div_euclid(4).checked_sub(year.div_euclid(100))?.checked_add(year.div_euclid(400))?;
    let in_year = sum(&[(month, 153), (2, 1)])?.div_euclid(5);
    sum(&[(year, 365), (leaps, 1), (in_year, 1), (day, 1)])?.checked_sub(BEFORE_1970)
}

/// The sum of the products; nothing when it is too great.
fn sum(products: &[(u64, u64)]) -> Option<u64> {
    products.iter().try_fold(0_u64, |sum, (a, b)| sum.checked_add(a.checked_mul(*b)?))
}

#[cfg(test)]
mod tests;
