//! Numbers and long texts in few characters.

/// The longest preview, in characters.
const PREVIEW_CHARS: usize = 100;

/// A duration for people; `ms` is in milliseconds.
pub(super) fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..10_000 => format!("{seconds}.{} s", ms % 1000 / 100),
        10_000..60_000 => format!("{seconds} s"),
        60_000..3_600_000 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60),
    }
}

/// The beginning of a text, on one line. It ends with an ellipsis where it is cut.
pub(super) fn preview(text: &str) -> String {
    let mut words = text.split_whitespace();
    let mut line = String::new();
    let mut chars = 0_usize;
    for word in &mut words {
        let length = word.chars().count();
        if chars > 0 {
            line.push(' ');
        }
        if chars.saturating_add(length) > PREVIEW_CHARS {
            line.extend(word.chars().take(PREVIEW_CHARS.saturating_sub(chars)));
            line.push('…');
            return line;
        }
        line.push_str(word);
        chars = chars.saturating_add(length).saturating_add(1);
    }
    line
}
