//! Hubs that share a log in PostgreSQL, each a process of its own.

use std::os::unix::fs::PermissionsExt as _;

use event_log::{PostgresPlace, TestPostgresServer};
use serde_json::Value;
use tests::TestHub;
use tests::wait::within;

/// What hubs of one log show one another.
const SECRET: &str = "a secret of more than thirty-two bytes";

/// Hubs that share a log.
pub(super) struct Cluster {
    place: PostgresPlace,
    folder: tempfile::TempDir,
    pub(super) hubs: Vec<TestHub>,
}

impl Cluster {
    pub(super) async fn start(count: usize) -> Self {
        Self::start_with(count, &[]).await
    }

    pub(super) async fn start_with(count: usize, options: &[&str]) -> Self {
        Self::start_on(TestPostgresServer::shared(), count, options).await
    }

    /// The same with their log on `server`.
    pub(super) async fn start_on(server: &TestPostgresServer, count: usize, options: &[&str]) -> Self {
        let (place, folder) = (server.place(), tempfile::tempdir().unwrap());
        let mut cluster = Self { place, folder, hubs: Vec::new() };
        for _ in 0..count {
            let hub = cluster.another(SECRET, options).await;
            cluster.hubs.push(hub);
        }
        cluster
    }

    /// The log of all hubs, as `--log` takes it.
    pub(super) fn log(&self) -> &str {
        self.place.url()
    }

    /// The schema in which the log is.
    pub(super) fn schema(&self) -> &str {
        self.place.url().rsplit_once("%3D").expect("a place has a schema of its own").1
    }

    /// One more hub, with options of its own.
    pub(super) async fn one_more(&self, options: &[&str]) -> TestHub {
        self.another(SECRET, options).await
    }

    /// One more hub, with the secret `secret`.
    pub(super) async fn another(&self, secret: &str, options: &[&str]) -> TestHub {
        let file = self.folder.path().join("secret");
        std::fs::write(&file, secret).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let file = file.display().to_string();
        let shared =
            ["--log", self.place.url(), "--hub-address", "http://127.0.0.1:0", "--hub-secret-file", &file];
        TestHub::start_with(&[&shared[..], options].concat()).await
    }
}

pub(super) fn status(text: &str) -> String {
    format!(r#"{{"k":"status","text":"{text}","run":"r"}}"#)
}

/// The texts of the statuses in `conversation`, as the hub reads them back one by one.
pub(super) async fn statuses(hub: &TestHub, conversation: &str) -> Vec<String> {
    let path = format!("/v1/conversations/{conversation}/events?limit=10000");
    let page = hub.request("GET", &path).header("accept", "application/x-ndjson").send();
    let text = within(&path, async { page.await.unwrap().text().await.unwrap() }).await;
    let events = text.lines().map(|line| serde_json::from_str::<Value>(line).expect(line));
    let statuses = events.filter(|event| event["k"] == "status");
    statuses.map(|event| event["text"].as_str().unwrap().to_owned()).collect()
}
