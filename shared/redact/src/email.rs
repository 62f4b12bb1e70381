//! Finds e-mail addresses.

use crate::find::{Found, KindIndex};
use crate::verdict::{End, Strength};

/// Most bytes before the `@`, by RFC 5321.
const LOCAL_BYTES_MAX: usize = 64;

/// Most bytes behind it.
const DOMAIN_BYTES_MAX: usize = 255;

/// The first address in `bytes` from the byte `from` on; where `end` is open, also what the end cuts.
pub(crate) fn find(bytes: &[u8], from: usize, end: End, kind: KindIndex) -> Option<Found> {
    let rest = bytes.get(from..).unwrap_or_default();
    for at in memchr::memchr_iter(b'@', rest) {
        let local = local(rest.get(..at).unwrap_or_default());
        if local == 0 {
            continue;
        }
        let start = from + at - local;
        let behind = rest.get(at + 1..).unwrap_or_default();
        let domain = behind.iter().take(DOMAIN_BYTES_MAX).take_while(|byte| is_domain(**byte)).count();
        if domain == behind.len() && end == End::Open {
            return Some(Found::Open { from: start, kind, strength: Strength::Begun });
        }
        let domain = trimmed(behind.get(..domain).unwrap_or_default());
        if is_name(domain) {
            let to = from + at + 1 + domain.len();
            let value = bytes.get(start..to).unwrap_or_default().to_vec();
            return Some(Found::Secret { from: start, to, kind, value });
        }
    }
    // Any word may become one.
    let word = local(rest);
    (end == End::Open && word > 0).then(|| Found::Open {
        from: bytes.len() - word,
        kind,
        strength: Strength::Possible,
    })
}

/// Bytes at the end of `text` that can stand before an `@`.
fn local(text: &[u8]) -> usize {
    let is_local =
        |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'%' | b'+' | b'-');
    text.iter().rev().take(LOCAL_BYTES_MAX).take_while(is_local).count()
}

fn is_domain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-')
}

fn trimmed(domain: &[u8]) -> &[u8] {
    let ends = domain.iter().rev().take_while(|byte| matches!(byte, b'.' | b'-')).count();
    domain.get(..domain.len() - ends).unwrap_or_default()
}

/// Whether it is the name of a host with a domain of its own.
fn is_name(domain: &[u8]) -> bool {
    let mut labels = domain.rsplit(|byte| *byte == b'.');
    let top = labels.next().unwrap_or_default();
    top.len() >= 2
        && top.iter().all(u8::is_ascii_alphabetic)
        && labels.next().is_some_and(|label| !label.is_empty())
}
