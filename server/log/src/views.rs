//! Conversions between the view of a conversation and its stored bytes. A view is stored as the JSON of its
//! snapshot, compressed with zlib at its fastest level, since it is written again each time that its
//! conversation rests.

use std::io::{BufReader, BufWriter, Read as _};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use model::{View, snapshot};

use crate::LogError;
use crate::blocks::unreadable;
use crate::priority::{ThreadPriority, run_at_priority};

/// Most bytes of a state's JSON that are in memory beside the state. A larger one is parsed as it is
/// unpacked, which is slower, and in a thread of a lower priority: it takes tens of milliseconds.
const AT_ONCE: usize = 1 << 20;

/// How much of a state is packed or unpacked in one step, in bytes.
const STEP: usize = 64 << 10;

/// Packs `view` for the table: its snapshot, compressed with zlib as it is written.
pub(crate) fn pack(view: &View) -> Vec<u8> {
    let mut packer = BufWriter::with_capacity(STEP, ZlibEncoder::new(Vec::new(), Compression::fast()));
    // Writing to memory cannot fail, and a view contains nothing that cannot be written.
    drop(serde_json::to_writer(&mut packer, view));
    packer.into_inner().ok().and_then(|packer| packer.finish().ok()).unwrap_or_default()
}

/// Unpacks the view in `body`. Fails with [`LogError::Unreadable`] for bytes that are damaged, or that only a
/// later version can read.
pub(crate) fn unpack(body: &[u8]) -> Result<View, LogError> {
    let mut plain = ZlibDecoder::new(body);
    let mut begun = Vec::with_capacity(body.len().saturating_mul(4).min(AT_ONCE));
    plain.by_ref().take(AT_ONCE as u64).read_to_end(&mut begun).map_err(unreadable)?;
    if begun.len() < AT_ONCE {
        return snapshot::decode(&begun).map_err(unreadable);
    }
    run_at_priority(ThreadPriority::Asked, || {
        let whole = BufReader::with_capacity(STEP, begun.as_slice().chain(plain));
        serde_json::from_reader(whole).map_err(unreadable)
    })
}

#[cfg(test)]
mod tests {
    use model::event::{Kind, Message};
    use model::fold::fold;
    use model::{Envelope, Event, MessageId, RunId, snapshot, testkit};
    use proptest::prelude::*;

    use super::{AT_ONCE, pack, unpack};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        /// A state that is larger than what is read at once holds the same when it comes back, whatever is in it.
        #[test]
        fn a_large_state_is_read_back_as_it_was(history in testkit::history(0..60)) {
            let mut view = testkit::folded(&history);
            let text = "word \u{1f600} \"quoted\" \n".repeat(AT_ONCE / 20);
            let large = Message { message: MessageId::new("large"), role: "user".into(), text: text.as_str().into(), files: Vec::new() };
            let event = Event::new(&RunId::none(), Kind::Message(large));
            let seq = view.seq + 1;
            let envelope = Envelope { event, seq, at: seq, producer_at: None, publisher: None, by_hub: false };
            fold(&mut view, &envelope, &mut |_| {});
            let plain = snapshot::encode(&view);
            prop_assert!(plain.len() > AT_ONCE);
            prop_assert_eq!(&snapshot::encode(&unpack(&pack(&view)).unwrap()), &plain);
        }
    }
}
