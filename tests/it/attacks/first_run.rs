//! The first token of a hub for one person: who may have it, where it stands, and that it opens nothing that was shut.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use tests::hub::binary;
use tests::wait::{patiently, until, within};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinHandle;

/// A hub with its output, which the harness does not keep.
struct FirstRun {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    /// Reads the trace as it comes: a full pipe would stop the hub.
    trace: JoinHandle<String>,
    url: String,
}

impl FirstRun {
    async fn start(folder: &Path, more: &[&str]) -> Self {
        let mut hub = Command::new(binary());
        hub.args(["serve", "--listen", "127.0.0.1:0", "--trace", "trace", "--data-dir"])
            .arg(folder)
            .args(more);
        hub.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = hub.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut stderr = child.stderr.take().unwrap();
        let trace = tokio::spawn(async move {
            let mut trace = String::new();
            stderr.read_to_string(&mut trace).await.unwrap();
            trace
        });
        let first = within("the first line", lines.next_line()).await.unwrap().unwrap();
        let url = first.trim_start_matches("listening on ").to_owned();
        Self { child, lines, trace, url }
    }

    /// The token of the line for browsers.
    async fn token(&mut self) -> String {
        loop {
            let line = within("the line with the token", self.lines.next_line()).await.unwrap();
            let line = line.expect("the hub prints a token");
            if let Some((address, token)) = line.split_once("/login#token=") {
                assert!(address.ends_with(&self.url), "{line}");
                return token.to_owned();
            }
        }
    }

    async fn status(&self, token: &str, path: &str) -> u16 {
        let asked = reqwest::Client::new().get(format!("{}{path}", self.url)).bearer_auth(token);
        asked.send().await.unwrap().status().as_u16()
    }

    /// Stops it; the rest of its stdout, and its trace.
    async fn stop(mut self) -> (String, String) {
        let id = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().await.unwrap().success());
        let mut rest = String::new();
        let read = async {
            while let Some(line) = self.lines.next_line().await.unwrap() {
                rest.push_str(&line);
            }
            self.trace.await.unwrap()
        };
        let trace = patiently("the hub's end", read).await;
        patiently("the hub's end", self.child.wait()).await.unwrap();
        (rest, trace)
    }
}

const FIRST_RUN: [&str; 2] = ["--access", "first-run"];

/// What `fanlight token` prints.
async fn tokens(folder: &Path, arguments: &[&str]) -> String {
    let ran = Command::new(binary()).arg("token").args(arguments).arg("--data-dir").arg(folder).output();
    let ran = within("fanlight token", ran).await.unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_token_is_shown_once_kept_as_a_hash_and_holds_until_it_is_revoked() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let mut hub = FirstRun::start(folder, &FIRST_RUN).await;
    let token = hub.token().await;
    assert_eq!(hub.status("", "/v1/conversations").await, 401, "nobody else comes in");
    assert_eq!(hub.status(&token, "/v1/audit").await, 200, "it is for everything");
    let (_, trace) = hub.stop().await;
    assert!(trace.len() > 200 && !trace.contains(&token), "the token is in the trace");
    let file = folder.join("tokens.json");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let held = std::fs::read(&path).unwrap_or_default();
        let found = held.windows(token.len()).any(|bytes| bytes == token.as_bytes());
        assert!(!found, "{} holds the token", path.display());
    }
    assert!(tokens(folder, &["list"]).await.starts_with("first-run\tadmin:*\tuntil it is revoked"));

    // After a restart it is the same, and nothing is shown.
    let hub = FirstRun::start(folder, &FIRST_RUN).await;
    assert_eq!(hub.status(&token, "/v1/audit").await, 200);
    tokens(folder, &["revoke", "first-run"]).await;
    until("the token to be revoked", async || (hub.status(&token, "/v1/audit").await == 401).then_some(()))
        .await;
    let (rest, _) = hub.stop().await;
    assert_eq!(rest, "");

    // Where nobody could come in there is another one, and the old one stays dead.
    let mut hub = FirstRun::start(folder, &FIRST_RUN).await;
    let other = hub.token().await;
    assert_ne!(other, token);
    assert_eq!((hub.status(&token, "/v1/audit").await, hub.status(&other, "/v1/audit").await), (401, 200));
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_first_run_of_a_hub_that_has_a_token_already() {
    let place = tempfile::tempdir().unwrap();
    tokens(place.path(), &["create", "--name", "ann", "--grant", "view:*"]).await;
    let hub = FirstRun::start(place.path(), &FIRST_RUN).await;
    let (rest, _) = hub.stop().await;
    assert_eq!(rest, "", "who starts it again gets nothing");
    assert!(tokens(place.path(), &["list"]).await.starts_with("ann\t"));
    // Nor does a hub make one that was not asked to.
    let bare = tempfile::tempdir().unwrap();
    let hub = FirstRun::start(bare.path(), &["--access", "tokens"]).await;
    let (rest, _) = hub.stop().await;
    assert_eq!((rest.as_str(), bare.path().join("tokens.json").exists()), ("", false));
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_reading_along_while_the_first_token_goes_over_the_network() {
    let place = tempfile::tempdir().unwrap();
    let mut hub = Command::new(binary());
    hub.args(["serve", "--listen", "0.0.0.0:0", "--data-dir"])
        .arg(place.path())
        .args(FIRST_RUN)
        .kill_on_drop(true);
    let ended = patiently("the refusal", hub.output()).await.unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(!ended.status.success() && said.contains("read along") && said.contains("--tls-cert"), "{said}");
    assert!(ended.stdout.is_empty() && !place.path().join("tokens.json").exists(), "and no token was made");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_does_not_start_leaves_no_token_that_nobody_has_seen() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    // A log that is no log.
    std::fs::write(
        folder.join("fanlight.db"),
        "This is no database, and long enough to be looked at. ".repeat(20),
    )
    .unwrap();
    let mut hub = Command::new(binary());
    hub.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(folder).args(FIRST_RUN);
    let ran = patiently("the hub's end", hub.output()).await.unwrap();
    assert!(!ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    assert!(!tokens(folder, &["list"]).await.contains("first-run"));
    std::fs::remove_file(folder.join("fanlight.db")).unwrap();
    let mut hub = FirstRun::start(folder, &FIRST_RUN).await;
    let token = hub.token().await;
    assert_eq!(hub.status(&token, "/v1/audit").await, 200);
    hub.stop().await;
}
