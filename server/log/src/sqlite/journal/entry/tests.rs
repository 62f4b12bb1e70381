//! Tests of the format: what was written is read back, and an entry that is cut or damaged is left out with what follows it.

use model::{Event, Kind, RunId, testkit};

use super::*;

/// Operations, each with its ticket.
type Ops = Vec<(u64, JournalOp)>;

fn id(name: &str) -> ConversationId {
    ConversationId::parse(name).unwrap()
}

/// An append of one event with this text.
fn append(ticket: u64, name: &str, text: &str) -> (u64, JournalOp) {
    let event = Event::new(&RunId::new("r1"), Kind::Status { text: text.into() });
    let events = QueuedEvents {
        conversation: id(name),
        after: Position { epoch: Epoch::new("e1"), seq: ticket },
        envelopes: testkit::logged(vec![event]),
        mark: None,
        level: Durability::Memory,
        documents: Vec::new(),
        calls: Vec::new(),
        measurements: Vec::new(),
        attachments: Vec::new(),
        bytes: 0,
        shared_bytes: 0,
    };
    (ticket, JournalOp::Append(Arc::new(events)))
}

/// Three entries: two appends; a removal between two appends; a removal with its purge. Each with its bytes.
fn journal() -> Vec<(Ops, Vec<u8>)> {
    let remove = |ticket: u64, name: &str| (ticket, JournalOp::Remove(id(name)));
    let entries = [
        vec![append(1, "c", "one"), append(2, "d", "-{\"ticket\":9}")],
        vec![append(3, "c", "+two"), remove(4, "c"), append(5, "c", "three \n lines")],
        vec![remove(6, "d"), (7, JournalOp::Purge(id("d")))],
    ];
    let written = |(number, ops): (usize, Ops)| {
        let mut bytes = Vec::new();
        encode(&mut bytes, EntryHeader { life: 7, commit: number as u64 }, &ops).unwrap();
        (ops, bytes)
    };
    entries.into_iter().enumerate().map(written).collect()
}

/// Operations as text that can be compared.
fn told(ops: &[(u64, JournalOp)]) -> Vec<String> {
    ops.iter().map(|op| format!("{op:?}")).collect()
}

#[test]
fn entries_are_read_back_as_they_were_written() {
    let bytes: Vec<u8> = journal().into_iter().flat_map(|(_, bytes)| bytes).collect();
    let mut read = Vec::new();
    assert_eq!(decode(&bytes, &mut read), 0);
    for (number, ((ops, _), entry)) in journal().iter().zip(&read).enumerate() {
        assert_eq!(entry.head, EntryHeader { life: 7, commit: number as u64 });
        assert_eq!(told(&entry.ops), told(ops));
    }
    assert_eq!(read.len(), 3);
}

#[test]
fn i9_a_journal_that_is_cut_at_any_byte_has_the_entries_before_the_cut() {
    let bytes: Vec<u8> = journal().into_iter().flat_map(|(_, bytes)| bytes).collect();
    let ends: Vec<usize> = journal()
        .iter()
        .scan(0, |end, (_, bytes)| {
            *end += bytes.len();
            Some(*end)
        })
        .collect();
    for cut in 0..=bytes.len() {
        let (mut read, whole) = (Vec::new(), ends.iter().filter(|end| **end <= cut).count());
        let torn = decode(&bytes[..cut], &mut read);
        assert_eq!(read.len(), whole, "cut at {cut}");
        let end = whole.checked_sub(1).map_or(0, |last| ends[last]);
        assert_eq!(torn, (cut - end) as u64, "cut at {cut}");
    }
}

#[test]
fn i9_a_wrong_bit_anywhere_leaves_out_its_entry_and_what_follows() {
    let entries = journal();
    let bytes: Vec<u8> = entries.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
    let first = entries[0].1.len();
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        let mut read = Vec::new();
        decode(&bytes, &mut read);
        let intact = usize::from(at >= first) + usize::from(at >= first + entries[1].1.len());
        assert_eq!(read.len(), intact, "at {at}");
        for ((ops, _), entry) in entries.iter().zip(&read) {
            assert_eq!(told(&entry.ops), told(ops), "at {at}");
        }
    }
}
