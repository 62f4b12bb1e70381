//! Our hub: published and viewed over its public WebSocket, one native event in each `pub` frame.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use memchr::memmem;

use super::{Arm, Coverage, Server};
use crate::Outcome;
use tests::load::event::{Event, write_number};
use tests::load::native::{HELLO, field, head, opening};
use tests::load::server::ServerProcess;
use tests::load::websocket::{Socket, TEXT, write_frame};

/// The hub, by the log that it has.
#[derive(Debug)]
pub(crate) enum Fanlight {
    /// The one that everybody gets: on disk.
    Default,
    /// The one in memory, which stores nothing.
    Memory,
    /// The one on disk, with redaction off.
    Unredacted,
}

/// The product: `FANLIGHT_BIN`, else what `cargo xtask build` leaves.
pub(super) fn binary() -> PathBuf {
    std::env::var_os("FANLIGHT_BIN")
        .map_or_else(|| crate::target_folder().join("release/fanlight"), PathBuf::from)
}

impl Arm for Fanlight {
    fn name(&self) -> &'static str {
        match self {
            Self::Default => "fanlight",
            Self::Memory => "fanlight-memory",
            Self::Unredacted => "fanlight-unredacted",
        }
    }

    fn keeps_past(&self) -> bool {
        true
    }

    fn keeps_all(&self) -> bool {
        matches!(self, Self::Default)
    }

    fn start(&self, place: &Path) -> Outcome<Server> {
        let program = binary();
        if !program.exists() {
            let program = program.display();
            return Err(format!("{program} is missing; type: cargo xtask bench, or set FANLIGHT_BIN").into());
        }
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(place);
        if matches!(self, Self::Memory) {
            command.args(["--log", "memory"]);
        }
        if matches!(self, Self::Unredacted) {
            let file = place.join("fanlight.toml");
            std::fs::write(&file, "[redact]\noff = true\n")?;
            command.arg("--config").arg(file);
        }
        let mut process = ServerProcess::start(&mut command, &place.join("log"))?;
        let at = process.printed(|line| line.strip_prefix("listening on http://")?.trim().parse().ok())?;
        Ok(Server { process, view: at, publish: at })
    }

    fn view_path(&self, _conversation: u64) -> (String, Option<&'static str>) {
        ("/v1/ws".to_owned(), Some("fanlight.v1"))
    }

    fn subscribe(&self, conversation: u64) -> Vec<(u8, Vec<u8>)> {
        let sub = format!(r#"{{"t":"sub","sub":1,"conv":"c{conversation}"}}"#);
        vec![(TEXT, HELLO.to_vec()), (TEXT, sub.into_bytes())]
    }

    fn is_subscribed(&self) -> Option<fn(&[u8]) -> bool> {
        Some(|payload| memmem::find(head(payload), br#""t":"live""#).is_some())
    }

    fn open_publisher(&self, at: SocketAddr) -> Outcome<Socket> {
        let mut socket = Socket::open(at, "/v1/ws", Some("fanlight.v1"))?;
        socket.send(TEXT, HELLO)?;
        socket.wait_for(|payload| memmem::find(head(payload), br#""t":"welcome""#).is_some())?;
        Ok(socket)
    }

    fn publishes_in_frames(&self) -> bool {
        true
    }

    fn publish(&self, event: &Event, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        scratch.extend_from_slice(br#"{"t":"pub","id":"#);
        write_number(scratch, event.number);
        scratch.extend_from_slice(br#","conv":"c"#);
        write_number(scratch, event.conversation);
        scratch.extend_from_slice(br#"","events":["#);
        if event.opens_part() {
            scratch.extend_from_slice(opening(event).0.as_bytes());
        }
        event.write_json(scratch);
        scratch.extend_from_slice(b"]}");
        write_frame(out, TEXT, scratch);
    }

    fn answer(&self, payload: &[u8], position: u64) -> Option<Vec<u8>> {
        memmem::find(head(payload), br#""t":"hb""#)?;
        let at = if position == 0 { "{}".to_owned() } else { format!(r#"{{"1":{position}}}"#) };
        let mut frame = Vec::new();
        write_frame(&mut frame, TEXT, format!(r#"{{"t":"hb_ack","at":{at}}}"#).as_bytes());
        Some(frame)
    }

    fn coverage(&self, payload: &[u8]) -> Coverage {
        let head = head(payload);
        if memmem::find(head, br#""t":"batch""#).is_some()
            && let (Some(from), Some(to)) = (field(head, br#""from":"#), field(head, br#""to":"#))
        {
            return Coverage::Events(from, to);
        }
        match (memmem::find(head, br#""t":"snap""#), field(head, br#""seq":"#)) {
            (Some(_), Some(seq)) => Coverage::Snapshot(seq),
            _ => Coverage::None,
        }
    }

    fn complaint(&self, payload: &[u8]) -> bool {
        let head = head(payload);
        memmem::find(head, br#""t":"error""#).or_else(|| memmem::find(head, br#""t":"bye""#)).is_some()
    }
}
