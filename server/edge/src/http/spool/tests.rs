//! Tests of answers that wait for their readers.

use axum::body::to_bytes;
use model::limits::SPOOL_BYTES_MAX;

use super::*;

async fn through(bytes: Vec<u8>) -> (bool, Vec<u8>) {
    let work = Arc::<Work>::default();
    let mut spool = Spool::new(Arc::clone(&work));
    spool.write_all(&bytes).unwrap();
    let spool = spool.rewound().unwrap();
    let is_file = spool.file.is_some();
    // What waits in memory is bounded, whatever the answer.
    assert!(spool.memory.capacity() <= 2 * SPOOL_MEMORY_BYTES);
    let came = to_bytes(spool.body(), usize::MAX).await.unwrap().to_vec();
    // The room is given back.
    assert!(work.spool(SPOOL_BYTES_MAX));
    (is_file, came)
}

#[tokio::test]
async fn i7_a_large_answer_waits_in_a_file_and_comes_out_as_it_went_in() {
    for (bytes, is_large) in [(0, false), (1_000, false), (SPOOL_MEMORY_BYTES + 1, true), (5_000_000, true)] {
        let whole: Vec<u8> = (0..bytes).map(|n: usize| n.to_le_bytes()[0] ^ n.to_le_bytes()[1]).collect();
        let (is_file, came) = through(whole.clone()).await;
        assert!(came == whole && is_file == is_large, "{bytes}");
    }
}

#[tokio::test]
async fn i7_more_than_there_is_room_for_is_refused() {
    let work = Arc::<Work>::default();
    assert!(work.spool(SPOOL_BYTES_MAX));
    let mut spool = Spool::new(Arc::clone(&work));
    let error = spool.write_all(&vec![0; 3 * SPOOL_MEMORY_BYTES]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    work.unspool(SPOOL_BYTES_MAX);
    spool.write_all(&vec![0; 3 * SPOOL_MEMORY_BYTES]).unwrap();
}
