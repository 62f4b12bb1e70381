//! Tests of bodies that are sent again.

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};

use super::*;

type Whole = UnsyncBoxBody<Bytes, std::io::Error>;

fn full(bytes: impl Into<Bytes>) -> Whole {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

fn body() -> Whole {
    let trailers = HeaderMap::from_iter([("x-sum".parse().unwrap(), "1".parse().unwrap())]);
    let frames =
        [Frame::data(Bytes::from("one ")), Frame::data(Bytes::from("two")), Frame::trailers(trailers)];
    Whole::new(StreamBody::new(futures_util::stream::iter(frames.map(Ok::<_, std::io::Error>))))
}

/// An attempt of which nothing is written.
fn unwritten(again: &mut Again<Whole>) -> (Again<Whole>, Arc<LinkState>) {
    let attempt = again.attempt();
    let standing = Arc::<LinkState>::default();
    standing.begin();
    *again.attempt.standing.lock() = Some(Arc::clone(&standing));
    (attempt, standing)
}

#[tokio::test]
async fn what_was_taken_and_not_written_is_given_again() {
    let mut again = Again::new(body());
    for frames in 1..=3 {
        let (mut attempt, _standing) = unwritten(&mut again);
        for _ in 0..frames {
            attempt.frame().await.unwrap().unwrap();
        }
    }
    let (attempt, _standing) = unwritten(&mut again);
    assert!(!attempt.is_end_stream());
    let whole = attempt.collect().await.unwrap();
    assert_eq!(whole.trailers().unwrap()["x-sum"], "1");
    assert_eq!(whole.to_bytes(), "one two");
}

#[tokio::test]
async fn the_length_is_that_of_what_is_to_come() {
    let mut again = Again::new(full("twelve bytes"));
    let (mut attempt, _standing) = unwritten(&mut again);
    assert_eq!(attempt.size_hint().exact(), Some(12));
    attempt.frame().await;
    assert!(attempt.is_end_stream() && again.is_taken());
    let (attempt, _standing) = unwritten(&mut again);
    assert!(!again.is_taken());
    assert_eq!((attempt.size_hint().exact(), attempt.is_end_stream()), (Some(12), false));
}

#[tokio::test]
async fn i7_what_shares_its_connection_is_kept_as_long_as_it_is_short() {
    let mut again = Again::new(body());
    let mut attempt = again.attempt();
    while attempt.frame().await.is_some() {}
    assert!(again.is_whole());
    assert_eq!(again.attempt().collect().await.unwrap().to_bytes(), "one two");
    let long = usize::try_from(KEPT_BYTES_MAX).unwrap() + 1;
    let mut again = Again::new(full(vec![b'x'; long]));
    let mut attempt = again.attempt();
    attempt.frame().await.unwrap().unwrap();
    assert!(!again.is_whole() && again.whole.lock().kept.is_empty());
}

#[tokio::test]
async fn nothing_is_kept_once_a_part_is_written() {
    let mut again = Again::new(body());
    let (mut attempt, standing) = unwritten(&mut again);
    attempt.frame().await.unwrap().unwrap();
    standing.wrote();
    attempt.frame().await.unwrap().unwrap();
    assert!(!again.is_whole() && again.whole.lock().kept.is_empty());
}

#[tokio::test]
async fn an_attempt_that_was_given_up_takes_nothing() {
    let mut again = Again::new(body());
    let (mut old, _standing) = unwritten(&mut again);
    old.frame().await.unwrap().unwrap();
    let (attempt, _standing) = unwritten(&mut again);
    assert!(futures_util::FutureExt::now_or_never(old.frame()).is_none());
    assert!(again.is_whole());
    assert_eq!(attempt.collect().await.unwrap().to_bytes(), "one two");
}

#[tokio::test]
async fn a_body_in_very_many_pieces_is_not_kept() {
    let pieces = (0..=1_024).map(|_| Ok::<_, std::io::Error>(Frame::data(Bytes::from_static(b"x"))));
    let mut again = Again::new(Whole::new(StreamBody::new(futures_util::stream::iter(pieces))));
    let (mut attempt, _standing) = unwritten(&mut again);
    for _ in 0..1_024 {
        attempt.frame().await.unwrap().unwrap();
    }
    assert!(again.is_whole());
    attempt.frame().await.unwrap().unwrap();
    assert!(!again.is_whole() && again.whole.lock().kept.is_empty());
}

#[tokio::test]
async fn nothing_is_kept_once_the_answer_begins() {
    let mut again = Again::new(body());
    let mut attempt = again.attempt();
    attempt.frame().await.unwrap().unwrap();
    again.answered();
    assert_eq!(attempt.collect().await.unwrap().to_bytes(), "two");
    assert!(!again.is_whole() && again.whole.lock().kept.is_empty());
}

#[test]
fn an_attempt_is_shut_out_by_its_own_connection_alone() {
    let mut again = Again::new(body());
    assert!(!again.is_shut());
    let (_attempt, standing) = unwritten(&mut again);
    standing.lets(0);
    assert!(again.is_shut());
    standing.lets(1);
    assert!(!again.is_shut());
    standing.lets(0);
    let (_attempt, _standing) = unwritten(&mut again);
    assert!(!again.is_shut());
}
