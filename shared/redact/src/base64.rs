//! Base64 as far as a search needs it: what a text looks like in it, wherever in the encoded text it stands, and back.

/// The usual alphabet; that of addresses differs in the last two.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The value of a letter of either alphabet.
pub(crate) fn value(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

/// The bytes that `text` stands for, up to what is not base64.
pub(crate) fn bytes(text: &[u8]) -> Vec<u8> {
    let mut all = Vec::with_capacity(text.len() * 3 / 4);
    let mut bits = Bits::after(0);
    for value in text.iter().map_while(|byte| value(*byte)) {
        all.extend(bits.push(value));
    }
    all
}

/// Gathers bits of letters to bytes.
pub(crate) struct Bits {
    held: u32,
    count: u32,
    /// Bits that still are to be left out.
    skip: u32,
}

impl Bits {
    /// Leaves out the first `skip` bits of the first letter, at most six.
    pub(crate) fn after(skip: u32) -> Self {
        Self { held: 0, count: 0, skip }
    }

    /// Takes the value of one letter; gives the byte that is whole with it.
    pub(crate) fn push(&mut self, value: u32) -> Option<u8> {
        let fresh = 6 - self.skip;
        self.held = (self.held << fresh) | (value & ((1 << fresh) - 1));
        self.skip = 0;
        self.count += fresh;
        if self.count < 8 {
            return None;
        }
        self.count -= 8;
        let byte = self.held >> self.count;
        self.held &= (1 << self.count) - 1;
        u8::try_from(byte & 0xff).ok()
    }
}

/// How a text looks in base64 where so many bytes more than a multiple of three stand before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Encoded {
    /// The letters that do not depend on what stands around it.
    pub(crate) letters: Vec<u8>,
    /// Bits of the letter before those, at its beginning, that belong to what stands before; nothing where the text begins with the
    /// first of the letters.
    pub(crate) skip: Option<u32>,
}

/// The three ways in which `text` looks in base64, and those with the alphabet of addresses where that differs.
pub(crate) fn encoded(text: &[u8]) -> Vec<Encoded> {
    let mut all = Vec::new();
    for before in 0..3_usize {
        let padded: Vec<u8> = std::iter::repeat_n(0, before).chain(text.iter().copied()).collect();
        let (first, last) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
        let letters: Vec<u8> = letters(&padded).take(last).skip(first).collect();
        let skip = match before {
            0 => None,
            1 => Some(2),
            _ => Some(4),
        };
        let of_addresses: Vec<u8> = letters
            .iter()
            .map(|letter| match letter {
                b'+' => b'-',
                b'/' => b'_',
                other => *other,
            })
            .collect();
        if of_addresses != letters {
            all.push(Encoded { letters: of_addresses, skip });
        }
        all.push(Encoded { letters, skip });
    }
    all
}

/// The letters of `bytes`, without padding.
fn letters(bytes: &[u8]) -> impl Iterator<Item = u8> {
    bytes.chunks(3).flat_map(|group| {
        let joined = group.iter().fold(0_u32, |joined, byte| (joined << 8) | u32::from(*byte));
        let joined = joined << (8 * (3 - group.len()));
        let count = group.len() + 1;
        (0..count).map(move |at| {
            let value = usize::try_from((joined >> (18 - 6 * at)) & 63).unwrap_or_default();
            ALPHABET.get(value).copied().unwrap_or(b'A')
        })
    })
}

#[cfg(test)]
mod tests {
    //! Tests of base64.

    use super::*;

    #[test]
    fn letters_stand_for_their_bytes() {
        let text = b"sk-proj-0123456789";
        let written: Vec<u8> = letters(text).collect();
        assert_eq!(written, b"c2stcHJvai0wMTIzNDU2Nzg5");
        assert_eq!(bytes(&written), text);
    }

    #[test]
    fn a_text_is_known_wherever_it_stands() {
        for before in 0..6 {
            let whole: Vec<u8> = std::iter::repeat_n(b'x', before).chain(*b"sk-abc").collect();
            let written: Vec<u8> = letters(&whole).collect();
            let found = encoded(b"sk-")
                .into_iter()
                .any(|it| written.windows(it.letters.len()).any(|at| at == it.letters));
            assert!(found, "{before}");
        }
    }
}
