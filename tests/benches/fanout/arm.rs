//! The servers that are compared. An arm knows how to start its server in its best configuration and how to speak to
//! it; everything else is the same for all.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;

use crate::Outcome;
use tests::load::event::Event;
use tests::load::server::ServerProcess;
use tests::load::websocket::Socket;

mod fanlight;
mod floor;
mod jetstream;
mod mosquitto;
mod nats;
mod nchan;
mod node;
mod roles;

/// A server that is ready.
#[derive(Debug)]
pub(crate) struct Server {
    /// Its processes.
    pub(crate) process: ServerProcess,
    /// Where viewers connect.
    pub(crate) view: SocketAddr,
    /// Where the publisher connects.
    pub(crate) publish: SocketAddr,
}

/// What a frame says about the positions that it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// Nothing: this arm has no positions.
    None,
    /// The positions from the first to the second.
    Events(u64, u64),
    /// Everything up to here; replaces what came before.
    Snapshot(u64),
}

/// What acks of a server look like to the publisher.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AckMark {
    /// Stands once in each ack.
    pub(crate) ack: &'static [u8],
    /// Stands in an answer that is none.
    pub(crate) refusal: &'static [u8],
    /// Events that may be without an ack at a time.
    pub(crate) ahead: u64,
}

/// How to drive one server.
pub(crate) trait Arm: Sync {
    /// Its name in arguments and tables.
    fn name(&self) -> &'static str;

    /// Whether a viewer that joins late can have the events that it missed.
    fn keeps_past(&self) -> bool {
        false
    }

    /// Whether what it keeps has no bound but the disk.
    fn keeps_all(&self) -> bool {
        false
    }

    /// Starts the server; its files go to the empty folder `place`.
    fn start(&self, place: &Path) -> Outcome<Server>;

    /// The path and the subprotocol of a viewer's WebSocket.
    fn view_path(&self, conversation: u64) -> (String, Option<&'static str>);

    /// The frames that subscribe a viewer.
    fn subscribe(&self, conversation: u64) -> Vec<(u8, Vec<u8>)>;

    /// The frames that subscribe a viewer who wants what was before as well.
    fn subscribe_late(&self, conversation: u64) -> Vec<(u8, Vec<u8>)> {
        self.subscribe(conversation)
    }

    /// Whether this payload tells a viewer that it is subscribed; nothing when the server says no such thing.
    fn is_subscribed(&self) -> Option<fn(&[u8]) -> bool>;

    /// Whether the server has all these viewers, for servers that do not tell the viewers.
    fn has_viewers(&self, _server: &Server, _count: usize) -> bool {
        true
    }

    /// Connects the publisher.
    fn open_publisher(&self, at: SocketAddr) -> Outcome<Socket>;

    /// Whether what the publisher gets comes in WebSocket frames.
    fn publishes_in_frames(&self) -> bool;

    /// How the publisher recognises acks that do not come in frames of ours and that it must wait for; nothing where there are none.
    fn acks(&self) -> Option<AckMark> {
        None
    }

    /// Appends what publishes one event. `scratch` is empty and may be used.
    fn publish(&self, event: &Event, scratch: &mut Vec<u8>, out: &mut Vec<u8>);

    /// What must be sent back when this arrives, as it goes onto the connection: answers to heartbeats.
    fn answer(&self, _payload: &[u8], _position: u64) -> Option<Vec<u8>> {
        None
    }

    /// What a frame covers.
    fn coverage(&self, _payload: &[u8]) -> Coverage {
        Coverage::None
    }

    /// What a server has to complain about in an answer to the publisher.
    fn complaint(&self, _payload: &[u8]) -> bool {
        false
    }
}

/// All arms, in the order in which a round runs them.
pub(crate) fn all() -> Vec<Box<dyn Arm>> {
    vec![
        Box::new(floor::Floor { batched: false }),
        Box::new(floor::Floor { batched: true }),
        Box::new(fanlight::Fanlight::Default),
        Box::new(fanlight::Fanlight::Memory),
        Box::new(fanlight::Fanlight::Unredacted),
        Box::new(roles::Guarded::without_roles()),
        Box::new(roles::Guarded::with_one_role()),
        Box::new(roles::Guarded::with_five_roles()),
        Box::new(nats::Nats),
        Box::new(jetstream::JetStream::by_default()),
        Box::new(jetstream::JetStream::always_synced()),
        Box::new(nchan::Nchan),
        Box::new(mosquitto::Mosquitto),
        Box::new(node::Node::Ws),
        Box::new(node::Node::SocketIo),
    ]
}

/// An address that nobody listens on now.
fn free_address() -> Outcome<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

fn accepts(at: SocketAddr) -> bool {
    TcpStream::connect(at).is_ok()
}

/// A connection without upgrade.
fn plain(at: SocketAddr) -> Outcome<Socket> {
    let stream = TcpStream::connect(at)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(std::time::Duration::from_secs(20)))?;
    Ok(Socket { stream, unread: Vec::new() })
}

/// The name of the account that runs this, for servers that would otherwise change to another.
fn account() -> String {
    let output = std::process::Command::new("id").arg("-un").output();
    let name = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    name.unwrap_or_else(|_no_such_program| "root".to_owned())
}

/// What to say when a peer's program is missing.
fn install(packages: &str) -> String {
    format!("not installed; type: apt-get install --no-install-recommends {packages}")
}

fn is_program(path: &str) -> bool {
    Path::new(path).exists()
}
