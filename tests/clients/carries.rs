//! The project's own packages: their examples publish and watch while the network is cut and the hub dies, and nothing is
//! lost, doubled or out of order; their own tests and checks hold.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;
use tests::wait::patiently;
use tests::{Hub, Relay};
use tokio::process::{Child, Command};

use crate::installed;

/// How many steps the publishing example takes; with its pauses that is some seconds, room for a cut and a death.
const STEPS: u64 = 800;

/// Events around the steps: start and end of the run and of its text.
const AROUND: u64 = 4;

/// The folder of the package for `language`.
pub(crate) fn package(language: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../integrations")).join(language)
}

/// A program that finds the package and knows the hub.
pub(crate) fn told(mut command: Command, url: &str) -> Command {
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.env("PYTHONPATH", package("python").join("src")).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("FANLIGHT_URL", url).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn python_example(name: &str, url: &str) -> Command {
    let mut command = told(installed::python(), url);
    command.arg(package("python").join("examples").join(name));
    command
}

/// What a program has printed, once it has ended well.
pub(crate) async fn printed(what: &str, program: Child) -> String {
    let Output { status, stdout, stderr } = patiently(what, program.wait_with_output()).await.unwrap();
    let (said, complained) = (String::from_utf8(stdout).unwrap(), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{what}: {status}\n{said}\n{complained}");
    said
}

async fn has(hub: &Hub, seq: u64) {
    let is_there = |list: &Value| list["conversations"][0]["head"].as_u64().is_some_and(|head| head >= seq);
    hub.json_until("/v1/conversations", is_there).await;
}

/// Runs the two examples while the network is cut and the hub is killed.
async fn carry(publishing: impl Fn(&str) -> Command, watching: impl Fn(&str) -> Command) {
    let mut hub = Hub::start().await;
    let relay = Relay::open_to(hub.address()).await;
    let url = format!("http://{}", relay.address());
    let watcher = watching(&url).arg("story").spawn().unwrap();
    let mut publisher = publishing(&url).args(["story", &STEPS.to_string()]).spawn().unwrap();
    has(&hub, STEPS / 4).await;
    relay.cut();
    has(&hub, STEPS / 2).await;
    assert!(publisher.try_wait().unwrap().is_none(), "the example was over before the hub died");
    hub.restart().await;
    printed("the publisher", publisher).await;
    let seen = printed("the watcher", watcher).await;

    let steps: Vec<String> = (1..=STEPS).map(|step| step.to_string()).collect();
    assert_eq!(seen.split_whitespace().collect::<Vec<_>>(), steps, "what the watcher saw");
    let summary = hub.summary("story").await;
    assert_eq!(summary["anomalies"], serde_json::json!([]));
    assert_eq!(summary["runs"][0]["text"].as_str().unwrap().trim_end(), steps.join(" "), "what the hub has");
    let list = hub.json("/v1/conversations").await;
    assert_eq!(list["conversations"][0]["head"], STEPS + AROUND, "each event once");
}

#[tokio::test]
async fn i10_python_publishes_exactly_once_and_watches_without_a_hole_through_a_cut_and_a_kill() {
    carry(|url| python_example("publish.py", url), |url| python_example("subscribe.py", url)).await;
}

async fn passes_on(hub: &Hub, mut example: Command) {
    let stream = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/upstream/messages/call.sse");
    example.args(["anthropic", "stream"]).stdin(std::fs::File::open(stream).unwrap());
    assert!(printed("the example", example.spawn().unwrap()).await.contains(" 0 anomalies"));
    let summary = hub.summary("stream").await;
    assert_eq!(summary["runs"][0]["tool_calls"][0]["name"], "get_weather");
}

#[tokio::test]
async fn python_passes_a_stream_of_a_vendor_on() {
    let hub = Hub::start().await;
    passes_on(&hub, python_example("ingest.py", &hub.url(""))).await;
}

#[tokio::test]
async fn python_keeps_its_own_rules() {
    let checks: [&[&str]; 4] = [
        &["-m", "unittest", "discover", "--start-directory", "tests"],
        &["-m", "ruff", "check", "--no-cache", "."],
        &["-m", "ruff", "format", "--no-cache", "--check", "."],
        &["-m", "mypy", "--cache-dir", "/dev/null"],
    ];
    for check in checks {
        let mut command = told(installed::python(), "");
        command.args(check).current_dir(package("python"));
        printed(&check.join(" "), command.spawn().unwrap()).await;
    }
}

/// A copy of the TypeScript package, built, with other projects' packages: its programs find it by its own name.
pub(crate) struct Installed {
    folder: TempDir,
}

impl Installed {
    /// Builds it, which checks all of its types.
    pub(crate) async fn build() -> Self {
        let (folder, source) = (TempDir::new().unwrap(), package("typescript"));
        // Programs and compilers look for packages from where they are up.
        std::os::unix::fs::symlink(installed::node_modules(), folder.path().join("node_modules")).unwrap();
        for part in ["src", "examples", "tests"] {
            copy(&source.join(part), &folder.path().join(part));
        }
        for file in ["package.json", "tsconfig.json"] {
            std::fs::copy(source.join(file), folder.path().join(file)).unwrap();
        }
        let mut build = told(installed::node(), "");
        build.arg("node_modules/typescript/bin/tsc");
        printed("tsc", build.current_dir(folder.path()).spawn().unwrap()).await;
        Self { folder }
    }

    pub(crate) fn example(&self, name: &str, url: &str) -> Command {
        let mut command = told(installed::node(), url);
        command.arg(self.folder.path().join("examples").join(name));
        command
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, name) = (entry.as_ref().unwrap().path(), entry.unwrap().file_name());
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            std::fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

#[tokio::test]
async fn i10_typescript_publishes_exactly_once_and_watches_without_a_hole_through_a_cut_and_a_kill() {
    let package = Installed::build().await;
    carry(|url| package.example("publish.mjs", url), |url| package.example("subscribe.mjs", url)).await;
}

#[tokio::test]
async fn typescript_passes_a_stream_of_a_vendor_on() {
    let (hub, package) = (Hub::start().await, Installed::build().await);
    passes_on(&hub, package.example("ingest.mjs", &hub.url(""))).await;
}

#[tokio::test]
async fn typescript_keeps_its_own_rules() {
    let package = Installed::build().await;
    let mut command = told(installed::node(), "");
    command.arg("--test").current_dir(package.folder.path().join("tests"));
    printed("node --test", command.spawn().unwrap()).await;
}
