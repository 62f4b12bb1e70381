//! mosquitto: published over MQTT 3.1.1 on TCP with quality of service 0, viewed over its WebSocket.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use super::{Arm, Server, accepts, account, free_address, install, is_program, plain};
use crate::Outcome;
use tests::load::event::{Event, write_number};
use tests::load::server::ServerProcess;
use tests::load::websocket::{BINARY, Socket};

const PROGRAM: &str = "/usr/sbin/mosquitto";
const CONNECT: u8 = 0x10;
const CONNECT_ANSWER: u8 = 0x20;
const PUBLISH: u8 = 0x30;
const SUBSCRIBE: u8 = 0x82;
const SUBSCRIBE_ANSWER: u8 = 0x90;

/// The arm of mosquitto.
#[derive(Debug)]
pub(crate) struct Mosquitto;

fn packet(out: &mut Vec<u8>, kind: u8, mut length: usize) {
    out.push(kind);
    while length >= 0x80 {
        out.push((length & 0x7F) as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

/// A clean session without a name and without keep-alive.
fn connect() -> Vec<u8> {
    let mut out = Vec::new();
    packet(&mut out, CONNECT, 12);
    out.extend_from_slice(&[0, 4, b'M', b'Q', b'T', b'T', 4, 2, 0, 0, 0, 0]);
    out
}

impl Arm for Mosquitto {
    fn name(&self) -> &'static str {
        "mosquitto"
    }

    fn start(&self, place: &Path) -> Outcome<Server> {
        if !is_program(PROGRAM) {
            return Err(install("mosquitto").into());
        }
        let (publish, view) = (free_address()?, free_address()?);
        let settings = format!(
            "user {}\nallow_anonymous true\npersistence false\nlog_dest none\nset_tcp_nodelay true\n\
             max_queued_messages 0\nmax_connections -1\nlistener {} 127.0.0.1\nprotocol mqtt\n\
             listener {} 127.0.0.1\nprotocol websockets\n",
            account(),
            publish.port(),
            view.port()
        );
        let file = place.join("mosquitto.conf");
        std::fs::write(&file, settings)?;
        let process = ServerProcess::start(Command::new(PROGRAM).arg("-c").arg(file), &place.join("log"))?;
        process.wait_ready(|| accepts(publish) && accepts(view))?;
        Ok(Server { process, view, publish })
    }

    fn view_path(&self, _conversation: u64) -> (String, Option<&'static str>) {
        ("/mqtt".to_owned(), Some("mqtt"))
    }

    fn subscribe(&self, conversation: u64) -> Vec<(u8, Vec<u8>)> {
        let name = format!("c{conversation}");
        let mut subscribe = Vec::new();
        packet(&mut subscribe, SUBSCRIBE, name.len() + 5);
        subscribe.extend_from_slice(&[0, 1, 0, name.len() as u8]);
        subscribe.extend_from_slice(name.as_bytes());
        subscribe.push(0);
        vec![(BINARY, connect()), (BINARY, subscribe)]
    }

    fn is_subscribed(&self) -> Option<fn(&[u8]) -> bool> {
        Some(|payload| payload.contains(&SUBSCRIBE_ANSWER))
    }

    fn open_publisher(&self, at: SocketAddr) -> Outcome<Socket> {
        let mut socket = plain(at)?;
        socket.stream.write_all(&connect())?;
        while socket.unread.len() < 4 {
            socket.fill()?;
        }
        if socket.unread[..4] != [CONNECT_ANSWER, 2, 0, 0] {
            return Err(format!("the broker refuses: {:?}", socket.unread).into());
        }
        socket.unread.clear();
        Ok(socket)
    }

    fn publishes_in_frames(&self) -> bool {
        false
    }

    fn publish(&self, event: &Event, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        scratch.push(b'c');
        write_number(scratch, event.conversation);
        let name_bytes = scratch.len();
        event.write_json(scratch);
        packet(out, PUBLISH, scratch.len() + 2);
        out.extend_from_slice(&[0, name_bytes as u8]);
        out.extend_from_slice(scratch);
    }
}
