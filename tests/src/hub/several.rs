//! Several hubs on one log that stand for one.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use super::{HubStart, TestHub};
use crate::relay::SpreadingRelay;

/// The variable that says how many hubs stand for one whose log is in PostgreSQL because of `FANLIGHT_TEST_LOG`: each connection goes to one of
/// them.
const HUBS: &str = "FANLIGHT_TEST_HUBS";

/// The variable with the seed of the chance by which connections go to hubs; a random one without it.
const SEED: &str = "FANLIGHT_TEST_SEED";

/// How many hubs stand for one whose log is in PostgreSQL.
pub(super) fn hubs_for_one() -> usize {
    std::env::var(HUBS).ok().and_then(|count| count.parse().ok()).unwrap_or(1)
}

/// The options by which hubs find one another that keep what they keep in `place`.
pub(super) fn shared_by(place: &tempfile::TempDir) -> [String; 4] {
    let file = place.path().join("hub.secret");
    std::fs::write(&file, "a secret of more than thirty-two bytes").expect("a file");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("its rights");
    let [address, secret] = ["--hub-address", "--hub-secret-file"].map(String::from);
    [address, String::from("http://127.0.0.1:0"), secret, file.display().to_string()]
}

impl TestHub {
    /// Starts `count` hubs with the same options behind a relay at `listen`.
    pub(super) async fn launch_several(
        count: usize,
        listen: &str,
        options: &[String],
        variables: &[(String, String)],
    ) -> Self {
        let mut hub =
            Self::launch(HubStart::default(), "127.0.0.1:0", options.to_vec(), variables.to_vec()).await;
        for _ in 1..count {
            let mut another =
                Self::launch(HubStart::default(), "127.0.0.1:0", options.to_vec(), variables.to_vec()).await;
            hub.children.append(&mut another.children);
            hub.each.append(&mut another.each);
        }
        let seed = std::env::var(SEED)
            .ok()
            .and_then(|seed| seed.parse().ok())
            .unwrap_or_else(event_log::clock::random);
        // Whoever reads may have gone.
        drop(writeln!(std::io::stderr(), "{count} hubs stand for one, asked at random: {SEED}={seed}"));
        let relay = SpreadingRelay::start(listen, hub.each.clone(), seed).await;
        // Each request goes to another hub, so none has a connection that another one used.
        let client = reqwest::Client::builder().pool_max_idle_per_host(0).build().expect("a client");
        Self { address: relay.address(), relay: Some(relay), client, ..hub }
    }
}
