//! nats-server with a stream of `JetStream` on file storage: each event is published with an address for its `PubAck`, and at most as many are without one
//! as our hub owes a socket. Viewers are plain subscribers of the stream's subjects, which cost this server least; newcomers of the row `late` are
//! ephemeral push consumers that begin with the first event and ack nothing, as ordered ones do, since only those have the past.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use memchr::memmem;
use tests::load::event::{Event, write_number};
use tests::load::server::ServerProcess;
use tests::load::websocket::{BINARY, Socket};
use tests::load::{Failure, Outcome};

use super::nats::{CONNECT, Nats, PROGRAM};
use super::{AckMark, Arm, Server, accepts, free_address, install, is_program, plain};

/// Events that may be without a `PubAck`.
const AHEAD: u64 = 1_024;

/// Bounded only by the disk, and without the window in which doubles are looked for: nothing is published with an id.
const STREAM: &str = r#"{"name":"BENCH","subjects":["b.*"],"retention":"limits","storage":"file","max_consumers":-1,"max_msgs":-1,"max_bytes":-1,"discard":"old","num_replicas":1,"no_ack":false}"#;

/// The arm of `JetStream`.
#[derive(Debug)]
pub(crate) struct JetStream {
    name: &'static str,
    /// What its file storage is told of flushing to the disk.
    sync: Option<&'static str>,
    /// How many newcomers there were: each has an address of its own.
    newcomers: AtomicU64,
}

impl JetStream {
    /// Flushes to the disk when the server likes: every two minutes.
    pub(crate) fn by_default() -> Self {
        Self { name: "jetstream", sync: None, newcomers: AtomicU64::new(0) }
    }

    /// Flushes each event to the disk before its `PubAck`.
    pub(crate) fn always_synced() -> Self {
        Self { name: "jetstream-always", sync: Some("always"), newcomers: AtomicU64::new(0) }
    }
}

/// The server's program: `NATS_SERVER`, else that of Debian.
fn program() -> String {
    std::env::var("NATS_SERVER").unwrap_or_else(|_not_set| PROGRAM.to_owned())
}

/// Why the server cannot be told when to flush, if it cannot.
fn refusal(program: &str, file: &Path) -> Outcome<Option<Failure>> {
    let checked = Command::new(program).arg("-t").arg("--config").arg(file).output()?;
    if checked.status.success() {
        return Ok(None);
    }
    let version = Command::new(program).arg("--version").output()?.stdout;
    let version = String::from_utf8_lossy(&version).trim().to_owned();
    Ok(Some(
        format!("{version} has no setting sync_interval (2.10 has; NATS_SERVER names another program)")
            .into(),
    ))
}

/// Makes the stream.
fn make_stream(at: SocketAddr) -> Outcome<()> {
    let mut socket = plain(at)?;
    let length = STREAM.len();
    socket.stream.write_all(
        format!("{CONNECT}\r\nSUB _INBOX.made 1\r\nPUB $JS.API.STREAM.CREATE.BENCH _INBOX.made {length}\r\n{STREAM}\r\n")
            .as_bytes(),
    )?;
    while memmem::find(&socket.unread, b"stream_create_response").is_none()
        || !socket.unread.ends_with(b"\r\n")
    {
        socket.fill()?;
    }
    if memmem::find(&socket.unread, br#""error""#).is_some() {
        return Err(String::from_utf8_lossy(&socket.unread).into_owned().into());
    }
    Ok(())
}

impl Arm for JetStream {
    fn name(&self) -> &'static str {
        self.name
    }

    fn keeps_past(&self) -> bool {
        true
    }

    fn keeps_all(&self) -> bool {
        true
    }

    fn start(&self, place: &Path) -> Outcome<Server> {
        let program = program();
        if !is_program(&program) {
            return Err(install("nats-server").into());
        }
        let (publish, view) = (free_address()?, free_address()?);
        let sync = self.sync.map(|sync| format!("  sync_interval: {sync}\n")).unwrap_or_default();
        let settings = format!(
            "host: 127.0.0.1\nport: {}\nwebsocket {{\n  host: 127.0.0.1\n  port: {}\n  no_tls: true\n  \
             compression: false\n}}\njetstream {{\n  store_dir: \"{}\"\n{sync}}}\n",
            publish.port(),
            view.port(),
            place.join("jetstream").display()
        );
        let file = place.join("nats.conf");
        std::fs::write(&file, settings)?;
        if self.sync.is_some()
            && let Some(refusal) = refusal(&program, &file)?
        {
            return Err(refusal);
        }
        let process =
            ServerProcess::start(Command::new(program).arg("--config").arg(file), &place.join("log"))?;
        process.wait_ready(|| accepts(publish) && accepts(view))?;
        make_stream(publish)?;
        Ok(Server { process, view, publish })
    }

    fn view_path(&self, conversation: u64) -> (String, Option<&'static str>) {
        Nats.view_path(conversation)
    }

    fn subscribe(&self, conversation: u64) -> Vec<(u8, Vec<u8>)> {
        vec![(BINARY, format!("{CONNECT}\r\nSUB b.c{conversation} 1\r\nPING\r\n").into_bytes())]
    }

    fn subscribe_late(&self, conversation: u64) -> Vec<(u8, Vec<u8>)> {
        let number = self.newcomers.fetch_add(1, Ordering::Relaxed);
        let consumer = format!(
            r#"{{"stream_name":"BENCH","config":{{"deliver_subject":"late.{number}","deliver_policy":"all","ack_policy":"none","replay_policy":"instant","filter_subject":"b.c{conversation}"}}}}"#
        );
        let length = consumer.len();
        let text = format!(
            "{CONNECT}\r\nSUB late.{number} 1\r\nPUB $JS.API.CONSUMER.CREATE.BENCH _INBOX.late {length}\r\n{consumer}\r\n"
        );
        vec![(BINARY, text.into_bytes())]
    }

    fn is_subscribed(&self) -> Option<fn(&[u8]) -> bool> {
        Nats.is_subscribed()
    }

    fn open_publisher(&self, at: SocketAddr) -> Outcome<Socket> {
        let mut socket = Nats.open_publisher(at)?;
        socket.stream.write_all(b"SUB _INBOX.acks 1\r\n")?;
        Ok(socket)
    }

    fn publishes_in_frames(&self) -> bool {
        false
    }

    fn acks(&self) -> Option<AckMark> {
        Some(AckMark { ack: br#""seq":"#, refusal: br#""error":"#, ahead: AHEAD })
    }

    fn publish(&self, event: &Event, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        event.write_json(scratch);
        out.extend_from_slice(b"PUB b.c");
        write_number(out, event.conversation);
        out.extend_from_slice(b" _INBOX.acks ");
        write_number(out, scratch.len() as u64);
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(scratch);
        out.extend_from_slice(b"\r\n");
    }

    fn answer(&self, payload: &[u8], position: u64) -> Option<Vec<u8>> {
        Nats.answer(payload, position)
    }
}
