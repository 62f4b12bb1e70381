//! An upstream that does exactly as it is told: says bytes, waits for the test, is silent, breaks off. It remembers what it
//! was asked, and tells when who asked went away.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;

use crate::raw::{RawMessage, RawSocket, lines};
use crate::wait::{until, within};

/// The steps of the server, one after the other.
#[derive(Debug, Clone)]
pub enum ServerStep {
    /// Says these bytes: a head, a piece of a body, nonsense.
    Say(Vec<u8>),
    /// Waits for a call of [`ScriptedServer::go_on`].
    Wait,
    /// Lets the connection end with a reset.
    Reset,
    /// Says nothing more, until the other side closes.
    Silence,
    /// Says the same bytes again and again, until nobody takes them.
    Pour(Vec<u8>),
}

type ServerScript = dyn Fn(&RawMessage) -> Vec<ServerStep> + Send + Sync;

/// An upstream that follows a script. Dropping it stops the server.
#[derive(Debug)]
pub struct ScriptedServer {
    address: SocketAddr,
    inner: Arc<ServerState>,
    serving: JoinHandle<()>,
}

struct ServerState {
    script: Box<ServerScript>,
    asked: Mutex<Vec<RawMessage>>,
    gate: Semaphore,
    /// Connections whose other side closed before the script was over.
    left: Mutex<u64>,
    poured: Mutex<u64>,
    stop: Notify,
}

impl std::fmt::Debug for ServerState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("asked", &self.asked).finish_non_exhaustive()
    }
}

impl ServerStep {
    /// An answer with `body`, its length said.
    pub fn answer(status: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<Self> {
        let head = head(status, headers, &format!("content-length: {}\r\n", body.len()));
        vec![Self::Say([head.as_slice(), body].concat())]
    }

    /// The head of an answer whose body comes in pieces.
    pub fn begin(status: &str, headers: &[(&str, &str)]) -> Self {
        Self::Say(head(status, headers, "transfer-encoding: chunked\r\n"))
    }

    /// A piece of a body that comes in pieces.
    pub fn piece(bytes: &[u8]) -> Self {
        Self::Say([format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat())
    }

    /// The end of a body that comes in pieces, with trailers.
    pub fn end(trailers: &[(&str, &str)]) -> Self {
        let trailers = lines(trailers);
        Self::Say(format!("0\r\n{trailers}\r\n").into_bytes())
    }
}

fn head(status: &str, headers: &[(&str, &str)], framing: &str) -> Vec<u8> {
    let headers = lines(headers);
    let date = "Date: Sun, 06 Nov 1994 08:49:37 GMT";
    format!("HTTP/1.1 {status}\r\n{date}\r\n{headers}{framing}\r\n").into_bytes()
}

impl ScriptedServer {
    /// Starts one that does what `script` says of each request.
    ///
    /// # Panics
    /// When there is no free port.
    pub async fn start(script: impl Fn(&RawMessage) -> Vec<ServerStep> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let inner = Arc::new(ServerState {
            script: Box::new(script),
            asked: Mutex::default(),
            gate: Semaphore::new(0),
            left: Mutex::default(),
            poured: Mutex::default(),
            stop: Notify::new(),
        });
        let shared = Arc::clone(&inner);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _peer)) = listener.accept().await {
                tokio::spawn(serve(Arc::clone(&shared), stream));
            }
        });
        Self { address, inner, serving }
    }

    /// The address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The value of `--upstream` that gives it the name `name`.
    pub fn named(&self, name: &str) -> String {
        format!("{name}=http://{}", self.address)
    }

    /// Lets one [`ServerStep::Wait`] end.
    pub fn go_on(&self) {
        self.inner.gate.add_permits(1);
    }

    /// What it was asked so far.
    ///
    /// # Panics
    /// When a test panicked before.
    pub fn asked(&self) -> Vec<RawMessage> {
        self.inner.asked.lock().expect("no panic").clone()
    }

    /// How many went away in the middle of what was done for them.
    ///
    /// # Panics
    /// When a test panicked before.
    pub fn left(&self) -> u64 {
        *self.inner.left.lock().expect("no panic")
    }

    /// How many bytes of [`ServerStep::Pour`] were taken.
    ///
    /// # Panics
    /// When a test panicked before.
    pub fn poured(&self) -> u64 {
        *self.inner.poured.lock().expect("no panic")
    }

    /// Waits until somebody went away.
    pub async fn until_left(&self) {
        until("the upstream to be left", async || (self.left() > 0).then_some(())).await;
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.serving.abort();
        self.inner.stop.notify_waiters();
    }
}

async fn serve(inner: Arc<ServerState>, stream: TcpStream) {
    stream.set_nodelay(true).expect("a live socket");
    let mut wire = RawSocket::new(stream);
    let message = within("a request", wire.message()).await;
    if message.start.is_empty() {
        return;
    }
    let steps = (inner.script)(&message);
    inner.asked.lock().expect("no panic").push(message);
    for step in steps {
        let goes_on = tokio::select! {
            goes_on = act(&inner, &mut wire, &step) => goes_on,
            () = inner.stop.notified() => return,
        };
        if !goes_on {
            *inner.left.lock().expect("no panic") += 1;
            return;
        }
    }
}

/// Whether the other side is still there.
async fn act(inner: &ServerState, wire: &mut RawSocket<TcpStream>, step: &ServerStep) -> bool {
    match step {
        ServerStep::Say(bytes) => wire.try_send(bytes).await,
        ServerStep::Wait => {
            tokio::select! {
                permit = inner.gate.acquire() => {
                    permit.expect("it is never closed").forget();
                    true
                }
                () = wire.closed() => false,
            }
        }
        ServerStep::Silence => {
            wire.closed().await;
            false
        }
        ServerStep::Reset => {
            wire.stream().set_zero_linger().expect("a live socket");
            true
        }
        ServerStep::Pour(bytes) => {
            while wire.try_send(bytes).await {
                *inner.poured.lock().expect("no panic") += bytes.len() as u64;
            }
            false
        }
    }
}
