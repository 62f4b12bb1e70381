//! What recordings of others are taken for secrets that are none.

use redact::{Builtin, EventStreams, MarkKey, Redactor};

use crate::recordings::recorded;

/// Marks for each MiB of recordings, at most.
const FALSE_HITS_PER_MIB: u64 = 1;

#[test]
fn few_words_of_recordings_are_taken_for_secrets() {
    let redactor = Redactor::new(MarkKey::new([1; 32]), Builtin::default(), &[]).unwrap();
    let (mut bytes, mut lines) = (0_u64, Vec::new());
    for stream in recorded() {
        bytes += stream.bytes.len() as u64;
        let mut decoded = stream.decoded();
        let before: u64 = redactor.counts().map(|(_, count)| count).sum();
        for envelope in &mut decoded.envelopes {
            redactor.event(&mut envelope.event);
        }
        EventStreams::default().take_history(&redactor, &mut decoded.envelopes);
        let after: u64 = redactor.counts().map(|(_, count)| count).sum();
        if after > before {
            lines.push(format!("{}: {}", stream.path.display(), after - before));
        }
    }
    let hits: u64 = redactor.counts().map(|(_, count)| count).sum();
    let by_rule: Vec<_> = redactor.counts().filter(|(_, count)| *count > 0).collect();
    println!("{hits} hits in {bytes} bytes of recordings: {by_rule:?}\n{}", lines.join("\n"));
    assert!(hits <= FALSE_HITS_PER_MIB * bytes.div_ceil(1 << 20), "{by_rule:?}\n{}", lines.join("\n"));
}
