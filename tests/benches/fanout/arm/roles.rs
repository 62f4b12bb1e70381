//! Our hub with access control, whose viewers have no role, one or five: what the quotas of principals and addresses cost, which are counted and never
//! reached here, and what the second, third, fourth and fifth mask of a conversation cost. Besides the tokens it is driven as [`Fanlight`] is.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use memchr::memmem;

use super::fanlight::{Fanlight, binary};
use super::{Arm, Coverage, Server};
use crate::Outcome;
use tests::load::event::Event;
use tests::load::server::ServerProcess;
use tests::load::websocket::{Socket, TEXT};

/// What each role hides.
const HIDDEN: [&str; 5] = ["thinking", "costs", "results", "arguments", "users"];

/// The hub with access control, by the roles that its viewers have.
#[derive(Debug)]
pub(crate) struct Guarded {
    /// What its viewers are, in turn: of a role, or of none.
    roles: Vec<Option<&'static str>>,
    name: &'static str,
    /// The tokens of the server that runs: that of the publisher, then one for each role.
    tokens: Mutex<Vec<String>>,
    /// How many viewers have joined; they take the roles in turn.
    joined: AtomicUsize,
}

impl Guarded {
    /// No viewer has a role.
    pub(crate) fn without_roles() -> Self {
        Self::new(vec![None], "fanlight-known")
    }

    /// All viewers have one role.
    pub(crate) fn with_one_role() -> Self {
        Self::new(vec![Some(HIDDEN[0])], "fanlight-one-role")
    }

    /// A fifth of the viewers has each role.
    pub(crate) fn with_five_roles() -> Self {
        Self::new(HIDDEN.map(Some).to_vec(), "fanlight-five-roles")
    }

    fn new(roles: Vec<Option<&'static str>>, name: &'static str) -> Self {
        Self { roles, name, tokens: Mutex::default(), joined: AtomicUsize::new(0) }
    }

    /// `hello` with the token of this number.
    fn hello(&self, number: usize) -> Vec<u8> {
        let tokens = self.tokens.lock().map(|tokens| tokens.get(number).cloned());
        let token = tokens.ok().flatten().unwrap_or_default();
        format!(r#"{{"t":"hello","versions":["1"],"client":"bench","token":"{token}"}}"#).into_bytes()
    }
}

/// Makes a token in `place` and gives it.
fn token(place: &Path, name: &str, grant: &str, role: Option<&str>) -> Outcome<String> {
    let mut command = Command::new(binary());
    command.args(["token", "create", "--name", name, "--grant", grant, "--data-dir"]).arg(place);
    command.args(role.iter().flat_map(|role| ["--role", role]));
    let made = command.output()?;
    if !made.status.success() {
        return Err(String::from_utf8_lossy(&made.stderr).into_owned().into());
    }
    Ok(String::from_utf8(made.stdout)?.trim().to_owned())
}

/// The settings: the roles, and no bound that a thousand viewers from one address would reach.
fn settings() -> String {
    let roles = HIDDEN.iter().map(|hidden| format!("[access.roles.{hidden}]\nhide = [\"{hidden}\"]\n"));
    let limits = "[access.limits]\nconnections_per_address = 100000\nsockets_per_principal = 100000\n\
                  requests_per_principal = 100000\npublishes_per_second = 100000\n\
                  received_mib_per_minute = 4000000\nsent_mib_per_minute = 4000000\n";
    format!("[access]\nmode = \"tokens\"\n{limits}{}", roles.collect::<String>())
}

impl Arm for Guarded {
    fn name(&self) -> &'static str {
        self.name
    }

    fn start(&self, place: &Path) -> Outcome<Server> {
        let file = place.join("fanlight.toml");
        std::fs::write(&file, settings())?;
        let mut tokens = vec![token(place, "publisher", "publish:*", None)?];
        for role in &self.roles {
            tokens.push(token(place, role.unwrap_or("viewer"), "view:*", *role)?);
        }
        *self.tokens.lock().map_err(|_poisoned| "the tokens are lost")? = tokens;
        let mut command = Command::new(binary());
        command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(place).arg("--config").arg(file);
        let mut process = ServerProcess::start(&mut command, &place.join("log"))?;
        let at = process.printed(|line| line.strip_prefix("listening on http://")?.trim().parse().ok())?;
        Ok(Server { process, view: at, publish: at })
    }

    fn view_path(&self, conversation: u64) -> (String, Option<&'static str>) {
        Fanlight::Default.view_path(conversation)
    }

    fn subscribe(&self, conversation: u64) -> Vec<(u8, Vec<u8>)> {
        let role = self.joined.fetch_add(1, Ordering::Relaxed) % self.roles.len();
        let mut frames = Fanlight::Default.subscribe(conversation);
        if let Some((_, hello)) = frames.first_mut() {
            *hello = self.hello(role + 1);
        }
        frames
    }

    fn is_subscribed(&self) -> Option<fn(&[u8]) -> bool> {
        Fanlight::Default.is_subscribed()
    }

    fn open_publisher(&self, at: SocketAddr) -> Outcome<Socket> {
        let mut socket = Socket::open(at, "/v1/ws", Some("fanlight.v1"))?;
        socket.send(TEXT, &self.hello(0))?;
        socket.wait_for(|payload| memmem::find(payload, br#""t":"welcome""#).is_some())?;
        Ok(socket)
    }

    fn publishes_in_frames(&self) -> bool {
        true
    }

    fn publish(&self, event: &Event, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        Fanlight::Default.publish(event, scratch, out);
    }

    fn answer(&self, payload: &[u8], position: u64) -> Option<Vec<u8>> {
        Fanlight::Default.answer(payload, position)
    }

    fn coverage(&self, payload: &[u8]) -> Coverage {
        Fanlight::Default.coverage(payload)
    }

    fn complaint(&self, payload: &[u8]) -> bool {
        Fanlight::Default.complaint(payload)
    }
}
