//! Starts the programs of tool servers. They end with the hub, even if it crashes: on Linux the system is
//! asked for that, and it tells a program when the *thread* that started it ends. So one thread starts them
//! all and never ends.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::sync::{OnceLock, mpsc};

use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// The thread that starts programs.
static STARTER: OnceLock<mpsc::Sender<Order>> = OnceLock::new();

/// Variables of the hub's environment that programs get. The others may contain keys that are not for them.
const TOLD: [&str; 12] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "PATH",
    "SHELL",
    "SYSTEMROOT",
    "TEMP",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
];

/// A program to be started, and where to send the result.
struct Order {
    /// The program with its arguments, environment and pipes.
    command: Command,
    /// The runtime that waits for the program.
    runtime: Handle,
    /// Gets the started program.
    done: oneshot::Sender<std::io::Result<Child>>,
}

/// Starts a program. Its stderr is the hub's. It gets a few variables of the hub's environment and those in
/// `env`, and ends when the returned value is dropped. The error says in words why it could not be started.
pub(super) async fn start(
    launcher: &[OsString],
    words: &[String],
    env: &[(String, String)],
    directory: Option<&Path>,
) -> Result<Child, String> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(String::from("it has no command"));
    };
    let mut command = match launcher.split_first() {
        None => Command::new(program),
        Some((launcher, before)) => {
            let mut command = Command::new(launcher);
            command.args(before).arg(std::process::id().to_string()).arg(program);
            command
        }
    };
    let told = TOLD.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    command.args(arguments).env_clear().envs(told).envs(env.iter().map(|(name, value)| (name, value)));
    if let Some(directory) = directory {
        command.current_dir(directory);
    }
    // A Ctrl-C in the terminal is for the hub, which then ends the program.
    #[cfg(unix)]
    command.process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).kill_on_drop(true);
    let (done, started) = oneshot::channel();
    let order = Order { command, runtime: Handle::current(), done };
    let sent = STARTER.get_or_init(starter).send(order);
    let gone = || String::from("programs cannot be started");
    sent.map_err(|_order| gone())?;
    let started = started.await.map_err(|_dropped| gone())?;
    started.map_err(|error| format!("{program} cannot be started: {error}"))
}

/// Starts the thread that starts programs, and returns the sender of its orders.
fn starter() -> mpsc::Sender<Order> {
    let (orders, taken) = mpsc::channel::<Order>();
    let thread = std::thread::Builder::new().name(String::from("tool-servers"));
    let begun = thread.spawn(move || {
        for Order { mut command, runtime, done } in taken {
            let _inside = runtime.enter();
            // If nobody waits for the program any more, dropping it ends it.
            drop(done.send(command.spawn()));
        }
    });
    if let Err(error) = begun {
        tracing::error!(%error, "no thread for the programs of tools");
    }
    orders
}
