//! Times, sizes, counts and money as people read them.

use crate::event::Cost;

/// A finished duration: `840 ms`, `1.2 s`, `14 s`, `2:41`, `1:04:09`.
pub fn duration(ms: u64) -> String {
    if ms < 1000 {
        return format!("{ms} ms");
    }
    // Rounded to a tenth of a second; 9.96 s would else read "10.0 s".
    let tenths = ms.saturating_add(50) / 100;
    if tenths < 100 {
        return format!("{}.{} s", tenths / 10, tenths % 10);
    }
    let seconds = ms.saturating_add(500) / 1000;
    if seconds < 60 { format!("{seconds} s") } else { clock(seconds.saturating_mul(1000)) }
}

/// A duration that still grows, in whole seconds: `0:14`, `2:41`, `1:04:09`.
pub fn clock(ms: u64) -> String {
    let seconds = ms / 1000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// A size: `512 B`, `8.1 KB`, `184 KB`, `2.3 MB`.
pub fn bytes(n: u64) -> String {
    if n < 1024 {
        return format!("{n} B");
    }
    let (mut unit, mut size) = ("KB", n);
    for next in ["MB", "GB"] {
        // 1000 rather than 1024: "1023.9 KB" is harder to read than "1.0 MB".
        if size < 1000 * 1024 {
            break;
        }
        size /= 1024;
        unit = next;
    }
    let tenths = size.saturating_mul(10) / 1024;
    if tenths < 100 {
        format!("{}.{} {unit}", tenths / 10, tenths % 10)
    } else {
        format!("{} {unit}", tenths / 10)
    }
}

/// A count: `812`, `38.2k`, `1.4M`.
pub fn count(n: u64) -> String {
    let (tenths, unit) = match n {
        0..1000 => return n.to_string(),
        1000..1_000_000 => (n / 100, 'k'),
        _ => (n / 100_000, 'M'),
    };
    if tenths < 1000 {
        format!("{}.{}{unit}", tenths / 10, tenths % 10)
    } else {
        format!("{}{unit}", tenths / 10)
    }
}

/// Money, to two digits that say something: `$0.0042`, `$1.27`, `€0.35`, `12.08 CHF`.
pub fn cost(cost: Cost) -> String {
    let picos = cost.picos();
    let places = match picos {
        10_000_000_000.. => 2,
        0 => 0,
        // The first digit that is no zero, and one more.
        _ => 13_u32.saturating_sub(picos.ilog10()).min(12),
    };
    let unit = 10_u64.pow(12_u32.saturating_sub(places));
    let rounded = picos.saturating_add(unit / 2) / unit;
    let scale = 10_u64.pow(places);
    let amount = match places {
        0 => rounded.to_string(),
        _ => format!("{}.{:0width$}", rounded / scale, rounded % scale, width = places as usize),
    };
    match cost.currency().as_str() {
        "USD" => format!("${amount}"),
        "EUR" => format!("€{amount}"),
        "GBP" => format!("£{amount}"),
        currency => format!("{amount} {currency}"),
    }
}

/// An exact count with separators: `48,211`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len().saturating_mul(4) / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len().saturating_sub(i)).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How long ago something was: `now`, `6 m`, `3 h`, `2 d`.
pub fn age(ms: u64) -> String {
    let minutes = ms / 60_000;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes} m"),
        60..1440 => format!("{} h", minutes / 60),
        _ => format!("{} d", minutes / 1440),
    }
}

/// How long ago, while it is seconds that count: `0.4 s`, `12 s`, `6 m`.
pub fn short_age(ms: u64) -> String {
    match ms {
        0..10_000 => format!("{}.{} s", ms / 1000, ms / 100 % 10),
        10_000..60_000 => format!("{} s", ms / 1000),
        _ => age(ms),
    }
}

/// A moment in UTC, from milliseconds since 1970: `2026-11-22 06:15 UTC`.
pub fn date(ms: u64) -> String {
    let (minutes, days) = (ms / 60_000 % 1440, ms / 86_400_000);
    // Years are counted from March of the year 0, so that the day that comes and goes is a year's last.
    let days = days.saturating_add(719_468);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let date = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    format!("{year}-{month:02}-{date:02} {:02}:{:02} UTC", minutes / 60, minutes % 60)
}

/// Date and time to the millisecond in the form of ISO 8601: `2026-11-22T06:15:00.000Z`.
pub fn iso(ms: u64) -> String {
    let minute = date(ms).trim_end_matches(" UTC").replace(' ', "T");
    format!("{minute}:{:02}.{:03}Z", ms / 1000 % 60, ms % 1000)
}

/// A number with its noun: `1 tool`, `3 tools`.
pub fn counted(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

#[cfg(test)]
mod tests;
