//! What the program says when it fails may repeat what it was told: a line of the settings, an argument, the name of a file. Secrets in it, as the
//! password of a database's address, become a mark before it is printed.

use std::borrow::Cow;
use std::ops::Range;

use edge::access::random;
use redact::{Builtin, MarkKey, PatternError, Redactor};

/// What stands in the place of a password.
const HIDDEN: &str = "***";

/// `text` without passwords in addresses and without keys of the known vendors.
pub(crate) fn without_secrets(text: &str) -> Cow<'_, str> {
    match Cleaner::new(Builtin::default(), &[]) {
        Ok(cleaner) => cleaner.clean(text),
        Err(_no_pattern) => without_passwords(text),
    }
}

/// Takes secrets out of what the program says. One for each process that says much.
#[derive(Debug)]
pub(crate) struct Cleaner {
    redactor: Redactor,
}

impl Cleaner {
    /// One for these kinds of secrets and the operator's patterns. Nobody compares its marks: their key is a new one each time. Fails for a pattern
    /// that cannot be used.
    pub(crate) fn new(builtin: Builtin, patterns: &[String]) -> Result<Self, PatternError> {
        Ok(Self { redactor: Redactor::new(MarkKey::new(random()), builtin, patterns)? })
    }

    /// `text` without passwords in addresses and without secrets.
    pub(crate) fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let clean = without_passwords(text);
        match self.redactor.text(&clean) {
            Some(marked) => Cow::Owned(marked),
            None => clean,
        }
    }
}

/// `text` without passwords in addresses.
fn without_passwords(text: &str) -> Cow<'_, str> {
    let mut clean = Cow::Borrowed(text);
    if let Some(hidden) = hide_each(&clean, "://", user_password) {
        clean = Cow::Owned(hidden);
    }
    if let Some(hidden) = hide_each(&clean, "password=", whole_word) {
        clean = Cow::Owned(hidden);
    }
    clean
}

/// Hides what `find` finds behind each `mark`, by its place in what follows. `None` if that is nothing.
fn hide_each(text: &str, mark: &str, find: fn(&str) -> Range<usize>) -> Option<String> {
    let (mut out, mut rest, mut is_changed) = (String::new(), text, false);
    while let Some((before, behind)) = rest.split_once(mark) {
        out.push_str(before);
        out.push_str(mark);
        rest = behind;
        let found = find(behind);
        if !found.is_empty()
            && let (Some(before), Some(after)) = (behind.get(..found.start), behind.get(found.end..))
        {
            out.push_str(before);
            out.push_str(HIDDEN);
            rest = after;
            is_changed = true;
        }
    }
    out.push_str(rest);
    is_changed.then_some(out)
}

/// The password of `user:password@host` at the beginning of `text`; nothing where there is none. A password may have any sign but white space
/// and quotes: the last `@` ends it, unless what stands before it is a port with a path.
fn user_password(text: &str) -> Range<usize> {
    let found = || {
        let end = text.find(|sign: char| sign.is_whitespace() || matches!(sign, '"' | '\''));
        let address = text.get(..end.unwrap_or(text.len()))?;
        let at = address.rfind('@')?;
        let colon = address.get(..at)?.find(':')?;
        let (port, _) = address.get(colon + 1..at)?.split_once('/').unwrap_or_default();
        let is_port = !port.is_empty() && port.bytes().all(|sign| sign.is_ascii_digit());
        (!is_port).then_some(colon + 1..at)
    };
    found().unwrap_or_default()
}

/// All of `text` up to what ends a parameter, without a quote in front.
fn whole_word(text: &str) -> Range<usize> {
    let begin = usize::from(text.starts_with(['"', '\'']));
    let rest = text.get(begin..).unwrap_or_default();
    let end = rest.find(|sign: char| sign.is_whitespace() || matches!(sign, '&' | '"' | '\''));
    begin..begin.saturating_add(end.unwrap_or(rest.len()))
}

#[cfg(test)]
mod tests {
    //! Tests of what is hidden, and of what stays.

    use super::*;

    #[test]
    fn passwords_in_addresses_and_keys_are_hidden_and_the_rest_stays() {
        for (text, clean) in [
            ("1 | log = \"postgres://hub:geheim@db/x\n  | ^", "1 | log = \"postgres://hub:***@db/x\n  | ^"),
            (
                "'postgres://hub:a@b@db:5432/x?y' and http://u:p@h",
                "'postgres://hub:***@db:5432/x?y' and http://u:***@h",
            ),
            ("postgres://db/x?user=a&password=geheim&z=1", "postgres://db/x?user=a&password=***&z=1"),
            (
                "http://127.0.0.1:4600/a:b@c, postgres://hub@db, password=",
                "http://127.0.0.1:4600/a:b@c, postgres://hub@db, password=",
            ),
            ("nothing : // here @ all", "nothing : // here @ all"),
            ("postgres://hub:ge/h?e#im@db/x", "postgres://hub:***@db/x"),
            ("password='geheim' x", "password='***' x"),
        ] {
            assert_eq!(without_secrets(text), clean);
        }
        let key = without_secrets("sk-proj-Z9y8X7w6V5u4T3s2R1q0P9o8N7m6L5k4: No such file").into_owned();
        assert!(key.contains("[redacted:openai-key:") && key.ends_with(": No such file"), "{key}");
    }
}
