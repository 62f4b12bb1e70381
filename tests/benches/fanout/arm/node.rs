//! The two usual servers on node, `ws` and `socket.io`: published and viewed over sockets of their own. What they need
//! is installed once, with pinned versions, below the build directory.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Arm, Server, free_address};
use crate::Outcome;
use tests::load::event::{Event, write_number};
use tests::load::server::ServerProcess;
use tests::load::websocket::{Socket, TEXT, write_frame};

/// Which of the two servers on node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Node {
    /// A set of sockets for each conversation.
    Ws,
    /// A room for each conversation.
    SocketIo,
}

const PACKAGES: &str = include_str!("../../peers/package.json");
const WS: &str = include_str!("../../peers/ws.mjs");
const SOCKET_IO: &str = include_str!("../../peers/socketio.mjs");

/// The folder with the two servers and their packages.
fn folder() -> Outcome<PathBuf> {
    let folder = crate::target_folder().join("bench-peers");
    std::fs::create_dir_all(&folder)?;
    let is_new = std::fs::read_to_string(folder.join("package.json")).ok().as_deref() != Some(PACKAGES);
    std::fs::write(folder.join("ws.mjs"), WS)?;
    std::fs::write(folder.join("socketio.mjs"), SOCKET_IO)?;
    std::fs::write(folder.join("package.json"), PACKAGES)?;
    if is_new || !folder.join("node_modules/socket.io").exists() {
        let mut command = Command::new("npm");
        command.args(["install", "--no-audit", "--no-fund", "--ignore-scripts"]).current_dir(&folder);
        let output = command.output().map_err(|error| format!("npm: {error}; type: apt-get install npm"))?;
        if !output.status.success() {
            return Err(format!("npm install failed: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
    }
    Ok(folder)
}

impl Arm for Node {
    fn name(&self) -> &'static str {
        match self {
            Self::Ws => "ws",
            Self::SocketIo => "socketio",
        }
    }

    fn start(&self, place: &Path) -> Outcome<Server> {
        let at = free_address()?;
        let mut command = Command::new("node");
        command.arg(folder()?.join(format!("{}.mjs", self.name()))).arg(at.port().to_string());
        command.env("NODE_ENV", "production");
        let mut process = ServerProcess::start(&mut command, &place.join("log"))?;
        process.printed(|line| (line == "listening").then_some(()))?;
        Ok(Server { process, view: at, publish: at })
    }

    fn view_path(&self, conversation: u64) -> (String, Option<&'static str>) {
        let path = match self {
            Self::Ws => format!("/c{conversation}"),
            Self::SocketIo => format!("/socket.io/?EIO=4&transport=websocket&c=c{conversation}"),
        };
        (path, None)
    }

    fn subscribe(&self, _conversation: u64) -> Vec<(u8, Vec<u8>)> {
        match self {
            Self::Ws => Vec::new(),
            Self::SocketIo => vec![(TEXT, b"40".to_vec())],
        }
    }

    fn is_subscribed(&self) -> Option<fn(&[u8]) -> bool> {
        Some(|payload| payload == b"ready" || payload == br#"42["ready"]"#)
    }

    fn open_publisher(&self, at: SocketAddr) -> Outcome<Socket> {
        if *self == Self::Ws {
            return Socket::open(at, "/pub", None);
        }
        let mut socket = Socket::open(at, "/socket.io/?EIO=4&transport=websocket", None)?;
        socket.send(TEXT, b"40")?;
        socket.wait_for(|payload| payload.starts_with(b"40"))?;
        Ok(socket)
    }

    fn publishes_in_frames(&self) -> bool {
        true
    }

    fn publish(&self, event: &Event, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        let (before, between, after): (&[u8], &[u8], &[u8]) = match self {
            Self::Ws => (b"c", b"\n", b""),
            Self::SocketIo => (br#"42["pub","c"#, br#"","#, b"]"),
        };
        scratch.extend_from_slice(before);
        write_number(scratch, event.conversation);
        scratch.extend_from_slice(between);
        event.write_json(scratch);
        scratch.extend_from_slice(after);
        write_frame(out, TEXT, scratch);
    }

    fn answer(&self, payload: &[u8], _position: u64) -> Option<Vec<u8>> {
        if *self == Self::Ws || payload != b"2" {
            return None;
        }
        let mut frame = Vec::new();
        write_frame(&mut frame, TEXT, b"3");
        Some(frame)
    }
}
