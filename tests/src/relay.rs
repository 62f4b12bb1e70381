//! A network between a client and the hub that can be slow, and can be cut: it lets so many bytes through at a time. And one
//! that leads to any of several hubs.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional_with_sizes};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::interval;

/// The time between two helpings.
const TICK: Duration = Duration::from_millis(100);

/// The helping of an open relay: as many bytes as there are, at once.
const OPEN: usize = 64 << 10;

/// The room for bytes that are under way, at the relay's end; the kernel doubles it.
const NARROW_BYTES: u32 = 16 << 10;

/// What one direction of a connection through a [`SpreadingRelay`] holds.
const SPREAD_BYTES: usize = 8 << 10;

/// A relay between a client and the hub that the test can slow down and cut. Dropping it cuts every connection.
#[derive(Debug)]
pub struct CuttableRelay {
    address: SocketAddr,
    helping: watch::Sender<usize>,
    cuts: watch::Sender<()>,
    said: RelayLog,
    serving: JoinHandle<()>,
}

/// What clients said to the hub.
type RelayLog = Arc<Mutex<Vec<u8>>>;

impl CuttableRelay {
    /// A relay to the hub at `hub` that lets `bytes_per_tick` (not 0) through to each client, ten times a second.
    ///
    /// # Panics
    /// When there is no free port.
    pub async fn start(hub: SocketAddr, bytes_per_tick: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let (helping, helped) = watch::channel(bytes_per_tick);
        let (cuts, cut) = watch::channel(());
        let said = RelayLog::default();
        let serving = tokio::spawn(serve(listener, hub, helped, cut, Arc::clone(&said)));
        Self { address, helping, cuts, said, serving }
    }

    /// A relay that lets everything through.
    pub async fn open_to(hub: SocketAddr) -> Self {
        Self::start(hub, OPEN).await
    }

    /// The address that clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether clients sent `words` to the hub.
    pub fn has_heard(&self, words: &str) -> bool {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.windows(words.len().max(1)).any(|window| window == words.as_bytes())
    }

    /// Cuts every connection; new ones are taken.
    pub fn cut(&self) {
        self.cuts.send_replace(());
    }

    /// Lets everything through from now on.
    pub fn open(&self) {
        self.helping.send_replace(OPEN);
    }
}

impl Drop for CuttableRelay {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// A load balancer without sticky sessions: each connection goes to one of several hubs, at random, or to the next one where
/// that cannot be reached. Dropping it cuts every connection.
#[derive(Debug)]
pub struct SpreadingRelay {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl SpreadingRelay {
    /// A relay at `listen` to `hubs`, which takes what `seed` makes of it for chance.
    ///
    /// # Panics
    /// When it cannot listen there.
    pub async fn start(listen: &str, hubs: Vec<SocketAddr>, seed: u64) -> Self {
        let listener = TcpListener::bind(listen).await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let serving = tokio::spawn(async move {
            let (mut connections, mut chance) = (JoinSet::new(), seed);
            while let Ok((client, _)) = listener.accept().await {
                chance =
                    chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let first = usize::try_from(chance >> 33).unwrap_or_default() % hubs.len();
                let (before, after) = hubs.split_at(first);
                connections.spawn(spread(client, [after, before].concat()));
                while connections.try_join_next().is_some() {}
            }
        });
        Self { address, serving }
    }

    /// The address that clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for SpreadingRelay {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Passes a connection on to the first of `hubs` that takes it. It has little room, so that a client that reads slowly is seen by
/// the hub.
async fn spread(mut client: TcpStream, hubs: Vec<SocketAddr>) {
    for hub in hubs {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(NARROW_BYTES).expect("a size that any kernel takes");
        let Ok(mut upstream) = socket.connect(hub).await else { continue };
        // How a connection ends is of no interest here, nor that it may not be fast.
        drop((client.set_nodelay(true), upstream.set_nodelay(true)));
        drop(copy_bidirectional_with_sizes(&mut client, &mut upstream, SPREAD_BYTES, SPREAD_BYTES).await);
        return;
    }
}

async fn serve(
    listener: TcpListener,
    hub: SocketAddr,
    helping: watch::Receiver<usize>,
    mut cuts: watch::Receiver<()>,
    said: RelayLog,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            client = listener.accept() => {
                let Ok((client, _)) = client else { return };
                connect(client, hub, &helping, &mut connections, &said).await;
            }
            cut = cuts.changed() => match cut {
                Ok(()) => connections.abort_all(),
                Err(_dropped) => return,
            },
        }
    }
}

async fn connect(
    client: TcpStream,
    hub: SocketAddr,
    helping: &watch::Receiver<usize>,
    connections: &mut JoinSet<()>,
    said: &RelayLog,
) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(NARROW_BYTES).expect("a size that any kernel takes");
    let Ok(upstream) = socket.connect(hub).await else { return };
    let (from_hub, to_hub) = upstream.into_split();
    let (from_client, to_client) = client.into_split();
    connections.spawn(slowly(from_hub, to_client, helping.clone()));
    connections.spawn(heard(from_client, to_hub, Arc::clone(said)));
}

async fn heard(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, said: RelayLog) {
    let mut bytes = Vec::with_capacity(OPEN);
    // How a connection ends is of no interest here.
    while let Ok(1..) = from.read_buf(&mut bytes).await {
        said.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&bytes);
        if to.write_all(&bytes).await.is_err() {
            return;
        }
        bytes.clear();
    }
}

async fn slowly(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, helping: watch::Receiver<usize>) {
    let mut ticks = interval(TICK);
    let mut bytes = Vec::new();
    loop {
        let most = *helping.borrow();
        if most != OPEN {
            ticks.tick().await;
        }
        bytes.resize(most, 0);
        let Ok(count @ 1..) = from.read(&mut bytes).await else { return };
        bytes.truncate(count);
        if to.write_all(&bytes).await.is_err() {
            return;
        }
    }
}
