//! Machines of a test: each is a network namespace of its own, and a router in another one joins them with each other and with the
//! test.
//!
//! ```text
//! test ── veth ── router ── veth ── machine 1        a pair of machines is cut by two rules of the router, which
//!                   └────── veth ── machine 2        drop what goes between them without a word
//! ```
//!
//! A namespace has no name: it lives as long as a process in it, and each begins with one that waits for the end of the test. So nothing is
//! left behind, whatever way the test ends, `kill -9` included.
//!
//! It needs root and `ip` of Debian's iproute2; without them the test fails and says so.

use std::cell::Cell;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// What a test lacks that cannot make machines.
const NEED: &str =
    "a second machine is a network namespace: that needs root, and `ip` (apt-get install -y iproute2)";

/// The network that RFC 2544 keeps for tests has room for so many networks of a test.
const NETWORKS: u32 = 2_048;

/// Addresses of the network of a test: sixteen links of four.
const ADDRESSES: u32 = 64;

/// What waits in each namespace: a shell that does the first steps, says so, and stays until its input ends.
const WAIT: &str = "ip link set lo up && eval \"$1\" && echo ready && exec cat";

/// The machines of a test and the router between them. Dropping it ends the router; machines are cut off then.
#[derive(Debug)]
pub struct TestNetwork {
    router: Namespace,
    /// The test's end of its link to the router.
    link: String,
    /// The first address of the network.
    first: u32,
    /// Links so far; the first is that of the test.
    links: Cell<u32>,
}

/// A machine: a network namespace and a mount namespace. Dropping it ends the process that waits in it; those that were started
/// there must have ended before, or they keep it.
#[derive(Debug)]
pub struct TestMachine {
    namespace: Namespace,
    address: Ipv4Addr,
    /// The disk of its own, where it has one.
    disk: Option<PathBuf>,
}

/// Namespaces with a process that waits in them. Dropping it ends that process.
#[derive(Debug)]
struct Namespace {
    waiting: Child,
}

/// Runs a program and waits for its end.
///
/// # Panics
/// With what it says when it fails.
fn run(command: &[&str]) -> String {
    let (program, arguments) = command.split_first().expect("a program");
    let ran = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let ran = ran.unwrap_or_else(|error| panic!("{NEED}; {program} does not start: {error}"));
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{NEED}; {}: {said}", command.join(" "));
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

impl Namespace {
    /// Makes namespaces and does `first` in them, a line for a shell.
    ///
    /// # Panics
    /// When they cannot be made.
    fn new(first: &str) -> Self {
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "--", "setpriv", "--pdeathsig", "KILL", "--"]);
        command.args(["sh", "-c", WAIT, "sh", first]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let waiting =
            command.spawn().unwrap_or_else(|error| panic!("{NEED}; unshare does not start: {error}"));
        let mut made = Self { waiting };
        let mut line = String::new();
        let read = made.waiting.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
        if line != "ready\n" {
            let mut said = String::new();
            drop(made.waiting.stderr.take().map(|mut error| error.read_to_string(&mut said)));
            panic!("{NEED}; {first}: {said}{read:?}");
        }
        made
    }

    fn pid(&self) -> String {
        self.waiting.id().to_string()
    }

    /// Runs `ip` with `arguments`.
    fn ip(&self, arguments: &str) -> String {
        let pid = self.pid();
        let enter = ["nsenter", "--target", &pid, "--net", "--", "ip"];
        run(&enter.into_iter().chain(arguments.split(' ')).collect::<Vec<_>>())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // One that is gone needs no end.
        drop(self.waiting.kill());
        drop(self.waiting.wait());
    }
}

impl Default for TestNetwork {
    fn default() -> Self {
        Self::new()
    }
}

impl TestNetwork {
    /// Makes a router and the link between it and this process. Addresses are of this process, in the network that RFC 2544
    /// keeps for tests.
    ///
    /// # Panics
    /// When the system does not allow it.
    pub fn new() -> Self {
        static NETWORKS_MADE: AtomicU32 = AtomicU32::new(0);

        let (pid, nth) = (std::process::id(), NETWORKS_MADE.fetch_add(1, Ordering::Relaxed));
        let router = Namespace::new("echo 1 > /proc/sys/net/ipv4/ip_forward");
        let first =
            u32::from(Ipv4Addr::new(198, 18, 0, 0)) + pid.wrapping_add(nth * 31) % NETWORKS * ADDRESSES;
        let link = format!("fl{pid}x{nth}");
        run(&["ip", "link", "add", &link, "type", "veth", "peer", "name", "m0", "netns", &router.pid()]);
        let made = Self { router, link, first, links: Cell::new(1) };
        let (ours, theirs) = (made.address(0, 2), made.address(0, 1));
        run(&["ip", "address", "add", &format!("{ours}/30"), "dev", &made.link]);
        run(&["ip", "link", "set", &made.link, "up"]);
        made.router.ip(&format!("address add {theirs}/30 dev m0"));
        made.router.ip("link set m0 up");
        let all = format!("{}/26", Ipv4Addr::from_bits(first));
        run(&["ip", "route", "add", &all, "via", &theirs.to_string(), "dev", &made.link]);
        made
    }

    /// An address of a link: 1 is the router's end, 2 the other one.
    fn address(&self, link: u32, end: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.first + link * 4 + end)
    }

    /// The address under which machines reach this process.
    pub fn here(&self) -> Ipv4Addr {
        self.address(0, 2)
    }

    /// One more machine.
    ///
    /// # Panics
    /// When the system does not allow it, or the network has no room for it.
    pub fn machine(&self) -> TestMachine {
        self.join(Namespace::new("true"), None)
    }

    /// One more machine with a disk of its own of `kilobytes`, in memory, at the folder `disk`. It belongs to `user`, and goes
    /// with the machine.
    ///
    /// # Panics
    /// As [`TestNetwork::machine`].
    pub fn machine_with_disk(&self, disk: &Path, kilobytes: u64, user: &str) -> TestMachine {
        std::fs::create_dir_all(disk).expect("a folder");
        let at = disk.display();
        let first =
            format!("mount -t tmpfs -o size={kilobytes}k,mode=700 disk '{at}' && chown {user}: '{at}'");
        self.join(Namespace::new(&first), Some(disk.to_owned()))
    }

    /// Joins a machine to the router.
    fn join(&self, namespace: Namespace, disk: Option<PathBuf>) -> TestMachine {
        let number = self.links.replace(self.links.get() + 1);
        assert!(number < ADDRESSES / 4, "the network has no room for more machines");
        let (address, router) = (self.address(number, 2), self.address(number, 1));
        self.router.ip(&format!("link add m{number} type veth peer name net netns {}", namespace.pid()));
        self.router.ip(&format!("address add {router}/30 dev m{number}"));
        self.router.ip(&format!("link set m{number} up"));
        namespace.ip(&format!("address add {address}/30 dev net"));
        namespace.ip("link set net up");
        namespace.ip(&format!("route add default via {router}"));
        TestMachine { namespace, address, disk }
    }

    /// Drops what goes between a machine and each of the others from now on, in both directions.
    ///
    /// # Panics
    /// When the router does not take the rules.
    pub fn cut(&self, one: Ipv4Addr, others: &[Ipv4Addr]) {
        self.rules("add", one, others);
    }

    /// Lets pass again what [`TestNetwork::cut`] drops.
    ///
    /// # Panics
    /// When they were not cut.
    pub fn mend(&self, one: Ipv4Addr, others: &[Ipv4Addr]) {
        self.rules("del", one, others);
    }

    /// Adds or deletes the rules that drop what goes between these machines.
    fn rules(&self, change: &str, one: Ipv4Addr, others: &[Ipv4Addr]) {
        for other in others {
            self.router.ip(&format!("rule {change} from {one} to {other} blackhole"));
            self.router.ip(&format!("rule {change} from {other} to {one} blackhole"));
        }
    }
}

impl Drop for TestNetwork {
    fn drop(&mut self) {
        // It would go with the router too, a moment later. Nothing can be done where it does not.
        drop(Command::new("ip").args(["link", "delete", &self.link]).output());
    }
}

impl TestMachine {
    /// The address under which other machines and this process reach it.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// The beginning of a command line that runs a program there, which the kernel ends by `end_signal` when the thread that
    /// starts it ends. As `user` where one is named.
    pub fn enter(&self, user: Option<&str>, end_signal: &str) -> Vec<String> {
        let pid = self.namespace.pid();
        let mut words = vec!["nsenter", "--target", &pid, "--net", "--mount", "--", "setpriv"];
        let (as_user, of_group) =
            (user.map(|user| format!("--reuid={user}")), user.map(|user| format!("--regid={user}")));
        if let (Some(user), Some(group)) = (&as_user, &of_group) {
            words.extend([user, group, "--clear-groups"]);
        }
        words.extend(["--pdeathsig", end_signal, "--"]);
        words.into_iter().map(str::to_owned).collect()
    }

    /// Runs a line of a shell there and waits for its end. What it prints.
    ///
    /// # Panics
    /// When it fails.
    pub fn shell(&self, line: &str) -> String {
        let enter = self.enter(None, "KILL");
        let words = enter.iter().map(String::as_str).chain(["sh", "-c", line]);
        run(&words.collect::<Vec<_>>())
    }

    /// A file of its disk as this process reaches it. It holds as long as the machine does.
    pub fn file(&self, path: &Path) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.namespace.pid()));
        root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Makes its disk so large, in kilobytes. Whether that went well: what is on it must fit.
    ///
    /// # Panics
    /// When it has none.
    pub fn try_resize_disk(&self, kilobytes: u64) -> bool {
        let disk = self.disk.as_ref().expect("it has a disk").display();
        self.shell(&format!("mount -o remount,size={kilobytes}k '{disk}' 2> /dev/null && echo done || true"))
            .starts_with("done")
    }

    /// How many kilobytes of its disk are in use.
    ///
    /// # Panics
    /// When it has none.
    pub fn disk_used(&self) -> u64 {
        let disk = self.disk.as_ref().expect("it has a disk").display();
        let said = self.shell(&format!("df -k --output=used '{disk}' | tail -1"));
        said.trim().parse().expect("a number")
    }
}
