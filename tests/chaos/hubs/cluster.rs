//! Three hubs and two databases, each on a machine of its own.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use model::{View, snapshot};
use tests::hub::binary;
use tests::wait::{load_for, patiently, patiently_until, within};
use tests::{HubStart, TestHub, TestMachine, TestNetwork};

use super::databases::DatabaseServer;

/// The port of each hub, on its own machine.
const PORT: u16 = 4600;

/// How many hubs there are.
pub(super) const HUBS: usize = 3;

/// What the hubs know one another by.
const SECRET: &str = "a secret of more than thirty-two bytes";

/// How long a hub may take to say that it is ready, before it is asked again.
const LOOK: Duration = Duration::from_secs(2);

/// Between two looks at a hub that comes to itself.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A hub and its machine.
#[derive(Debug)]
pub(super) struct HubMachine {
    pub(super) hub: TestHub,
    machine: TestMachine,
}

impl HubMachine {
    pub(super) fn address(&self) -> Ipv4Addr {
        self.machine.address()
    }
}

/// All machines. Dropping it ends the hubs, then the databases.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) hubs: Vec<HubMachine>,
    pub(super) databases: [DatabaseServer; 2],
    /// Which of the two takes writes.
    pub(super) primary: usize,
    pub(super) network: TestNetwork,
    /// What everybody comes with.
    pub(super) token: String,
    /// How often a hub ended because another one had taken over.
    pub(super) overtaken: u64,
    /// Holds what is on no machine's disk. Kept when the test fails.
    folder: tempfile::TempDir,
}

impl Cluster {
    /// Starts a primary, a synchronous standby and three hubs.
    pub(super) async fn start() -> Self {
        let network = TestNetwork::new();
        let folder = tempfile::Builder::new().prefix("fanlight-chaos").tempdir().unwrap();
        // The databases run as another user, and have a folder of their own in it.
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o711)).unwrap();
        let [mut one, mut two] =
            ["one", "two"].map(|name| DatabaseServer::new(&network, folder.path(), name));
        one.make();
        two.follow(&one);
        let machines: Vec<TestMachine> = (0..HUBS).map(|_| network.machine()).collect();
        let token = prepare(folder.path(), &network, &machines);
        let mut cluster = Self {
            hubs: Vec::new(),
            databases: [one, two],
            primary: 0,
            network,
            token,
            overtaken: 0,
            folder,
        };
        cluster.until_followed().await;
        for (number, machine) in machines.into_iter().enumerate() {
            let hub = cluster.start_hub(number, &machine).await;
            hub.ready().await;
            cluster.hubs.push(HubMachine { hub, machine });
        }
        cluster
    }

    async fn start_hub(&self, number: usize, machine: &TestMachine) -> TestHub {
        let [one, two] = self.databases.each_ref().map(DatabaseServer::address);
        let listen = format!("{}:{PORT}", machine.address());
        let at = |name: &str| self.folder.path().join(name).display().to_string();
        let start = HubStart {
            through: machine.enter(None, "KILL"),
            token: Some(self.token.clone()),
            trace: Some(self.folder.path().join(format!("hub{number}.log"))),
        };
        let options = [
            ("--log", format!("postgres://fanlight@{one},{two}/postgres?sslmode=disable")),
            ("--hub-address", format!("http://{listen}")),
            ("--hub-secret-file", at("secret")),
            ("--config", at("fanlight.toml")),
            ("--data-dir", at(&format!("hub{number}"))),
            ("--trace", String::from("info")),
        ];
        let options = options.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect();
        TestHub::start_as(start, &listen, options).await
    }

    /// Where the hubs listen.
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        self.hubs.iter().map(|node| node.hub.address()).collect()
    }

    pub(super) fn primary(&self) -> &DatabaseServer {
        &self.databases[self.primary]
    }

    pub(super) fn standby(&self) -> &DatabaseServer {
        &self.databases[1 - self.primary]
    }

    /// Both databases, the primary first.
    pub(super) fn both(&mut self) -> (&mut DatabaseServer, &mut DatabaseServer) {
        let [one, two] = &mut self.databases;
        if self.primary == 0 { (one, two) } else { (two, one) }
    }

    /// Waits until commits reach the standby.
    pub(super) async fn until_followed(&self) {
        patiently_until("a standby that has each commit", async || {
            self.primary().is_followed().then_some(())
        })
        .await;
    }

    /// The hub that has most conversations, as the database knows.
    pub(super) fn busiest(&self) -> usize {
        let most = "SELECT l.address FROM owner o JOIN life l ON l.number = o.life WHERE NOT l.over \
                    GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1";
        let address = self.primary().ask(most).unwrap_or_default();
        self.hubs.iter().position(|node| address.contains(&node.address().to_string())).unwrap_or(0)
    }

    /// Waits until each hub serves again. One that another has overtaken ends by itself, and is started again.
    pub(super) async fn settle(&mut self) {
        for number in 0..self.hubs.len() {
            self.settle_hub(number).await;
        }
    }

    /// The same for one hub. What it was told while it could not speak comes first: either its life goes on, or it ends.
    async fn settle_hub(&mut self, number: usize) {
        let primary = &self.databases[self.primary];
        let node = &mut self.hubs[number];
        let address = format!("http://{}", node.hub.address());
        let alive = format!(
            "SELECT NOT over AND expires_at > clock_timestamp() FROM life WHERE address = '{address}' ORDER BY number DESC LIMIT 1"
        );
        let ended = patiently("a hub to go on, or to end", async {
            loop {
                if let Some(ended) = node.hub.has_ended() {
                    return Some(ended);
                }
                let said = node.hub.request("GET", "/readyz").timeout(LOOK).send().await;
                if said.is_ok_and(|said| said.status().is_success())
                    && primary.ask(&alive).as_deref() == Some("t")
                {
                    return None;
                }
                load_for(LOOK_AGAIN).await;
            }
        })
        .await;
        if let Some(ended) = ended {
            assert_eq!(ended.code(), Some(1), "{address}: only one that was overtaken ends");
            self.overtaken += 1;
            node.hub.start_again().await;
            node.hub.ready().await;
        }
    }

    /// A conversation as hub `number` has it, once it has it.
    pub(super) async fn view(&self, number: usize, conversation: &str) -> View {
        let path = format!("/v1/conversations/{conversation}");
        let hub = &self.hubs[number].hub;
        let bytes = patiently_until(&path, async || {
            let answer = within(&path, hub.request("GET", &path).send()).await.ok()?;
            let answer = answer.error_for_status().ok()?;
            answer.bytes().await.ok()
        })
        .await;
        snapshot::decode(&bytes).unwrap()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.folder.disable_cleanup(true);
            println!("hubs: what they and the databases said is in {}", self.folder.path().display());
        }
    }
}

/// Writes what the hubs are started with: the secret, the settings, and for each a directory with the same token, which is returned.
fn prepare(folder: &Path, network: &TestNetwork, machines: &[TestMachine]) -> String {
    let secret = folder.join("secret");
    std::fs::write(&secret, SECRET).unwrap();
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
    // Hubs speak plain HTTP with one another, and so does the test.
    let plain = machines.iter().map(TestMachine::address).chain([network.here()]);
    let plain: Vec<String> = plain.map(|address| format!("\"{address}\"")).collect();
    let settings = format!(
        "[access]\nproxies = [{}]\n[access.limits]\nsockets_per_principal = 10000\npublishes_per_second = 100000\n",
        plain.join(", ")
    );
    std::fs::write(folder.join("fanlight.toml"), settings).unwrap();
    let first = folder.join("hub0");
    let mut command = Command::new(binary());
    command.args(["token", "create", "--name", "chaos", "--grant", "publish,view:*", "--data-dir"]);
    let ran = command.arg(&first).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    for number in 1..machines.len() {
        let other = folder.join(format!("hub{number}"));
        std::fs::create_dir_all(&other).unwrap();
        std::fs::copy(first.join("tokens.json"), other.join("tokens.json")).unwrap();
    }
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}
