//! Tests of what a hostile peer may send.

use tokio::net::TcpListener;

use super::*;

/// A masked frame of a client; the mask is 0.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let length = 0x80 | u8::try_from(payload.len()).unwrap();
    [&[first, length, 0, 0, 0, 0], payload].concat()
}

const PING: u8 = 0x89;
const TEXT: u8 = 0x81;
const TEXT_BEGINS: u8 = 0x01;
const TEXT_GOES_ON: u8 = 0x00;

/// The reading end of a socket on which `bytes` have come, and its writing end.
async fn came(bytes: &[u8]) -> (Inlet, Outbox) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (ours, theirs) = tokio::join!(listener.accept(), TcpStream::connect(address));
    let ours = Arc::new(ours.unwrap().0);
    // Whether the peer is there makes no difference here.
    drop(theirs.unwrap());
    let line: Arc<dyn hub::Transport> = Arc::<TcpStream>::clone(&ours);
    (Inlet::new(ours, bytes), Outbox::new(line))
}

#[tokio::test]
async fn i7_each_ping_is_given_back_before_the_next_is_answered() {
    let ping = frame(PING, &[b'x'; 100]);
    let (mut inlet, outbox) = came(&ping.repeat(10_000)).await;
    assert!(matches!(inlet.next(&outbox), FrameRead::Control));
    // The answer is queued by the next read.
    assert!(matches!(inlet.next(&outbox), FrameRead::Control));
    assert!(outbox.waiting() <= 2 * 102, "{}", outbox.waiting());
}

#[tokio::test]
async fn i8_fragments_without_an_end_use_up_a_turn_and_then_the_socket() {
    let endless = [frame(TEXT_BEGINS, b""), frame(TEXT_GOES_ON, b"").repeat(500_000)].concat();
    let (mut inlet, outbox) = came(&endless).await;
    let mut turns = 0;
    loop {
        inlet.begin_turn();
        match inlet.next(&outbox) {
            FrameRead::Nothing => assert!(inlet.is_cut_short()),
            FrameRead::Idle => break,
            other => panic!("{other:?}"),
        }
        turns += 1;
    }
    // The first turn is like anybody's.
    let rest = bytes(INBOUND_BYTES_WITHOUT_TEXT_MAX) - TURN_BYTES_MAX;
    assert_eq!(turns, 1 + rest / WORDLESS_TURN_BYTES_MAX);
}

#[tokio::test]
async fn who_says_something_between_its_pings_may_send_as_many_as_it_likes() {
    let both = [frame(PING, &[b'x'; 100]).repeat(10_000), frame(TEXT, b"a")].concat();
    let (mut inlet, outbox) = came(&both.repeat(5)).await;
    let mut texts = 0;
    while texts < 5 {
        inlet.begin_turn();
        match inlet.next(&outbox) {
            FrameRead::Text(_) => texts += 1,
            FrameRead::Control | FrameRead::Nothing => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn i8_who_sends_empty_fragments_rests_longer_than_it_keeps_a_core_busy() {
    let endless = [frame(TEXT_BEGINS, b""), frame(TEXT_GOES_ON, b"").repeat(100_000)].concat();
    let (mut inlet, outbox) = came(&endless).await;
    // The first turn is like anybody's.
    assert!(inlet.begin_turn().is_none());
    assert!(matches!(inlet.next(&outbox), FrameRead::Nothing));
    let mut rests = Duration::ZERO;
    for _turn in 0..20 {
        let turn = inlet.begin_turn().unwrap();
        assert!(matches!(inlet.next(&outbox), FrameRead::Nothing));
        let rest = inlet.end_turn(&turn).unwrap_or_default();
        assert!(rest <= WORDLESS_REST_MAX, "{rest:?}");
        rests += rest;
    }
    assert!(rests > Duration::ZERO);
}

#[tokio::test]
async fn a_large_frame_of_text_is_followed_by_no_rest() {
    let large = vec![b'x'; 4 * usize::try_from(TURN_BYTES_MAX).unwrap()];
    // A length of 64 bits, and a mask of 0.
    let head = [&[TEXT, 0xff][..], &(large.len() as u64).to_be_bytes(), &[0; 4]].concat();
    let (mut inlet, outbox) = came(&[head, large].concat()).await;
    inlet.greeted();
    loop {
        let turn = inlet.begin_turn();
        match inlet.next(&outbox) {
            FrameRead::Nothing => {}
            // Whatever the frame is used for in this turn is no work for empty pieces.
            FrameRead::Text(_) => break assert_eq!(turn.and_then(|turn| inlet.end_turn(&turn)), None),
            other => panic!("{other:?}"),
        }
    }
}
