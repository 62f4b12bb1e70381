//! nginx with the module nchan: published by HTTP POST (pipelined on one connection), viewed over WebSocket.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;

use super::{Arm, Server, accepts, account, free_address, install, is_program, plain};
use crate::Outcome;
use tests::load::event::{Event, write_number};
use tests::load::server::ServerProcess;
use tests::load::websocket::Socket;

const PROGRAM: &str = "/usr/sbin/nginx";
const MODULE: &str = "/usr/lib/nginx/modules/ngx_nchan_module.so";

/// The arm of nginx with nchan.
#[derive(Debug)]
pub(crate) struct Nchan;

/// One worker: a second one makes every delivery cross between the two.
fn settings(place: &Path, at: SocketAddr) -> String {
    let (place, user) = (place.display(), account());
    format!(
        "load_module {MODULE};\nuser {user};\ndaemon off;\nworker_processes 1;\nworker_rlimit_nofile 20000;\n\
         pid {place}/pid;\nerror_log {place}/error.log crit;\nevents {{ worker_connections 16384; }}\n\
         http {{\n  access_log off;\n  tcp_nodelay on;\n  keepalive_requests 1000000000;\n  \
         nchan_shared_memory_size 512M;\n  nchan_message_timeout 5m;\n  \
         client_body_temp_path {place}/body;\n  proxy_temp_path {place}/proxy;\n  \
         fastcgi_temp_path {place}/fastcgi;\n  uwsgi_temp_path {place}/uwsgi;\n  scgi_temp_path {place}/scgi;\n  \
         server {{\n    listen {at} backlog=4096;\n    \
         location ~ ^/pub/(.+)$ {{ nchan_publisher http; nchan_channel_id $1; nchan_message_buffer_length 1000; }}\n    \
         location ~ ^/sub/(.+)$ {{ nchan_subscriber websocket; nchan_channel_id $1; \
         nchan_subscriber_first_message oldest; }}\n    \
         location /status {{ nchan_stub_status; }}\n  }}\n}}\n"
    )
}

impl Arm for Nchan {
    fn name(&self) -> &'static str {
        "nchan"
    }

    fn keeps_past(&self) -> bool {
        true
    }

    fn start(&self, place: &Path) -> Outcome<Server> {
        if !is_program(PROGRAM) || !is_program(MODULE) {
            return Err(install("nginx-light libnginx-mod-nchan").into());
        }
        let at = free_address()?;
        let file = place.join("nginx.conf");
        std::fs::write(&file, settings(place, at))?;
        let mut command = Command::new(PROGRAM);
        command.arg("-p").arg(place).arg("-c").arg(file).arg("-e").arg(place.join("error.log"));
        let process = ServerProcess::start(&mut command, &place.join("log"))?;
        process.wait_ready(|| accepts(at))?;
        Ok(Server { process, view: at, publish: at })
    }

    fn view_path(&self, conversation: u64) -> (String, Option<&'static str>) {
        (format!("/sub/c{conversation}"), None)
    }

    fn subscribe(&self, _conversation: u64) -> Vec<(u8, Vec<u8>)> {
        Vec::new()
    }

    fn is_subscribed(&self) -> Option<fn(&[u8]) -> bool> {
        None
    }

    fn has_viewers(&self, server: &Server, count: usize) -> bool {
        let ask = || -> Outcome<String> {
            let mut stream = TcpStream::connect(server.view)?;
            stream.write_all(b"GET /status HTTP/1.0\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        let wanted = format!("subscribers: {count}\n");
        ask().is_ok_and(|answer| answer.contains(&wanted))
    }

    fn open_publisher(&self, at: SocketAddr) -> Outcome<Socket> {
        plain(at)
    }

    fn publishes_in_frames(&self) -> bool {
        false
    }

    fn publish(&self, event: &Event, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        event.write_json(scratch);
        out.extend_from_slice(b"POST /pub/c");
        write_number(out, event.conversation);
        out.extend_from_slice(b" HTTP/1.1\r\nHost: h\r\nContent-Length: ");
        write_number(out, scratch.len() as u64);
        out.extend_from_slice(b"\r\n\r\n");
        out.extend_from_slice(scratch);
    }
}
