//! Tests of connections whose peers take nothing.

use futures_util::FutureExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

/// Nothing more than was said is known of it.
impl Press for tokio::io::DuplexStream {
    fn press(&self, _bytes: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::WouldBlock.into())
    }
}

const LIMIT: Duration = Duration::from_millis(model::limits::READER_SILENT_MS);

#[tokio::test(start_paused = true)]
async fn i8_a_peer_that_takes_nothing_is_cut_off() {
    let (ours, _theirs) = tokio::io::duplex(4);
    let mut patient = Patient::new(ours, LIMIT);
    let error = patient.write_all(b"more than fits").await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}

#[tokio::test(start_paused = true)]
async fn i12_who_reads_from_elsewhere_may_rest_as_long_as_it_likes() {
    let (ours, mut theirs) = tokio::io::duplex(4);
    let mut patient = Patient::new(ours, LIMIT);
    patient.line().be_lenient(true);
    let writing = patient.write_all(b"12345678");
    let reading = async {
        // As long as that, for nothing.
        tokio::time::timeout(10 * LIMIT, std::future::pending::<()>()).await.unwrap_err();
        let mut all = [0; 8];
        theirs.read_exact(&mut all).await.map(|_count| all)
    };
    let (wrote, read) = tokio::join!(writing, reading);
    wrote.unwrap();
    assert_eq!(&read.unwrap(), b"12345678");
}

#[tokio::test]
async fn it_is_known_when_everything_is_written_out() {
    let (ours, _theirs) = tokio::io::duplex(4);
    let mut patient = Patient::new(ours, LIMIT);
    let line = Arc::clone(patient.line());
    let known = line.flushes();
    let mut flushed = std::pin::pin!(std::future::poll_fn(|context| line.flushes_after(known, context)));
    patient.write_all(b"123").await.unwrap();
    assert_eq!(flushed.as_mut().now_or_never(), None);
    patient.flush().await.unwrap();
    assert_eq!(flushed.now_or_never(), Some(()));
}

/// A stream that is never called writable, and takes a byte whenever it is asked.
#[derive(Default)]
struct Crawling(std::sync::atomic::AtomicUsize);

impl Press for Crawling {
    fn press(&self, _bytes: &[u8]) -> io::Result<usize> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(1)
    }
}

impl AsyncWrite for Crawling {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Pending
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test(start_paused = true)]
async fn i8_a_peer_that_takes_a_byte_now_and_then_is_never_cut() {
    let mut patient = Patient::new(Crawling::default(), LIMIT);
    patient.write_all(&[0; 100]).await.unwrap();
    assert_eq!(patient.into_inner().0.into_inner(), 100);
}

/// What a peer's kernel has room for.
const BUFFER_BYTES: u64 = 128 << 10;

/// Bytes that a slow peer reads in a second.
const SLOW_BYTES: u64 = 1 << 10;

/// A stream whose peer reads slowly, and whose kernel says so when all of its buffer is free again.
struct Lumps {
    since: std::sync::Mutex<tokio::time::Instant>,
    taken: std::sync::atomic::AtomicUsize,
}

impl Press for Lumps {
    fn press(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut since = self.since.lock().unwrap();
        if since.elapsed() < Duration::from_secs(BUFFER_BYTES / SLOW_BYTES) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        *since = tokio::time::Instant::now();
        let count = bytes.len().min(usize::try_from(BUFFER_BYTES).unwrap());
        self.taken.fetch_add(count, Ordering::Relaxed);
        Ok(count)
    }
}

impl AsyncWrite for Lumps {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Pending
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test(start_paused = true)]
async fn i8_a_peer_of_a_kib_a_second_is_never_cut_though_its_kernel_tells_of_it_in_lumps() {
    let lumps =
        Lumps { since: std::sync::Mutex::new(tokio::time::Instant::now()), taken: Default::default() };
    let mut patient = Patient::new(lumps, LIMIT);
    patient.write_all(&vec![0; 1 << 20]).await.unwrap();
    assert_eq!(patient.into_inner().taken.into_inner(), 1 << 20);
}

/// A kernel that takes everything, and remembers how much it got at once.
#[derive(Default)]
struct Greedy(Vec<usize>);

impl Press for Greedy {
    fn press(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }
}

impl AsyncWrite for Greedy {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.push(bytes.len());
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let all: Vec<u8> = pieces.iter().flat_map(|piece| piece.to_vec()).collect();
        self.poll_write(context, &all)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn i8_a_large_answer_is_written_in_bounded_parts_with_turns_for_others_between_them() {
    let mut patient = Patient::new(Greedy::default(), LIMIT);
    let turns = std::cell::Cell::new(0);
    let all = vec![0; 3 * TURN_WRITTEN_BYTES_MAX];
    let others = async {
        loop {
            turns.set(turns.get() + 1);
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        wrote = patient.write_all(&all) => wrote.unwrap(),
        () = others => {}
    }
    // A turn for the others after each full one that was followed by more.
    assert_eq!(turns.get(), 2);
    let calls = patient.into_inner().0;
    assert_eq!(calls, vec![WRITE_BYTES_MAX; all.len() / WRITE_BYTES_MAX]);
}

#[tokio::test]
async fn several_pieces_are_written_together_up_to_the_bound() {
    let mut patient = Patient::new(Greedy::default(), LIMIT);
    let (small, large) = (vec![0; 1 << 10], vec![0; WRITE_BYTES_MAX + 1]);
    for pieces in
        [vec![&[][..], &small, &small, &large], vec![&[][..], &large, &small], vec![&small[..], &small]]
    {
        let pieces: Vec<_> = pieces.into_iter().map(io::IoSlice::new).collect();
        let all: usize = pieces.iter().map(|piece| piece.len()).sum();
        assert!(patient.write_vectored(&pieces).await.unwrap() <= all);
    }
    assert_eq!(patient.into_inner().0, [WRITE_BYTES_MAX, WRITE_BYTES_MAX, 2 << 10]);
}
