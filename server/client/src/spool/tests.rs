//! Tests of the spool: what comes out is what went in, wherever it was meanwhile.

use super::*;

fn piece(number: usize) -> Bytes {
    Bytes::from(vec![u8::try_from(number % 251).expect("small"); 1_000])
}

async fn drain(spool: &Spool) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(bytes) = spool.take().await.expect("readable") {
        all.extend_from_slice(&bytes);
    }
    all
}

/// Waits for the thread, which announces what it moved.
async fn until(spool: &Spool, wanted: impl Fn(&SpoolStatus) -> bool) {
    while !wanted(&spool.standing()) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_is_offered_comes_out_in_order_and_ends() {
    let spool = Spool::new(10_000, 0);
    spool.offer(Bytes::from("one "));
    assert_eq!(spool.take().await.unwrap().unwrap(), "one ");
    let (later, ()) = tokio::join!(spool.take(), async {
        spool.offer(Bytes::from("two"));
        spool.end();
    });
    assert_eq!(later.unwrap().unwrap(), "two");
    assert_eq!(spool.take().await.unwrap(), None);
    let standing = spool.standing();
    assert_eq!((standing.offered, standing.taken, standing.refused), (7, 7, 0));
}

#[tokio::test]
async fn what_memory_does_not_hold_goes_through_files_in_order() {
    let spool = Spool::new(10_000, 40 << 20);
    let mut expected = Vec::new();
    let mut taken = Vec::new();
    for number in 0..20_000 {
        expected.extend_from_slice(&piece(number));
        spool.offer(piece(number));
        if number % 7 == 0 {
            taken.extend_from_slice(&spool.take().await.unwrap().unwrap());
        }
        until(&spool, |_| spool.state.lock().memory_bytes < 9_000).await;
    }
    spool.end();
    taken.extend_from_slice(&drain(&spool).await);
    assert!(taken == expected, "{} {}", taken.len(), expected.len());
    let standing = spool.standing();
    assert!(standing.spilled > 1 << 20, "{standing:?}");
    assert_eq!((standing.refused, standing.taken), (0, standing.offered));
}

#[tokio::test]
async fn i7_what_fits_nowhere_is_counted_and_the_rest_breaks_off_there() {
    let spool = Spool::new(10_000, 0);
    for number in 0..30 {
        spool.offer(piece(number));
    }
    let taken = drain(&spool).await;
    assert_eq!(taken, (0..10).flat_map(|number| piece(number).to_vec()).collect::<Vec<_>>());
    // There would be room again, but not for what comes behind a hole.
    spool.offer(piece(0));
    let standing = spool.standing();
    assert_eq!((standing.offered, standing.taken, standing.refused), (31_000, 10_000, 21_000));
    spool.end();
}

#[tokio::test]
async fn i7_files_are_bounded_too() {
    let spool = Spool::new(10_000, 20_000);
    for number in 0..100 {
        spool.offer(piece(number));
        until(&spool, |standing| !spool.state.lock().moving || standing.refused > 0).await;
    }
    spool.end();
    let standing = spool.standing();
    assert!(standing.spilled <= 20_000 && standing.refused >= 70_000, "{standing:?}");
    let taken = drain(&spool).await;
    let expected = (0..100).flat_map(|number| piece(number).to_vec()).collect::<Vec<_>>();
    assert!(expected.starts_with(&taken) && taken.len() >= 10_000, "{}", taken.len());
}
