//! Passes bytes between a peer over TLS and a connection inside this process, until both have ended.
//!
//! ```text
//! peer ◀─ TLS ─▶ relay ◀─▶ inside
//!                  └ inside has ended: the peer has `linger` to take the rest and to end, then it is cut
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

/// Passes bytes on in both directions. After the end of `inside` the peer `outside` has `linger` to end, too. May be cancelled, which cuts both.
pub(super) async fn relay(
    mut outside: impl AsyncRead + AsyncWrite + Unpin,
    inside: impl AsyncRead + AsyncWrite + Unpin,
    linger: Duration,
) -> io::Result<()> {
    let ended = CancellationToken::new();
    let mut inside = NotedEnd { stream: inside, ended: ended.clone() };
    let passing = copy_bidirectional_with_sizes(&mut outside, &mut inside, RELAY_BYTES, RELAY_BYTES);
    let lingering = async {
        ended.cancelled().await;
        tokio::time::sleep(linger).await;
    };
    tokio::select! {
        passed = passing => passed.map(drop),
        () = lingering => Ok(()),
    }
}

/// A stream that tells when it was read to its end.
struct NotedEnd<S> {
    stream: S,
    /// Cancelled at the end.
    ended: CancellationToken,
}

impl<S: AsyncRead + Unpin> AsyncRead for NotedEnd<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        if read.is_err() || buffer.filled().len() == before {
            self.ended.cancel();
        }
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for NotedEnd<S> {
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
        Pin::new(&mut self.stream).poll_shutdown(context)
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
