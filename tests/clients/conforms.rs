//! A client that was written from `docs/protocol.md` and `docs/operations.md` alone, in at most 300 lines: what it relies on
//! is all that stands there.

use std::path::Path;

use tests::hub::binary;
use tests::installed;
use tests::wait::patiently;

const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/conform.py");

/// Most lines of the client.
const LINES_MAX: usize = 300;

#[tokio::test]
async fn i10_a_client_written_from_the_documents_alone_finds_everything_as_it_is_written_there() {
    assert!(std::fs::read_to_string(CLIENT).unwrap().lines().count() <= LINES_MAX);
    let mut client = installed::python();
    let done = client.arg(Path::new(CLIENT)).arg(binary()).kill_on_drop(true).output();
    let done = patiently("the client", done).await.unwrap();
    let said = [done.stdout, done.stderr].concat();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&said));
}
