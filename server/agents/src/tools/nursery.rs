//! Starts the programs of tool servers. They die with the hub, however it dies: the hub is asked for that by the system, on
//! Linux, which tells a program when the *thread* that started it is gone. So one thread starts them all and stays.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::sync::{OnceLock, mpsc};

use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// The thread that starts programs.
static STARTER: OnceLock<mpsc::Sender<Order>> = OnceLock::new();

/// What programs are told of the hub's environment: the rest may hold keys that are not for them.
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

/// A program to be started.
struct Order {
    command: Command,
    runtime: Handle,
    done: oneshot::Sender<std::io::Result<Child>>,
}

/// Starts a program. What it says on stderr is in the hub's own.
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
    // A Ctrl-C in the terminal is for the hub, which ends it in its turn.
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

fn starter() -> mpsc::Sender<Order> {
    let (orders, taken) = mpsc::channel::<Order>();
    let thread = std::thread::Builder::new().name(String::from("tool-servers"));
    let begun = thread.spawn(move || {
        for Order { mut command, runtime, done } in taken {
            let _inside = runtime.enter();
            // Who asked may have given up; then the program ends here.
            drop(done.send(command.spawn()));
        }
    });
    if let Err(error) = begun {
        tracing::error!(%error, "no thread for the programs of tools");
    }
    orders
}
