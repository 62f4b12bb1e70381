//! Other projects' clients read what the encoders make of a conversation; the programs say themselves what is wrong.

use std::path::Path;

use tempfile::TempDir;
use tests::TestHub;
use tests::wait::{patiently, within};
use tokio::process::Command;

use tests::installed;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/clients");

async fn read(mut client: Command, program: &Path) {
    let hub = TestHub::start().await;
    let story = std::fs::read(Path::new(FOLDER).join("story.ndjson")).unwrap();
    let told = hub.request("POST", "/v1/ingest/fanlight/story").body(story).send();
    assert!(within("the story", told).await.unwrap().status().is_success());
    let reading = client.arg(program).arg(hub.url("")).kill_on_drop(true).output();
    let done = patiently("the clients", reading).await.unwrap();
    let said = [done.stdout, done.stderr].concat();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&said));
}

#[tokio::test]
async fn python_clients_read_the_encoders() {
    read(installed::python(), &Path::new(FOLDER).join("read.py")).await;
}

#[tokio::test]
async fn javascript_clients_read_the_encoders() {
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("read.mjs");
    std::fs::copy(Path::new(FOLDER).join("read.mjs"), &program).unwrap();
    std::os::unix::fs::symlink(installed::node_modules(), folder.path().join("node_modules")).unwrap();
    read(installed::node(), &program).await;
}
