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

/// Whether the bytes of a request name something that would go out of this machine, or wait for what is not there.
pub fn reaches_outside(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    ["proxy", "validate"].iter().any(|word| text.contains(word)) || text.contains('%') && text.contains("%70")
}

/// The head and the body of a request, which an empty line parts; nothing where the head is no text.
pub fn head_and_body(request: &[u8]) -> Option<(&str, &[u8])> {
    let end = request.windows(2).position(|window| window == b"\n\n");
    let (head, body) = end.map_or((request, &[][..]), |at| (&request[..at], &request[at + 2..]));
    Some((std::str::from_utf8(head).ok()?, body))
}

/// `head` as it is sent, without a length of its own.
pub fn sent_head(head: &str) -> String {
    let mut lines = head.lines();
    let first = lines.next().unwrap_or_default();
    let others: Vec<_> =
        lines.filter(|line| !line.to_ascii_lowercase().contains("content-length")).collect();
    [&[&*format!("{first} HTTP/1.1")], others.as_slice()].concat().join("\r\n")
}
