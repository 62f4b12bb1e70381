//! A hub in a process of its own, on a port of its own; or several of them on one log, which are asked at random
//! (`FANLIGHT_TEST_LOG=postgres FANLIGHT_TEST_HUBS=3`).

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use event_log::TestPostgresServer;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::process::ChildProcess;
use crate::publisher::{StreamingBody, TestPublisher};
use crate::relay::SpreadingRelay;
use crate::viewer::TestViewer;
use crate::wait::{until, within};

mod several;
mod start;

use several::{hubs_for_one, shared_by};
pub use start::HubStart;

/// The variable that says where hubs keep their events whose test does not say it: `postgres`, else on disk.
const LOG: &str = "FANLIGHT_TEST_LOG";

/// A running hub, or several that stand for one. Killed when dropped.
#[derive(Debug)]
pub struct TestHub {
    /// The processes, one after the other started; one unless `FANLIGHT_TEST_HUBS` says more.
    children: Vec<Child>,
    /// The addresses that each of them listens on.
    each: Vec<SocketAddr>,
    /// What is in front of several.
    relay: Option<SpreadingRelay>,
    address: SocketAddr,
    client: reqwest::Client,
    /// The options of `fanlight serve`, beside the address.
    options: Vec<String>,
    /// The variables of its environment.
    variables: Vec<(String, String)>,
    /// The way in which its process is started.
    start: HubStart,
    /// Where it keeps what it keeps; goes with it.
    place: Option<tempfile::TempDir>,
}

/// The program under test: `FANLIGHT_BIN`, else the one that cargo built beside this test.
///
/// # Panics
/// When there is none.
pub fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("FANLIGHT_BIN") {
        return path.into();
    }
    let test = std::env::current_exe().expect("a test knows its own path");
    let folder = test.ancestors().nth(2).expect("tests run in target/PROFILE/deps");
    let path = folder.join("fanlight");
    assert!(path.exists(), "{} is missing: cargo build -p fanlight", path.display());
    path
}

/// Whether hubs keep their events in PostgreSQL whose test does not say where.
pub fn is_on_postgres() -> bool {
    std::env::var(LOG).is_ok_and(|kind| kind == "postgres")
}

impl TestHub {
    /// Starts a hub on any free port and waits until it says that it listens.
    pub async fn start() -> Self {
        Self::start_at("127.0.0.1:0").await
    }

    /// Starts a hub at `listen`.
    pub async fn start_at(listen: &str) -> Self {
        Self::start_at_with(listen, &[]).await
    }

    /// Starts a hub on any free port whose log is in PostgreSQL, in a place of its own.
    pub async fn start_on_postgres() -> Self {
        let place = TestPostgresServer::shared().place();
        Self::start_with(&["--log", place.url()]).await
    }

    /// Starts a hub on any free port that forgets everything when it ends.
    pub async fn start_in_memory() -> Self {
        Self::start_with(&["--log", "memory"]).await
    }

    /// Starts a hub on any free port with `options` of `fanlight serve`, which [`TestHub::restart`] keeps.
    pub async fn start_with(options: &[&str]) -> Self {
        Self::start_at_with("127.0.0.1:0", options).await
    }

    /// Starts a hub on any free port with a settings file of that text, in the hub's own directory; [`TestHub::restart`] keeps it.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub async fn start_with_settings(settings: &str) -> Self {
        let place = tempfile::tempdir().expect("a directory");
        let file = place.path().join("fanlight.toml");
        std::fs::write(&file, settings).expect("the settings are written");
        let options = ["--config", file.to_str().expect("a path of plain text")];
        Self::start_in(place, &[], "127.0.0.1:0", &options).await
    }

    /// Starts a hub at `listen` with `options` of `fanlight serve`, which [`TestHub::restart`] keeps. What it keeps is in a
    /// directory of its own.
    ///
    /// # Panics
    /// When there is no such directory to be had.
    pub async fn start_at_with(listen: &str, options: &[&str]) -> Self {
        Self::start_among(&[], listen, options).await
    }

    /// Starts a hub as [`TestHub::start_at_with`] does, with `variables` in its environment, which [`TestHub::restart`] keeps too.
    ///
    /// # Panics
    /// When there is no directory to be had.
    pub async fn start_among(variables: &[(&str, &str)], listen: &str, options: &[&str]) -> Self {
        let place = tempfile::tempdir().expect("a directory");
        Self::start_in(place, variables, listen, options).await
    }

    /// Starts a hub at `listen` in another way than as a plain child of the test. `options` say where it keeps what it keeps.
    pub async fn start_as(start: HubStart, listen: &str, options: Vec<String>) -> Self {
        Self::launch(start, listen, options, Vec::new()).await
    }

    /// Starts a hub that keeps what it keeps in `place`.
    async fn start_in(
        place: tempfile::TempDir,
        variables: &[(&str, &str)],
        listen: &str,
        options: &[&str],
    ) -> Self {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let directory = place.path().display().to_string();
        let mut all = vec![String::from("--data-dir"), directory];
        all.extend(options.iter().map(|option| (*option).to_owned()));
        let variables = variables.collect::<Vec<_>>();
        if options.contains(&"--log") || !is_on_postgres() {
            return Self {
                place: Some(place),
                ..Self::launch(HubStart::default(), listen, all, variables).await
            };
        }
        all.extend([String::from("--log"), TestPostgresServer::shared().place().url().to_owned()]);
        let count = hubs_for_one();
        if count < 2 || !listen.starts_with("127.0.0.1:") {
            return Self {
                place: Some(place),
                ..Self::launch(HubStart::default(), listen, all, variables).await
            };
        }
        all.extend(shared_by(&place));
        Self { place: Some(place), ..Self::launch_several(count, listen, &all, &variables).await }
    }

    /// Starts a hub and waits until it says that it listens.
    ///
    /// # Panics
    /// When it does not say so.
    async fn launch(
        start: HubStart,
        listen: &str,
        options: Vec<String>,
        variables: Vec<(String, String)>,
    ) -> Self {
        let mut child = start
            .command()
            .args(["serve", "--listen", listen])
            .args(&options)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program starts");
        let stdout = child.stdout.take().expect("it was asked for");
        let mut lines = BufReader::new(stdout).lines();
        let line = within("the hub's first line", lines.next_line()).await.expect("readable");
        let line = line.expect("the hub says where it listens");
        let (_, address) = line.split_once("://").expect("one line of that form");
        let address = address.parse().expect("an address");
        Self {
            children: vec![child],
            each: vec![address],
            relay: None,
            address,
            client: start.client(),
            options,
            variables,
            start,
            place: None,
        }
    }

    /// Where it keeps what it keeps.
    ///
    /// # Panics
    /// When it has no directory of its own.
    pub fn folder(&self) -> &Path {
        self.place.as_ref().expect("a directory").path()
    }

    /// Runs `fanlight token` with `arguments` on its directory; what it prints.
    ///
    /// # Panics
    /// When the program fails.
    pub async fn token(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(binary());
        command.arg("token").args(arguments).arg("--data-dir").arg(self.folder()).kill_on_drop(true);
        let ran = within("fanlight token", command.output()).await.expect("the program starts");
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).expect("text").trim_end().to_owned()
    }

    /// A token with these grants, once the hub knows it.
    pub async fn token_for(&self, name: &str, grants: &[&str]) -> String {
        let grants = grants.iter().flat_map(|grant| ["--grant", grant]);
        let arguments = ["create", "--name", name].into_iter().chain(grants).collect::<Vec<_>>();
        let token = self.token(&arguments).await;
        for url in self.each_url("/v1/access") {
            until("the hub to know the token", async || {
                let asked = self.client.get(&url).bearer_auth(&token).send().await.ok()?;
                asked.status().is_success().then_some(())
            })
            .await;
        }
        token
    }

    /// The address that the hub listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL of the hub with `path` added.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The base URL of each of the hubs that stand for this one, with `path` added.
    fn each_url(&self, path: &str) -> Vec<String> {
        self.each.iter().map(|address| format!("http://{address}{path}")).collect()
    }

    /// The process's number; of the first of several.
    ///
    /// # Panics
    /// When it is gone.
    pub fn pid(&self) -> u32 {
        self.children.first().and_then(Child::id).expect("it runs")
    }

    /// Kills it at once, as a crash would.
    ///
    /// # Panics
    /// When it cannot be killed.
    pub async fn kill(&mut self) {
        for child in &mut self.children {
            child.start_kill().expect("it can be killed");
        }
        for child in &mut self.children {
            child.wait().await.expect("it ends");
        }
    }

    /// Kills it and starts another one at the same address, with the same options.
    pub async fn restart(&mut self) {
        self.kill().await;
        self.start_again().await;
    }

    /// Starts another one in place of one that has ended.
    pub async fn start_again(&mut self) {
        let (options, place) = (std::mem::take(&mut self.options), self.place.take());
        let (variables, start) = (std::mem::take(&mut self.variables), std::mem::take(&mut self.start));
        let (each, relay) = (std::mem::take(&mut self.each), self.relay.take());
        let (address, client) = (self.address, self.client.clone());
        let mut children = Vec::new();
        for address in &each {
            let again =
                Self::launch(start.clone(), &address.to_string(), options.clone(), variables.clone()).await;
            children.extend(again.children);
        }
        *self = Self { children, each, relay, address, client, options, variables, start, place };
    }

    /// Asks it to stop and returns its exit code.
    ///
    /// # Panics
    /// When it does not stop.
    pub async fn stop(&mut self) -> Option<i32> {
        self.signal("TERM").await;
        self.ended().await
    }

    /// Waits until it says that it is ready.
    pub async fn ready(&self) {
        for url in self.each_url("/readyz") {
            until("the hub to be ready", async || {
                let said = self.client.get(&url).send().await.ok()?;
                said.status().is_success().then_some(())
            })
            .await;
        }
    }

    /// Waits until it ends by itself and returns its exit code.
    ///
    /// # Panics
    /// When it does not end.
    pub async fn ended(&mut self) -> Option<i32> {
        let mut codes = Vec::new();
        for child in &mut self.children {
            codes.push(within("the hub's end", child.wait()).await.expect("it ends").code());
        }
        // Of several the worst.
        codes.into_iter().max().expect("a hub")
    }

    /// How it has ended; nothing while it runs.
    ///
    /// # Panics
    /// When the system does not say.
    pub fn has_ended(&mut self) -> Option<std::process::ExitStatus> {
        self.children.first_mut().expect("a hub").try_wait().expect("a process of ours")
    }

    /// Sends it a signal, `STOP` for one.
    ///
    /// # Panics
    /// When it is gone.
    pub async fn signal(&self, name: &str) {
        let pids = self.children.iter().map(|child| child.id().expect("it runs").to_string());
        let sent = Command::new("kill").arg(format!("-{name}")).args(pids).status().await;
        assert!(sent.expect("kill runs").success());
    }

    /// A viewer of `conversation`, subscribed from the beginning.
    pub async fn view(&self, conversation: &str) -> TestViewer {
        TestViewer::connect(self.address, conversation).await
    }

    /// A publisher over WebSocket.
    pub async fn publisher(&self, conversation: &str) -> TestPublisher {
        TestPublisher::connect(self.address, conversation).await
    }

    /// A body that is ingested while it is still written.
    pub fn ingest(&self, dialect: &str, conversation: &str) -> StreamingBody {
        StreamingBody::post(&self.client, &self.url(&format!("/v1/ingest/{dialect}/{conversation}")), &[])
    }

    /// A body that is ingested while it is still written, with more headers of its request.
    pub fn ingest_with(&self, dialect: &str, conversation: &str, headers: &[(&str, &str)]) -> StreamingBody {
        StreamingBody::post(&self.client, &self.url(&format!("/v1/ingest/{dialect}/{conversation}")), headers)
    }

    /// A terminal that watches `conversation` until its run ends; `options` are more of `fanlight tail`'s.
    ///
    /// # Panics
    /// When the program does not start.
    pub fn tail(&self, conversation: &str, options: &[&str]) -> Child {
        Command::new(binary())
            .args(["tail", conversation, "--until", "run.end", "--url", &self.url("")])
            .args(options)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program starts")
    }

    /// Publishes the recording `file` into `conversation` with `fanlight replay`, `speed` times as fast as it was.
    ///
    /// # Panics
    /// When the program fails.
    pub async fn replay(&self, file: &Path, dialect: &str, conversation: &str, speed: &str) {
        let replay = Command::new(binary())
            .arg("replay")
            .arg(file)
            .args(["--dialect", dialect, "--conversation", conversation, "--speed", speed])
            .args(["--url", &self.url("")])
            .kill_on_drop(true)
            .output();
        let replayed = within("the replay", replay).await.expect("the program starts");
        assert!(replayed.status.success(), "{}: {replayed:?}", file.display());
    }

    /// A request that can be given headers before it is sent.
    pub fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method.parse().expect("a method"), self.url(path))
    }

    /// The JSON at `path`.
    ///
    /// # Panics
    /// When the answer is not JSON.
    pub async fn json(&self, path: &str) -> Value {
        let answer = within(path, self.request("GET", path).send()).await.expect("the hub answers");
        answer.json().await.expect("JSON")
    }

    /// Waits until the JSON at `path` is as `wanted`.
    pub async fn json_until(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        until(path, async || {
            let answer = self.request("GET", path).send().await.ok()?;
            answer.json().await.ok().filter(|json| wanted(json))
        })
        .await
    }

    /// How many watch `conversation`, as the list has it; 0 when it is not in the list.
    ///
    /// # Panics
    /// When the answer is not a list.
    pub async fn viewers(&self, conversation: &str) -> u64 {
        let list = self.json("/v1/conversations").await;
        let rows = list.get("conversations").and_then(Value::as_array).expect("a list");
        let row = rows.iter().find(|row| row.get("conversation").is_some_and(|name| name == conversation));
        row.and_then(|row| row.get("viewers")?.as_u64()).unwrap_or(0)
    }

    /// What the system says of its process.
    ///
    /// # Panics
    /// When it is gone.
    pub fn process(&self) -> ChildProcess {
        ChildProcess::of(self.pid())
    }

    /// The number that `/metrics` calls `fanlight_NAME`; of several hubs the sum.
    ///
    /// # Panics
    /// When there is none of that name.
    pub async fn number(&self, name: &str) -> u64 {
        let mut sum = 0;
        for url in self.each_url("/metrics") {
            // Over a connection of its own, which ends with it: one that rests in a pool would be counted.
            let answer = within("/metrics", reqwest::get(url)).await.expect("the hub answers");
            let page = answer.text().await.expect("text");
            let line = page.lines().find_map(|line| line.strip_prefix(&format!("fanlight_{name} ")));
            let number: Option<u64> = line.and_then(|number| number.parse().ok());
            sum += number.unwrap_or_else(|| panic!("no {name}: {page}"));
        }
        sum
    }

    /// The short form of a conversation's view.
    pub async fn summary(&self, conversation: &str) -> Value {
        self.json(&format!("/v1/conversations/{conversation}?summary")).await
    }

    /// The hash of the hub's own snapshot of a conversation.
    ///
    /// # Panics
    /// When the snapshot does not parse.
    pub async fn view_hash(&self, conversation: &str) -> String {
        let path = format!("/v1/conversations/{conversation}");
        let answer = within(&path, self.request("GET", &path).send()).await.expect("the hub answers");
        let bytes = answer.bytes().await.expect("a body");
        let view = model::snapshot::decode(&bytes);
        let view =
            view.unwrap_or_else(|error| panic!("no view: {error}: {}", String::from_utf8_lossy(&bytes)));
        model::snapshot::hash(&view)
    }
}
