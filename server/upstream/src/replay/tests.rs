//! Tests of bodies that are sent again.

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};

use super::*;

type Source = UnsyncBoxBody<Bytes, std::io::Error>;

fn full(bytes: impl Into<Bytes>) -> Source {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

fn body() -> Source {
    let trailers = HeaderMap::from_iter([("x-sum".parse().unwrap(), "1".parse().unwrap())]);
    let frames =
        [Frame::data(Bytes::from("one ")), Frame::data(Bytes::from("two")), Frame::trailers(trailers)];
    Source::new(StreamBody::new(futures_util::stream::iter(frames.map(Ok::<_, std::io::Error>))))
}

#[tokio::test]
async fn what_was_taken_is_given_again() {
    let mut replay = ReplayBody::new(body());
    for frames in 1..=3 {
        let mut attempt = replay.attempt(Buffering::Short);
        assert!(!replay.is_read());
        for _ in 0..frames {
            attempt.frame().await.unwrap().unwrap();
        }
        assert!(replay.is_read() && replay.is_repeatable());
    }
    let attempt = replay.attempt(Buffering::Short);
    assert!(!attempt.is_end_stream());
    let whole = attempt.collect().await.unwrap();
    assert_eq!(whole.trailers().unwrap()["x-sum"], "1");
    assert_eq!(whole.to_bytes(), "one two");
}

#[tokio::test]
async fn the_length_is_that_of_what_is_to_come() {
    let mut replay = ReplayBody::new(full("twelve bytes"));
    let mut attempt = replay.attempt(Buffering::Short);
    assert_eq!(attempt.size_hint().exact(), Some(12));
    attempt.frame().await;
    assert!(attempt.is_end_stream());
    let attempt = replay.attempt(Buffering::Short);
    assert_eq!((attempt.size_hint().exact(), attempt.is_end_stream()), (Some(12), false));
}

#[tokio::test]
async fn i7_a_body_is_kept_as_long_as_it_is_short() {
    let long = usize::try_from(KEPT_BYTES_MAX).unwrap() + 1;
    let mut replay = ReplayBody::new(full(vec![b'x'; long]));
    let mut attempt = replay.attempt(Buffering::Short);
    attempt.frame().await.unwrap().unwrap();
    assert!(!replay.is_repeatable() && replay.shared.lock().kept.is_empty());
}

#[tokio::test]
async fn what_has_its_connection_to_itself_is_not_kept() {
    let mut replay = ReplayBody::new(body());
    // One that was not begun leaves the body as it is.
    drop(replay.attempt(Buffering::Nothing));
    let mut attempt = replay.attempt(Buffering::Nothing);
    assert!(replay.is_repeatable());
    attempt.frame().await.unwrap().unwrap();
    assert!(!replay.is_repeatable() && replay.shared.lock().kept.is_empty());
}

#[tokio::test]
async fn an_attempt_that_was_given_up_takes_nothing() {
    let mut replay = ReplayBody::new(body());
    let mut old = replay.attempt(Buffering::Short);
    old.frame().await.unwrap().unwrap();
    let attempt = replay.attempt(Buffering::Short);
    assert!(futures_util::FutureExt::now_or_never(old.frame()).is_none());
    assert!(replay.is_repeatable());
    assert_eq!(attempt.collect().await.unwrap().to_bytes(), "one two");
}

#[tokio::test]
async fn i7_a_body_in_very_many_pieces_is_not_kept() {
    let pieces = (0..=PIECES_MAX).map(|_| Ok::<_, std::io::Error>(Frame::data(Bytes::from_static(b"x"))));
    let mut replay = ReplayBody::new(Source::new(StreamBody::new(futures_util::stream::iter(pieces))));
    let mut attempt = replay.attempt(Buffering::Short);
    for _ in 0..PIECES_MAX {
        attempt.frame().await.unwrap().unwrap();
    }
    assert!(replay.is_repeatable());
    attempt.frame().await.unwrap().unwrap();
    assert!(!replay.is_repeatable() && replay.shared.lock().kept.is_empty());
}

#[tokio::test]
async fn nothing_is_kept_once_the_answer_begins() {
    let mut replay = ReplayBody::new(body());
    let mut attempt = replay.attempt(Buffering::Short);
    attempt.frame().await.unwrap().unwrap();
    replay.answered();
    assert_eq!(attempt.collect().await.unwrap().to_bytes(), "two");
    assert!(!replay.is_repeatable() && replay.shared.lock().kept.is_empty());
}
