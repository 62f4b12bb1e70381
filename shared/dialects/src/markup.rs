//! Tags in text, as models and chat servers write them: attributes in quotes, values escaped as HTML. This is
//! no HTML parser: it reads back only what the two formats that use it contain, `<tool_use>` of models and
//! `<details>` of Open WebUI.

use std::borrow::Cow;

/// The value of the attribute `name` in the tag `tag`, unescaped; nothing if it is absent or not in quotes.
/// `tag` is the text from `<` on, with or without its `>`.
pub(crate) fn attribute<'a>(tag: &'a str, name: &str) -> Option<Cow<'a, str>> {
    attributes(tag).find(|(found, _)| *found == name).map(|(_, value)| unescape(value))
}

/// The attributes of a tag with their values as they are written. What has no value in quotes is passed over.
fn attributes(tag: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = tag;
    std::iter::from_fn(move || {
        loop {
            let (before, after) = rest.split_once('=')?;
            let name =
                before.rsplit(|c: char| c.is_whitespace() || c == '"' || c == '\'').next().unwrap_or("");
            let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''));
            let Some(quote) = quote else {
                rest = after;
                continue;
            };
            let inside = after.get(1..).unwrap_or_default();
            let (value, after) = inside.split_once(quote)?;
            rest = after;
            return Some((name, value));
        }
    })
}

/// `text` with its HTML entities replaced: `amp`, `lt`, `gt`, `quot`, `apos`, `nbsp` and code points. Other
/// entities stay as they are. It borrows if there is no `&`.
pub(crate) fn unescape(text: &str) -> Cow<'_, str> {
    if memchr::memchr(b'&', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        plain.push_str(before);
        if let Some((c, len)) = entity(after) {
            plain.push(c);
            rest = after.get(len..).unwrap_or_default();
        } else {
            plain.push('&');
            rest = after;
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// The character that the entity at the beginning of `text` (after its `&`) stands for, and its length in
/// bytes with the `;`.
fn entity(text: &str) -> Option<(char, usize)> {
    /// Longest entity that is looked for: a code point in decimal digits, or `quot`.
    const LONGEST: usize = 10;
    let beginning = text.get(..text.floor_char_boundary(LONGEST))?;
    let (name, _) = beginning.split_once(';')?;
    let c = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    };
    Some((c, name.len().saturating_add(1)))
}

#[cfg(test)]
mod tests;
