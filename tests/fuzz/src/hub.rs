//! A hub inside the fuzzer: a new one for each input, on one thread, over real sockets of this machine. Its clock is one
//! that jumps: where everybody waits, the next deadline is now, so that a minute of silence takes no time.

use std::net::{SocketAddr, TcpListener};
use std::sync::OnceLock;
use std::time::Duration;

use edge::{Config, Ready};
use tokio::sync::oneshot;

/// How long a drain may take by the clock that jumps.
const DRAIN: Duration = Duration::from_secs(30);

/// Where a hub listens.
#[derive(Debug, Clone, Copy)]
pub struct Hub {
    /// Its address.
    pub address: SocketAddr,
}

/// How a hub's time passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// As the module says.
    Jumps,
    /// As it does, for hubs that wait for threads and for deadlines of the day.
    Runs,
}

/// Lets `visit` talk to a hub that is as `config` says, and stops the hub then. Nothing where it does not open its log.
pub fn with<T>(clock: Clock, config: Config, visit: impl AsyncFnOnce(Hub) -> T) -> Option<T> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().start_paused(clock == Clock::Jumps).build().expect("a runtime");
    let came = runtime.block_on(async {
        let ready = match Ready::new(config) {
            Ok(ready) => ready,
            Err(error) => {
                drop(error.to_string());
                return None;
            }
        };
        let listener = listener();
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(ready.serve(listener, async { drop(stopped.await) }));
        let came = visit(Hub { address }).await;
        drop(stop);
        let ended = tokio::time::timeout(DRAIN, serving).await.expect("I13: the drain ends");
        drop(ended.expect("the hub lives to its end"));
        Some(came)
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    came
}

/// One socket for all hubs, one after the other: ports are few.
fn listener() -> tokio::net::TcpListener {
    static SOCKET: OnceLock<TcpListener> = OnceLock::new();
    let socket = SOCKET.get_or_init(|| {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
        socket.set_nonblocking(true).expect("a socket that does not block");
        socket
    });
    tokio::net::TcpListener::from_std(socket.try_clone().expect("a socket")).expect("a socket")
}
