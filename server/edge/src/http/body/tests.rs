//! Tests of bodies.

use std::io;

use futures_util::{StreamExt as _, stream};

use model::limits::SPOOL_BYTES_MAX;

use super::*;

/// A body of these pieces, which then ends, breaks off or stays open.
fn body(pieces: &'static [&'static str], end: Option<io::Result<&'static str>>) -> Body {
    let pieces = stream::iter(pieces.iter().map(|piece| Ok::<_, io::Error>(*piece)));
    match end {
        Some(end) => Body::from_stream(pieces.chain(stream::iter([end]))),
        None => Body::from_stream(pieces.chain(stream::pending())),
    }
}

async fn refusal(body: Body) -> String {
    format!("{:?}", whole(body, 8).await.unwrap_err())
}

#[tokio::test(start_paused = true)]
async fn a_body_is_read_within_its_limit() {
    assert_eq!(whole(body(&["1234", "567"], Some(Ok("8"))), 8).await.unwrap(), "12345678");
    assert!(refusal(body(&["1234", "5678"], Some(Ok("9")))).await.contains("TooLarge"));
    assert!(refusal(Body::from("123456789")).await.contains("TooLarge"));
}

#[test]
fn pieces_of_any_length_come_in_order_and_small_ones_are_put_together() {
    let lengths = [1, 0, SMALL_PIECE_BYTES, 2, SMALL_PIECE_BYTES - 1, SMALL_PIECE_BYTES + 1, 3];
    let said: Vec<_> = (b'a'..).zip(lengths).map(|(letter, length)| vec![letter; length]).collect();
    let mut pieces = Pieces::default();
    for piece in &said {
        pieces.push(Bytes::from(piece.clone()));
    }
    assert_eq!(pieces.len(), lengths.iter().sum::<usize>());
    assert_eq!(pieces.join(), said.concat());
    let mut tiny = Pieces::default();
    for _ in 0..PIECE_BYTES * 3 {
        tiny.push(Bytes::from_static(b"x"));
    }
    assert_eq!(tiny.joined.len(), 3);
    assert_eq!(tiny.join(), vec![b'x'; PIECE_BYTES * 3]);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_breaks_off_is_not_called_too_large() {
    let end = io::Error::new(io::ErrorKind::ConnectionReset, "cut");
    let refused = refusal(body(&["1234"], Some(Err(end)))).await;
    assert!(refused.contains("BadRequest") && refused.contains("half-way"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn i7_a_body_that_brings_nothing_does_not_stay_open() {
    for pieces in [&[][..], &["1234"]] {
        let refused = refusal(body(pieces, None)).await;
        assert!(
            refused.contains("BodyTimeout") && refused.contains("no byte of the body came for 30 s"),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn a_body_that_waits_is_the_same_in_memory_in_a_file_and_where_no_file_can_grow() {
    let said: Vec<Bytes> =
        (0..40_u8).map(|letter| Bytes::from(vec![letter; 1_000 + 200 * usize::from(letter)])).collect();
    let work = Arc::new(Work::default());
    let waiting = async |memory_max| {
        let mut waiting = Waiting::new(&work, memory_max);
        for piece in &said {
            waiting.push(piece.clone()).await.unwrap();
        }
        assert_eq!(waiting.len(), said.concat().len());
        waiting
    };
    let in_memory = waiting(usize::MAX).await;
    assert!(in_memory.file.is_none());
    assert_eq!(in_memory.join().unwrap(), said.concat());
    let in_file = waiting(10_000).await;
    assert!(in_file.pieces.len() <= 10_000 && in_file.filed > 100_000);
    assert_eq!(in_file.join().unwrap(), said.concat());
    assert!(work.spool(SPOOL_BYTES_MAX), "what lay in files gave its room back");
    work.unspool(50_000);
    let in_both = waiting(10_000).await;
    assert!((1..=50_000).contains(&in_both.filed), "{} bytes fit", in_both.filed);
    assert_eq!(in_both.join().unwrap(), said.concat());
}
