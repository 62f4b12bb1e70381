//! Passes bytes between a peer over TLS and a connection inside this process, until both have ended.
//!
//! ```text
//! peer ◀─ TLS ─▶ relay ◀─▶ inside
//!                  └ inside has ended, and the peer has taken all: it has `linger` to end, then it is cut
//! ```
//!
//! Without that bound a peer that never ends would keep its place although nobody serves it any more.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, copy_bidirectional_with_sizes};
use tokio_util::sync::CancellationToken;

/// Bytes in each direction that the hub buffers between TLS and HTTP.
const RELAY_BYTES: usize = 16 << 10;

/// Passes bytes on in both directions. Once the peer `outside` has taken all that `inside` said before it ended, the peer has `linger` to end, too. May be
/// cancelled, which cuts both.
pub(super) async fn relay(
    outside: impl AsyncRead + AsyncWrite + Unpin,
    mut inside: impl AsyncRead + AsyncWrite + Unpin,
    linger: Duration,
) -> io::Result<()> {
    let told = CancellationToken::new();
    let mut outside = NotedShutdown { stream: outside, told: told.clone() };
    let passing = copy_bidirectional_with_sizes(&mut outside, &mut inside, RELAY_BYTES, RELAY_BYTES);
    let lingering = async {
        told.cancelled().await;
        tokio::time::sleep(linger).await;
    };
    tokio::select! {
        passed = passing => passed.map(drop),
        () = lingering => Ok(()),
    }
}

/// A stream that tells when everything was written to it and its end was said. However slowly the peer reads, that comes after the last byte.
struct NotedShutdown<S> {
    stream: S,
    /// Cancelled then.
    told: CancellationToken,
}

impl<S: AsyncRead + Unpin> AsyncRead for NotedShutdown<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for NotedShutdown<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = ready!(Pin::new(&mut self.stream).poll_shutdown(context));
        self.told.cancel();
        Poll::Ready(shut)
    }
}

#[cfg(test)]
mod tests {
    //! Tests of how a relay ends.

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::{Instant, timeout};

    use super::*;

    const LINGER: Duration = Duration::from_secs(20);

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_never_ends_is_cut_a_while_after_the_inside_has_ended() {
        let ((mut peer, outside), (inside, mut served)) = (duplex(64), duplex(64));
        let relaying = tokio::spawn(relay(outside, inside, LINGER));
        peer.write_all(b"GET").await.unwrap();
        let mut said = [0; 3];
        served.read_exact(&mut said).await.unwrap();
        served.write_all(b"408").await.unwrap();
        let began = Instant::now();
        drop(served);
        peer.read_exact(&mut said).await.unwrap();
        assert_eq!(&said, b"408", "what was said before the end arrives");
        assert_eq!(peer.read(&mut said).await.unwrap(), 0);
        timeout(2 * LINGER, relaying).await.expect("the peer is cut").unwrap().unwrap();
        assert!(began.elapsed() >= LINGER, "it has had its time");
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_slowly_gets_all_that_was_said_before_the_end() {
        let ((mut peer, outside), (inside, mut served)) = (duplex(4), duplex(64));
        let relaying = tokio::spawn(relay(outside, inside, LINGER));
        served.write_all(b"an answer of some length").await.unwrap();
        drop(served);
        let (mut heard, mut piece) = (Vec::new(), [0; 4]);
        loop {
            tokio::time::sleep(LINGER / 2).await;
            match peer.read(&mut piece).await.unwrap() {
                0 => break,
                bytes => heard.extend_from_slice(&piece[..bytes]),
            }
        }
        assert_eq!(heard, b"an answer of some length");
        timeout(2 * LINGER, relaying).await.expect("the peer is cut").unwrap().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn as_long_as_the_inside_goes_on_a_silent_peer_stays() {
        let ((mut peer, outside), (inside, mut served)) = (duplex(64), duplex(64));
        let relaying = tokio::spawn(relay(outside, inside, LINGER));
        tokio::time::sleep(10 * LINGER).await;
        served.write_all(b"late").await.unwrap();
        let mut said = [0; 4];
        peer.read_exact(&mut said).await.unwrap();
        drop((peer, served));
        relaying.await.unwrap().unwrap();
    }
}
