//! Tests of the backlog; the command as a whole is tested as a process.

use futures_util::StreamExt as _;

use super::*;

fn piece(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

#[tokio::test]
async fn what_is_offered_comes_out_in_order_and_ends() {
    let backlog = Arc::new(Backlog::new(100));
    backlog.offer(piece("one "));
    let mut stream = std::pin::pin!(Backlog::stream(Arc::clone(&backlog)));
    assert_eq!(stream.next().await.expect("a piece").expect("good"), "one ");
    let (later, ()) = tokio::join!(stream.next(), async {
        backlog.offer(piece("two"));
        backlog.end();
    });
    assert_eq!(later.expect("a piece").expect("good"), "two");
    assert!(stream.next().await.is_none());
    assert_eq!((backlog.offered(), backlog.taken()), (7, 7));
}

#[tokio::test]
async fn a_full_backlog_breaks_off_instead_of_leaving_a_hole() {
    let backlog = Arc::new(Backlog::new(10));
    backlog.offer(piece("12345"));
    backlog.offer(piece("123456"));
    backlog.offer(piece("1"));
    backlog.end();
    let mut stream = std::pin::pin!(Backlog::stream(Arc::clone(&backlog)));
    assert!(stream.next().await.expect("the break").is_err());
    assert_eq!((backlog.offered(), backlog.taken()), (12, 0));
    assert!(backlog.overflow().await.contains("10 bytes"));
}

#[tokio::test]
async fn the_end_is_seen_by_whoever_waits_for_it() {
    let backlog = Backlog::new(10);
    tokio::join!(backlog.ended(), async { backlog.end() });
    backlog.ended().await;
}
