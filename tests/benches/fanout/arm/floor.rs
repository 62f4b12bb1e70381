//! The floor: see [`crate::floor`].

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;

use super::{Arm, Server, plain};
use crate::Outcome;
use tests::load::event::Event;
use tests::load::server::ServerProcess;
use tests::load::websocket::Socket;

/// The bare server that writes to sockets and does nothing else.
#[derive(Debug)]
pub(crate) struct Floor {
    /// Whether all events of 5 ms go out in one write.
    pub(crate) batched: bool,
}

impl Arm for Floor {
    fn name(&self) -> &'static str {
        if self.batched { "floor-batched" } else { "floor" }
    }

    fn start(&self, place: &Path) -> Outcome<Server> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("serve-floor").args(self.batched.then_some("batched"));
        let mut process = ServerProcess::start(&mut command, &place.join("log"))?;
        let (view, publish) = process.printed(|line| {
            let (view, publish) = line.split_once(' ')?;
            Some((view.parse::<u16>().ok()?, publish.parse::<u16>().ok()?))
        })?;
        let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Ok(Server { process, view: at(view), publish: at(publish) })
    }

    fn view_path(&self, conversation: u64) -> (String, Option<&'static str>) {
        (format!("/{conversation}"), None)
    }

    fn subscribe(&self, _conversation: u64) -> Vec<(u8, Vec<u8>)> {
        Vec::new()
    }

    fn is_subscribed(&self) -> Option<fn(&[u8]) -> bool> {
        None
    }

    fn open_publisher(&self, at: SocketAddr) -> Outcome<Socket> {
        plain(at)
    }

    fn publishes_in_frames(&self) -> bool {
        false
    }

    fn publish(&self, event: &Event, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        event.write_json(scratch);
        out.extend_from_slice(&(event.conversation as u16).to_be_bytes());
        out.extend_from_slice(&(scratch.len() as u16).to_be_bytes());
        out.extend_from_slice(scratch);
    }
}
