//! Tests of what is kept and what goes.

use http_body_util::Full;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::config::{Api, Upstream};
use crate::machine::MachineSettings;

type TestPool = Pool<Full<Bytes>>;

fn pool() -> TestPool {
    let upstream = Upstream::new("x", "http://127.0.0.1:1", Api::OpenAi).unwrap();
    Pool::new(Connector::new(&upstream, &MachineSettings::without_proxies()).unwrap())
}

async fn streams() -> (crate::connect::Stream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (MaybeHttpsStream::Http(TokioIo::new(stream)), listener.accept().await.unwrap().0)
}

/// Adds a connection on which an upstream lets so many calls through.
async fn share(pool: &TestPool, calls: u8) -> TcpStream {
    let (stream, mut peer) = streams().await;
    let connection = Arc::new(Http2::new(stream, KEEP_ALIVE).await.unwrap());
    peer.write_all(&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, calls]).await.unwrap();
    let told = async {
        while connection.calls_max() != usize::from(calls) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), told).await.expect("it is told in time");
    pool.open.lock().shared.push(SharedConnection { connection, used_at: Instant::now() });
    peer
}

fn calls(pool: &TestPool) -> Vec<usize> {
    pool.open.lock().shared.iter().map(SharedConnection::calls).collect()
}

#[tokio::test]
async fn calls_fill_the_first_connection_before_the_others() {
    let pool = pool();
    let _peers = [share(&pool, 2).await, share(&pool, 3).await];
    let mut places: Vec<_> = std::iter::from_fn(|| pool.reuse()).collect();
    assert_eq!((places.len(), calls(&pool)), (5, vec![2, 3]));
    drop(places.pop());
    drop(places.swap_remove(0));
    assert_eq!(calls(&pool), [1, 2]);
    places.extend(pool.reuse());
    assert_eq!(calls(&pool), [2, 2]);
    drop(places);
    assert_eq!(calls(&pool), [0, 0]);
}

#[tokio::test]
async fn a_connection_that_nobody_uses_is_closed() {
    let pool = pool();
    let mut peer = share(&pool, 3).await;
    let place = pool.reuse();
    let long_ago = |pool: &TestPool| {
        let past = Instant::now().checked_sub(IDLE).expect("the machine runs for longer");
        pool.open.lock().shared.iter_mut().for_each(|shared| shared.used_at = past);
    };
    long_ago(&pool);
    assert!(pool.drop_unused(), "a call is on its way");
    drop(place);
    assert!(pool.drop_unused(), "it was in use a moment ago");
    long_ago(&pool);
    assert!(!pool.drop_unused());
    let (stream, mut idle) = streams().await;
    let connection = Http1::new(stream, Duration::ZERO).await.unwrap();
    pool.open.lock().idle.push(connection);
    assert!(pool.reuse().is_none());
    let (stream, _peer) = streams().await;
    let connection = Http1::new(stream, Duration::ZERO).await.unwrap();
    pool.open.lock().idle.push(connection);
    assert!(!pool.drop_unused());
    let mut said = Vec::new();
    for peer in [&mut peer, &mut idle] {
        let closed = tokio::time::timeout(Duration::from_secs(20), peer.read_to_end(&mut said)).await;
        closed.expect("it is closed in time").unwrap();
    }
}
