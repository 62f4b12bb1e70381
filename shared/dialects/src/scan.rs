//! Finds the ends of JSON values in bytes. A place is the number of bytes before it.

/// How deep values may nest here. Each level is a bit of a number.
const DEPTH_MAX: u32 = 60;

/// The first place from `at` on that has no white space.
pub(crate) fn white(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\n' | b'\t' | b'\r')) {
        at = at.saturating_add(1);
    }
    at
}

/// The place behind the colon of the name that begins at `at`.
fn name_end(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    colon_end(bytes, string_end(bytes, at.saturating_add(1))?)
}

/// The place behind the colon that is the next byte from `at` on but for white space.
pub(crate) fn colon_end(bytes: &[u8], at: usize) -> Option<usize> {
    let colon = white(bytes, at);
    (bytes.get(colon) == Some(&b':')).then(|| colon.saturating_add(1))
}

/// The place behind the value that begins at `at` in a text that was checked. It only looks for the end.
pub(crate) fn checked_end(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' => checked_string_end(bytes, at.saturating_add(1)),
        b'{' | b'[' => checked_brackets_end(bytes, at),
        _ => {
            let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\t' | b'\r');
            let rest = bytes.get(at..)?;
            Some(at.saturating_add(rest.iter().position(is_end).unwrap_or(rest.len())))
        }
    }
}

/// The place behind the object or list that begins at `at`, in a text that was checked.
fn checked_brackets_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        let rest = bytes.get(at..)?;
        let next = rest.iter().position(|byte| matches!(byte, b'"' | b'{' | b'}' | b'[' | b']'))?;
        at = at.saturating_add(next).saturating_add(1);
        match rest.get(next)? {
            b'"' => at = checked_string_end(bytes, at)?,
            b'{' | b'[' => depth = depth.saturating_add(1),
            _ if depth > 1 => depth = depth.saturating_sub(1),
            _ => return Some(at),
        }
    }
}

/// The place behind the string whose first byte after the quote is at `at`, in a text that was checked.
fn checked_string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let end = special(bytes, at)?;
        at = end.saturating_add(1);
        match bytes.get(end)? {
            b'"' => return Some(at),
            // Whatever is escaped is no end.
            _ => at = at.saturating_add(1),
        }
    }
}

/// The place behind the value that begins at `at`; nothing if it is not valid, or nests too deep.
pub(crate) fn value_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    // The innermost bracket is the lowest bit: 1 for an object.
    let (mut objects, mut depth) = (0_u64, 0_u32);
    loop {
        at = white(bytes, at);
        match *bytes.get(at)? {
            b'"' => at = string_end(bytes, at.saturating_add(1))?,
            open @ (b'{' | b'[') => {
                let is_object = open == b'{';
                at = white(bytes, at.saturating_add(1));
                if bytes.get(at) == Some(if is_object { &b'}' } else { &b']' }) {
                    at = at.saturating_add(1);
                } else if depth >= DEPTH_MAX {
                    return None;
                } else {
                    depth = depth.saturating_add(1);
                    objects = (objects << 1) | u64::from(is_object);
                    if is_object {
                        at = name_end(bytes, at)?;
                    }
                    continue;
                }
            }
            _ => at = scalar_end(bytes, at)?,
        }
        loop {
            if depth == 0 {
                return Some(at);
            }
            at = white(bytes, at);
            let (byte, is_object) = (*bytes.get(at)?, objects & 1 == 1);
            at = at.saturating_add(1);
            if byte == b',' {
                if is_object {
                    at = name_end(bytes, white(bytes, at))?;
                }
                break;
            }
            if byte != if is_object { b'}' } else { b']' } {
                return None;
            }
            depth = depth.saturating_sub(1);
            objects >>= 1;
        }
    }
}

/// The place behind the string whose first byte after the quote is at `at`.
pub(crate) fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at = special(bytes, at)?;
        match *bytes.get(at)? {
            b'"' => return Some(at.saturating_add(1)),
            b'\\' => at = escape_end(bytes, at.saturating_add(1))?,
            _ => return None,
        }
    }
}

/// The first place from `at` on with a quote, a backslash or a byte below 0x20, which no string has.
pub(crate) fn special(bytes: &[u8], mut at: usize) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    // Eight bytes at once: the highest bit of a byte says that it is one of them. Only the lowest such bit is sure, and
    // that is the one that counts.
    while let Some(eight) = bytes.get(at..)?.first_chunk::<8>() {
        let word = u64::from_le_bytes(*eight);
        let is_zero = |word: u64| word.wrapping_sub(ONES) & !word;
        let quotes = is_zero(word ^ (ONES * 0x22));
        let escapes = is_zero(word ^ (ONES * 0x5C));
        let controls = word.wrapping_sub(ONES * 0x20) & !word;
        let found = (quotes | escapes | controls) & HIGHS;
        if found != 0 {
            return Some(at.saturating_add(usize::try_from(found.trailing_zeros() / 8).unwrap_or(0)));
        }
        at = at.saturating_add(8);
    }
    let rest = bytes.get(at..)?.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
    Some(at.saturating_add(rest))
}

/// The place behind the escape whose byte after the backslash is at `at`.
fn escape_end(bytes: &[u8], at: usize) -> Option<usize> {
    match *bytes.get(at)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at.saturating_add(1)),
        b'u' => {
            let digits = bytes.get(at.saturating_add(1)..at.saturating_add(5))?;
            digits.iter().all(u8::is_ascii_hexdigit).then(|| at.saturating_add(5))
        }
        _ => None,
    }
}

/// The place behind the number or word that begins at `at`.
fn scalar_end(bytes: &[u8], at: usize) -> Option<usize> {
    let word: &[u8] = match bytes.get(at)? {
        b'n' => b"null",
        b't' => b"true",
        b'f' => b"false",
        _ => return number_end(bytes, at),
    };
    let end = at.saturating_add(word.len());
    (bytes.get(at..end)? == word).then_some(end)
}

/// The place behind the number that begins at `at`.
fn number_end(bytes: &[u8], at: usize) -> Option<usize> {
    let digits = |at: usize| {
        let count = bytes.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (count > 0).then(|| at.saturating_add(count))
    };
    let begin = if bytes.get(at) == Some(&b'-') { at.saturating_add(1) } else { at };
    let mut at = digits(begin)?;
    if bytes.get(begin) == Some(&b'0') && at > begin.saturating_add(1) {
        return None;
    }
    if bytes.get(at) == Some(&b'.') {
        at = digits(at.saturating_add(1))?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at = at.saturating_add(1);
        if matches!(bytes.get(at), Some(b'+' | b'-')) {
            at = at.saturating_add(1);
        }
        at = digits(at)?;
    }
    Some(at)
}
