//! The outbox over real sockets whose buffers are full.

use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;

use super::*;
use crate::fanout::SubscriptionTarget;

/// A socket of ours and its peer.
async fn pair() -> (Arc<TcpStream>, Arc<Outbox>, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (ours, theirs) = tokio::join!(listener.accept(), TcpStream::connect(address));
    let ours = Arc::new(ours.unwrap().0);
    ours.writable().await.unwrap();
    let line: Arc<dyn Transport> = Arc::<TcpStream>::clone(&ours);
    (ours, Arc::new(Outbox::new(line)), theirs.unwrap())
}

/// A frame that can be told from others: its number, over and over.
fn frame(number: u8, len: usize) -> Bytes {
    Bytes::from(vec![number; len])
}

#[tokio::test]
async fn frames_go_out_whole_and_in_order_through_a_socket_that_stalls() {
    let (ours, outbox, mut peer) = pair().await;
    let active = AtomicBool::new(true);
    let mut taken = Vec::new();
    let mut last = SendResult::Whole;
    // More than any kernel buffers: the last frame is begun or refused.
    for number in 0..=255 {
        last = outbox.send(&active, &frame(number, 1 << 20));
        match last {
            SendResult::Whole => taken.push(number),
            SendResult::Begun => {
                taken.push(number);
                break;
            }
            SendResult::Blocked | SendResult::Over => break,
        }
    }
    assert!(matches!(last, SendResult::Begun | SendResult::Blocked));
    assert!(outbox.stuck_since().is_some());
    assert_eq!(outbox.send(&active, &frame(0, 1)), SendResult::Blocked);
    // What is queued now must follow what was begun.
    outbox.queue([frame(254, 10), frame(255, 20)]);
    let expected: usize = taken.len() * (1 << 20) + 30;
    let reader = async {
        let mut all = vec![0; expected];
        peer.read_exact(&mut all).await.unwrap();
        all
    };
    let writer = async {
        while outbox.flush(&mut usize::MAX.clone()) != Flushed::All {
            ours.writable().await.unwrap();
        }
    };
    let both = async { tokio::join!(reader, writer).0 };
    let all = tokio::time::timeout(Duration::from_secs(20), both).await.unwrap();
    let (frames, tail) = all.split_at(expected - 30);
    for (piece, number) in frames.chunks(1 << 20).zip(&taken) {
        assert!(piece.iter().all(|byte| byte == number));
    }
    assert_eq!(tail, [[254; 10].as_slice(), &[255; 20]].concat());
    assert_eq!(outbox.waiting(), 0);
    assert!(outbox.stuck_since().is_none());
    assert_eq!(outbox.send(&active, &frame(1, 1)), SendResult::Whole);
}

#[tokio::test]
async fn many_small_pieces_leave_in_order() {
    let (_ours, outbox, mut peer) = pair().await;
    outbox.queue((0..100).map(|number| frame(number, 3)));
    assert_eq!(outbox.flush(&mut usize::MAX.clone()), Flushed::All);
    let mut all = vec![0; 300];
    peer.read_exact(&mut all).await.unwrap();
    let expected: Vec<u8> = (0..100).flat_map(|number| [number; 3]).collect();
    assert_eq!(all, expected);
}

#[tokio::test]
async fn nothing_of_a_subscription_comes_after_its_end() {
    let (_ours, outbox, _peer) = pair().await;
    let active = AtomicBool::new(true);
    assert_eq!(outbox.send(&active, &frame(1, 1)), SendResult::Whole);
    outbox.deactivate(&active);
    assert_eq!(outbox.send(&active, &frame(1, 1)), SendResult::Over);
}

fn subscription(outbox: &Arc<Outbox>) -> Arc<Subscription> {
    Arc::new(Subscription {
        outbox: Arc::clone(outbox),
        sub: 1,
        active: AtomicBool::new(true),
        standing: crate::fanout::Ladder::default().enter(),
        who: None,
        keeps: true,
        presence: std::sync::atomic::AtomicUsize::new(0),
        place: SubscriptionTarget::Fleet { rows: 0, seen: None },
    })
}

#[tokio::test]
async fn who_is_parked_after_the_end_of_its_socket_is_let_go() {
    let (_ours, outbox, _peer) = pair().await;
    outbox.end();
    outbox.park(subscription(&outbox), Cursor::default());
    assert_eq!(Arc::strong_count(&outbox), 1, "the outbox holds itself, and with it the socket");
}

#[tokio::test]
async fn a_parked_subscription_wakes_the_task_of_its_socket() {
    let (_ours, outbox, _peer) = pair().await;
    let subscription = subscription(&outbox);
    let cursor = Cursor { seq: 7, tick: 1 };
    outbox.park(subscription, cursor);
    let woken = std::future::poll_fn(|context| outbox.wake.poll_notified(context));
    tokio::time::timeout(Duration::from_secs(5), woken).await.unwrap();
    let parked = outbox.take_parked();
    assert_eq!(parked.len(), 1);
    assert_eq!(parked[0].1, cursor);
    assert!(outbox.take_parked().is_empty());
}

#[tokio::test]
async fn a_socket_whose_peer_is_gone_is_over() {
    let (ours, outbox, peer) = pair().await;
    drop(peer);
    let active = AtomicBool::new(true);
    let gone = async {
        while outbox.send(&active, &frame(0, 1 << 16)) != SendResult::Over {
            ours.writable().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(5), gone).await.unwrap();
    assert!(outbox.is_over());
}

#[tokio::test]
async fn what_was_begun_ends_before_anything_else_and_the_rest_can_be_forgotten() {
    let (ours, outbox, mut peer) = pair().await;
    let active = AtomicBool::new(true);
    let mut sent = 0;
    while outbox.send(&active, &frame(1, 1 << 20)) == SendResult::Whole {
        sent += 1;
    }
    let begun = usize::from(outbox.waiting() > 0);
    outbox.queue([frame(2, 1 << 20), frame(2, 1 << 20)]);
    outbox.queue([frame(3, 10)]);
    outbox.forget_frames();
    outbox.queue([frame(4, 10)]);
    let reader = async {
        let mut all = vec![0; (sent + begun) * (1 << 20) + 10];
        peer.read_exact(&mut all).await.unwrap();
        all
    };
    let writer = async {
        while outbox.flush(&mut usize::MAX.clone()) != Flushed::All {
            ours.writable().await.unwrap();
        }
    };
    let both = async { tokio::join!(reader, writer).0 };
    let all = tokio::time::timeout(Duration::from_secs(20), both).await.unwrap();
    let (frames, last) = all.split_at(all.len() - 10);
    assert!(frames.iter().all(|byte| *byte == 1));
    assert_eq!(last, [4; 10]);
    assert_eq!(outbox.waiting(), 0);
}

/// A kernel that takes everything, and remembers how much it got at once.
#[derive(Debug, Default)]
struct Greedy(Mutex<Vec<usize>>);

impl Transport for Greedy {
    fn try_write(&self, bytes: &[u8]) -> std::io::Result<usize> {
        self.try_write_vectored(&[IoSlice::new(bytes)])
    }

    fn try_write_vectored(&self, pieces: &[IoSlice<'_>]) -> std::io::Result<usize> {
        let bytes = pieces.iter().map(|piece| piece.len()).sum();
        self.0.lock().push(bytes);
        Ok(bytes)
    }
}

#[test]
fn i8_one_call_and_one_turn_write_a_bounded_part_of_what_waits() {
    let kernel = Arc::new(Greedy::default());
    let line: Arc<dyn Transport> = Arc::<Greedy>::clone(&kernel);
    let outbox = Outbox::new(line);
    outbox.queue([frame(1, 10), frame(2, 5 * WRITE_BYTES_MAX)]);
    let mut turn = 3 * WRITE_BYTES_MAX + 5;
    assert_eq!(outbox.flush(&mut turn), Flushed::TurnOver);
    assert_eq!((turn, outbox.waiting()), (0, 2 * WRITE_BYTES_MAX + 5));
    assert_eq!(outbox.flush(&mut usize::MAX.clone()), Flushed::All);
    let (full, rest) = (WRITE_BYTES_MAX, 5);
    assert_eq!(*kernel.0.lock(), [full, full, full, rest, full, full, rest]);
}
