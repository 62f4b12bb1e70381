//! What the targets have in common: laws of events and documents, a hub inside the fuzzer, and somebody who talks to it.

pub mod guarded;
pub mod hub;
pub mod laws;
pub mod page;
pub mod talk;

/// A number made of `bytes`: the same for the same bytes, and as good as any other for others.
pub fn dice(bytes: &[u8]) -> usize {
    let mix = |hash: usize, byte: &u8| (hash ^ usize::from(*byte)).wrapping_mul(0x0100_01b3);
    bytes.iter().fold(0x811c_9dc5, mix)
}

/// The parts of an input on both sides of the line `-----`; without one the second is empty.
pub fn halves(bytes: &[u8]) -> (&[u8], &[u8]) {
    const MARK: &[u8] = b"\n-----\n";
    let at = bytes.windows(MARK.len()).position(|window| window == MARK);
    at.map_or((bytes, &[]), |at| (&bytes[..at], &bytes[at + MARK.len()..]))
}
