//! nats-server: published over its own TCP protocol, viewed over its WebSocket.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use memchr::memmem;

use super::{Arm, Server, accepts, free_address, install, is_program, plain};
use crate::Outcome;
use tests::load::event::{Event, write_number};
use tests::load::server::ServerProcess;
use tests::load::websocket::{BINARY, Socket, write_frame};

pub(super) const PROGRAM: &str = "/usr/sbin/nats-server";
pub(super) const CONNECT: &str = r#"CONNECT {"verbose":false,"pedantic":false,"headers":false}"#;

/// The arm of nats-server.
#[derive(Debug)]
pub(crate) struct Nats;

impl Arm for Nats {
    fn name(&self) -> &'static str {
        "nats"
    }

    fn start(&self, place: &Path) -> Outcome<Server> {
        if !is_program(PROGRAM) {
            return Err(install("nats-server").into());
        }
        let (publish, view) = (free_address()?, free_address()?);
        let settings = format!(
            "host: 127.0.0.1\nport: {}\nwebsocket {{\n  host: 127.0.0.1\n  port: {}\n  no_tls: true\n  \
             compression: false\n}}\n",
            publish.port(),
            view.port()
        );
        let file = place.join("nats.conf");
        std::fs::write(&file, settings)?;
        let process =
            ServerProcess::start(Command::new(PROGRAM).arg("--config").arg(file), &place.join("log"))?;
        process.wait_ready(|| accepts(publish) && accepts(view))?;
        Ok(Server { process, view, publish })
    }

    fn view_path(&self, _conversation: u64) -> (String, Option<&'static str>) {
        ("/".to_owned(), None)
    }

    fn subscribe(&self, conversation: u64) -> Vec<(u8, Vec<u8>)> {
        vec![(BINARY, format!("{CONNECT}\r\nSUB c{conversation} 1\r\nPING\r\n").into_bytes())]
    }

    fn is_subscribed(&self) -> Option<fn(&[u8]) -> bool> {
        Some(|payload| memmem::find(payload, b"PONG\r\n").is_some())
    }

    fn open_publisher(&self, at: SocketAddr) -> Outcome<Socket> {
        let mut socket = plain(at)?;
        socket.stream.write_all(format!("{CONNECT}\r\nPING\r\n").as_bytes())?;
        while memmem::find(&socket.unread, b"PONG\r\n").is_none() {
            socket.fill()?;
        }
        socket.unread.clear();
        Ok(socket)
    }

    fn publishes_in_frames(&self) -> bool {
        false
    }

    fn publish(&self, event: &Event, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        event.write_json(scratch);
        out.extend_from_slice(b"PUB c");
        write_number(out, event.conversation);
        out.push(b' ');
        write_number(out, scratch.len() as u64);
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(scratch);
        out.extend_from_slice(b"\r\n");
    }

    fn answer(&self, payload: &[u8], _position: u64) -> Option<Vec<u8>> {
        if payload != b"PING\r\n" {
            return None;
        }
        let mut frame = Vec::new();
        write_frame(&mut frame, BINARY, b"PONG\r\n");
        Some(frame)
    }
}
