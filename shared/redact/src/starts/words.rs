//! The beginnings of secrets as a set that is asked at every place of nearly every text, so it is made for being asked fast.

/// Slots of [`Words`]: a power of two, 2^[`SLOT_BITS`]; 8 KiB, which stay in the first cache.
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 11;

/// Classes of the first bytes of members, and as many of their last ones.
const CLASSES: u32 = 16;

/// A set of three bytes that is asked for two places of a text at once. The two share their middle, a pair of bytes, whose slot knows the classes of
/// the bytes that make a member of it: one before it, or one behind it. What has no member seldom has one of those bytes beside such a pair.
#[derive(Debug)]
pub(super) struct Words {
    pairs: Box<[u32; SLOTS]>,
    /// The class of each byte with which a member begins: a low bit. None of the others.
    firsts: Box<[u32; 256]>,
    /// The class of each byte with which a member ends: a high bit.
    lasts: Box<[u32; 256]>,
    /// How many bytes of either have a class; it gives that of the next one.
    counts: [u32; 2],
}

impl Default for Words {
    fn default() -> Self {
        Self {
            pairs: Box::new([0; SLOTS]),
            firsts: Box::new([0; 256]),
            lasts: Box::new([0; 256]),
            counts: [0; 2],
        }
    }
}

impl Words {
    /// Enters three bytes as a member.
    pub(super) fn enter(&mut self, [a, b, c]: [u8; 3]) {
        let [firsts, lasts] = &mut self.counts;
        let first = Self::class(&mut self.firsts, firsts, a, 0);
        let last = Self::class(&mut self.lasts, lasts, c, CLASSES);
        for (pair, class) in [([b, c], first), ([a, b], last)] {
            if let Some(classes) = self.pairs.get_mut(Self::slot(pair)) {
                *classes |= class;
            }
        }
    }

    /// The class of `byte`, which gets the next one if it has none. Classes of the table begin with the bit `lowest`.
    fn class(classes: &mut [u32; 256], count: &mut u32, byte: u8, lowest: u32) -> u32 {
        let Some(class) = classes.get_mut(usize::from(byte)) else { return 0 };
        if *class == 0 {
            *class = 1 << (lowest + *count % CLASSES);
            *count += 1;
        }
        *class
    }

    fn slot(pair: [u8; 2]) -> usize {
        let hash = u32::from(u16::from_le_bytes(pair)).wrapping_mul(0x9E37_79B1);
        usize::try_from(hash >> (32 - SLOT_BITS)).unwrap_or_default()
    }

    fn of(classes: &[u32; 256], byte: u8) -> u32 {
        classes.get(usize::from(byte)).copied().unwrap_or_default()
    }

    fn of_pair(&self, pair: [u8; 2]) -> u32 {
        self.pairs.get(Self::slot(pair)).copied().unwrap_or_default()
    }

    /// The classes by which a member may begin with the first or the second of four bytes: none where none does, nearly always.
    #[inline]
    pub(super) fn of_four(&self, [a, b, c, d]: [u8; 4]) -> u32 {
        self.of_pair([b, c]) & (Self::of(&self.firsts, a) | Self::of(&self.lasts, d))
    }

    /// Whether one of them may stand in `bytes`.
    pub(super) fn may_hold(&self, bytes: &[u8]) -> bool {
        let Some(last) = bytes.last_chunk() else {
            return matches!(bytes, [a, b, c] if self.of_pair([*b, *c]) & Self::of(&self.firsts, *a) != 0);
        };
        // All places, whatever the first ones say: nearly always none is one, and no branch is guessed wrong then. The last four bytes
        // may be asked twice.
        let (mut any, mut rest) = (self.of_four(*last), bytes);
        while let Some([a, b, c, d, e, f]) = rest.first_chunk() {
            any |= self.of_four([*a, *b, *c, *d]) | self.of_four([*c, *d, *e, *f]);
            rest = rest.get(4..).unwrap_or_default();
        }
        if let [a, b, c, d, _] = rest {
            any |= self.of_four([*a, *b, *c, *d]);
        }
        any != 0
    }
}
