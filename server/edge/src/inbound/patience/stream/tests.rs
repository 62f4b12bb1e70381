//! Tests of readers of single streams.

use std::future::{pending, poll_fn};

use futures_util::FutureExt as _;
use http_body_util::BodyExt as _;
use tokio::sync::oneshot;

use super::*;

const LIMIT: Duration = Duration::from_millis(model::limits::READER_SILENT_MS);

fn streams() -> Streams {
    Streams::new(TaskTracker::new(), LIMIT, Arc::default())
}

/// Runs a stream that gives away `body`, asks for so many pieces and then for none any more. Ready when it is dropped.
fn reads(streams: &Streams, body: Body, pieces: usize, lenient: bool) -> oneshot::Receiver<()> {
    let (held, dropped) = oneshot::channel::<()>();
    streams.execute(async move {
        let line = ConnectionInfo::of_task().unwrap();
        line.be_lenient(lenient);
        let mut paced = PacedBody::new(body, line);
        for _ in 0..pieces {
            paced.frame().await.unwrap().unwrap();
        }
        pending::<()>().await;
        drop(held);
    });
    dropped
}

#[tokio::test(start_paused = true)]
async fn i8_a_stream_whose_reader_takes_nothing_is_dropped_and_others_are_not() {
    let streams = streams();
    let large = || Body::from(vec![0; 4 * PIECE_BYTES]);
    let silent = reads(&streams, large(), 1, false);
    let lenient = reads(&streams, large(), 1, true);
    // Nothing waits for this one: it has asked for the next event, and there is none.
    let events = reads(&streams, Body::empty(), 0, false);
    timeout(2 * LIMIT, silent).await.unwrap().unwrap_err();
    assert_eq!((lenient.now_or_never(), events.now_or_never()), (None, None));
    assert_eq!(*streams.open.borrow(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_takes_a_piece_now_and_then_is_slow_and_not_dead() {
    let streams = streams();
    let (ended, end) = oneshot::channel();
    streams.execute(async move {
        let line = ConnectionInfo::of_task().unwrap();
        let mut paced = PacedBody::new(Body::from(vec![0; 4 * PIECE_BYTES]), line);
        let mut bytes = 0;
        while let Some(frame) = paced.frame().await {
            let piece = frame.unwrap().into_data().unwrap().len();
            assert!(piece <= PIECE_BYTES);
            bytes += piece;
            timeout(LIMIT / 2, pending::<()>()).await.unwrap_err();
        }
        ended.send(bytes).unwrap();
    });
    assert_eq!(timeout(10 * LIMIT, end).await.unwrap(), Ok(4 * PIECE_BYTES));
}

#[tokio::test(start_paused = true)]
async fn a_connection_rests_once_its_last_stream_has_ended() {
    let (streams, rest) = (streams(), Duration::from_mins(1));
    timeout(2 * rest, streams.idle(rest)).await.unwrap();
    let (end, ended) = oneshot::channel::<()>();
    streams.execute(async move { drop(ended.await) });
    timeout(10 * rest, streams.idle(rest)).await.unwrap_err();
    drop(end);
    timeout(2 * rest, streams.idle(rest)).await.unwrap();
}

#[tokio::test]
async fn bytes_and_lengths_stay_what_they_were() {
    let bytes: Vec<u8> = (0..=255).cycle().take(3 * PIECE_BYTES + 7).collect();
    let mut paced = PacedBody::new(Body::from(bytes.clone()), Arc::default());
    assert_eq!(paced.size_hint().exact(), Some(bytes.len() as u64));
    let first = poll_fn(|context| Pin::new(&mut paced).poll_frame(context)).await.unwrap().unwrap();
    let first = first.into_data().unwrap();
    assert_eq!(
        (first.len(), paced.size_hint().exact()),
        (PIECE_BYTES, Some((bytes.len() - PIECE_BYTES) as u64))
    );
    assert!(!paced.is_end_stream());
    let rest = paced.collect().await.unwrap().to_bytes();
    assert_eq!([first, rest].concat(), bytes);
}
