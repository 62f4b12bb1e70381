//! A second machine, as a network namespace: it reaches the hub over a network alone, logs in and watches over TLS.
//!
//! ```text
//! this namespace: the hub ── router ── the watcher, in a namespace that has nothing else
//! ```

use std::path::Path;

use tests::installed;
use tests::wait::patiently;
use tests::{TestHub, TestNetwork};

/// The name in the certificate of the hub. No name server knows it.
const NAME: &str = "hub.test";

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
    let network = TestNetwork::new();
    let machine = network.machine();
    let place = tempfile::tempdir().unwrap();
    let (cert, key) = certificate(place.path());
    let options = ["--access", "tokens", "--tls-cert", &cert, "--tls-key", &key, "--host", NAME];
    // Tokens that are there before the hub is known to it from its first moment.
    let mut hub = TestHub::start_at_with(&format!("{}:0", network.here()), &options).await;
    let ann = hub.token(&["create", "--name", "ann", "--grant", "view:*"]).await;
    let bot = hub.token(&["create", "--name", "bot", "--grant", "publish:*"]).await;
    hub.restart().await;
    let port = hub.address().port().to_string();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/agents/over_network.py");
    let enter = machine.enter(None, "KILL");
    let (first, rest) = enter.split_first().unwrap();
    let mut far = tokio::process::Command::new(first);
    far.args(rest).arg(installed::python_program()).arg(program);
    far.args([&network.here().to_string(), &port, NAME, &cert, &ann, &bot]).kill_on_drop(true);
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
    assert!(
        login.is_some_and(|login| login.contains(&machine.address().to_string())),
        "it came over the network: {audit}"
    );
}
