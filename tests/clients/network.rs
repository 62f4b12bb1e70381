//! A second machine, as a network namespace: it reaches the hub over a network alone, logs in and watches over TLS.
//!
//! ```text
//! this namespace: hub at 198.18.0.1 ── veth ── 198.18.0.2: the watcher, in a namespace that has nothing else
//! ```
//!
//! It needs root and `ip` of Debian's iproute2; without them the test fails and says so.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

use tests::TestHub;
use tests::installed;
use tests::wait::patiently;

/// The name in the certificate of the hub. No name server knows it.
const NAME: &str = "hub.test";

/// The beginning of the names of namespaces; the number of the process follows.
const BEGIN: &str = "fanlight-";

/// A namespace with one end of a pair of interfaces, the other end of which is here. Dropping it removes both, also when
/// the test fails; what a process left that was killed is removed by the next one.
struct Namespace {
    name: String,
    /// The address of this end.
    here: String,
    /// The address of the end in the namespace.
    there: String,
}

/// What `ip` prints with `arguments`.
///
/// # Panics
/// With what lacks when it fails.
fn ip(arguments: &str) -> String {
    let ran = Command::new("ip").args(arguments.split(' ')).output();
    let need =
        "a second machine is a network namespace: that needs root, and `ip` (apt-get install -y iproute2)";
    let ran = ran.unwrap_or_else(|error| panic!("{need}; ip does not start: {error}"));
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{need}; ip {arguments}: {said}");
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// Removes the namespaces of processes that are gone.
fn remove_abandoned() {
    for name in ip("netns list").lines().filter_map(|line| line.split(' ').next()) {
        let Some(number) = name.strip_prefix(BEGIN) else { continue };
        if !Path::new("/proc").join(number).exists() {
            // Another process may have removed it first.
            drop(Command::new("ip").args(["netns", "delete", name]).output());
        }
    }
}

impl Namespace {
    /// Makes one. Names and addresses are of this process, in the network that RFC 2544 keeps for tests.
    fn new() -> Self {
        remove_abandoned();
        let number = std::process::id();
        let (name, link) = (format!("{BEGIN}{number}"), format!("fl{number}"));
        // One of the 32,768 networks of four addresses.
        let network = u32::from(Ipv4Addr::new(198, 18, 0, 0)) + number % 0x8000 * 4;
        let address = |nth: u32| Ipv4Addr::from_bits(network + nth).to_string();
        let made = Self { here: address(1), there: address(2), name };
        let name = &made.name;
        ip(&format!("netns add {name}"));
        ip(&format!("link add {link} type veth peer name far netns {name}"));
        ip(&format!("address add {}/30 dev {link}", made.here));
        ip(&format!("link set {link} up"));
        ip(&format!("-n {name} address add {}/30 dev far", made.there));
        ip(&format!("-n {name} link set far up"));
        made
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // The pair of interfaces goes with the namespace. Nothing can be done where it does not.
        drop(Command::new("ip").args(["netns", "delete", &self.name]).output());
    }
}

/// A certificate for [`NAME`] and its key, as files in `folder`.
fn certificate(folder: &Path) -> (String, String) {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new([NAME.to_owned()]).unwrap().self_signed(&key).unwrap();
    let (cert, private) = (folder.join("cert.pem"), folder.join("key.pem"));
    std::fs::write(&cert, certificate.pem()).unwrap();
    std::fs::write(&private, key.serialize_pem()).unwrap();
    (cert.display().to_string(), private.display().to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_machine_logs_in_and_watches_over_tls() {
    let namespace = Namespace::new();
    let place = tempfile::tempdir().unwrap();
    let (cert, key) = certificate(place.path());
    let options = ["--access", "tokens", "--tls-cert", &cert, "--tls-key", &key, "--host", NAME];
    // Tokens that are there before the hub is known to it from its first moment.
    let mut hub = TestHub::start_at_with(&format!("{}:0", namespace.here), &options).await;
    let ann = hub.token(&["create", "--name", "ann", "--grant", "view:*"]).await;
    let bot = hub.token(&["create", "--name", "bot", "--grant", "publish:*"]).await;
    hub.restart().await;
    let port = hub.address().port().to_string();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/agents/over_network.py");
    let mut far = tokio::process::Command::new("ip");
    far.args(["netns", "exec", &namespace.name]).arg(installed::python_program()).arg(program);
    far.args([&namespace.here, &port, NAME, &cert, &ann, &bot]).kill_on_drop(true);
    let done = patiently("the second machine", far.output()).await.unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stderr));
    let lines = [
        "unknown certificate refused",
        "other name refused",
        "plain False",
        "unknown 401",
        "no token 4401",
        "wrong token 4401",
        "login 303 True",
        "published 200",
        "watched",
    ];
    assert_eq!(said.lines().collect::<Vec<_>>(), lines);
    let audit = std::fs::read_to_string(hub.folder().join("audit.jsonl")).unwrap();
    let login = audit.lines().find(|line| line.contains("\"log_in\"") && line.contains("\"ann\""));
    assert!(login.is_some_and(|login| login.contains(&namespace.there)), "it came over the network: {audit}");
}
