//! The table of checkpoints: the newest stored state of each conversation, from which it is read back
//! quickly.

use std::io::{BufReader, BufWriter, Read as _};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use model::{Seq, View, snapshot};
use rusqlite::{Connection, OptionalExtension as _};

use super::blocks::unreadable;
use super::schema::integer;
use crate::LogError;

/// Most bytes of a state's JSON that are in memory beside the state. A larger one is parsed as it is
/// unpacked, which is slower.
const AT_ONCE: usize = 1 << 20;

/// How much of a state is packed or unpacked in one step, in bytes.
const STEP: usize = 64 << 10;

/// Packs `view` for the table: its snapshot, compressed with zlib as it is written.
pub(super) fn pack(view: &View) -> Vec<u8> {
    let mut packer = BufWriter::with_capacity(STEP, ZlibEncoder::new(Vec::new(), Compression::fast()));
    // Writing to memory cannot fail, and a view contains nothing that cannot be written.
    drop(serde_json::to_writer(&mut packer, view));
    packer.into_inner().ok().and_then(|packer| packer.finish().ok()).unwrap_or_default()
}

/// Unpacks the view in `body`.
fn unpack(body: &[u8]) -> Result<View, LogError> {
    let mut plain = ZlibDecoder::new(body);
    let mut begun = Vec::with_capacity(body.len().saturating_mul(4).min(AT_ONCE));
    plain.by_ref().take(AT_ONCE as u64).read_to_end(&mut begun).map_err(unreadable)?;
    if begun.len() < AT_ONCE {
        return snapshot::decode(&begun).map_err(unreadable);
    }
    let whole = BufReader::with_capacity(STEP, begun.as_slice().chain(plain));
    serde_json::from_reader(whole).map_err(unreadable)
}

/// Stores a packed state, unless a newer one is there. Returns by how many bytes the table grows.
pub(super) fn put(connection: &Connection, key: i64, seq: Seq, body: &[u8]) -> rusqlite::Result<i64> {
    let select = "SELECT seq, length(body) FROM checkpoint WHERE conversation = ?1";
    let mut select = connection.prepare_cached(select)?;
    let before: Option<(i64, i64)> =
        select.query_row([key], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    if before.is_some_and(|(kept, _)| kept > integer(seq)) {
        return Ok(0);
    }
    let put = "INSERT OR REPLACE INTO checkpoint (conversation, seq, body) VALUES (?1, ?2, ?3)";
    connection.prepare_cached(put)?.execute((key, integer(seq), body))?;
    Ok(integer(body.len() as u64) - before.map_or(0, |(_, bytes)| bytes))
}

/// The newest stored state; the empty one if none was stored.
pub(super) fn read(connection: &Connection, key: i64) -> Result<View, LogError> {
    let select = "SELECT body FROM checkpoint WHERE conversation = ?1";
    let mut select = connection.prepare_cached(select).map_err(unreadable)?;
    let view = select.query_row([key], |row| Ok(unpack(row.get_ref(0)?.as_blob()?)));
    view.optional().map_err(unreadable)?.unwrap_or_else(|| Ok(View::default()))
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
            let large = Message { message: MessageId::new("large"), role: "user".into(), text: text.as_str().into() };
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
