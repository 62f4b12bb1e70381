//! What a hub says as it fails: at the start for what it is set to, and at a stop in the middle of things. No secret is in it, at any level of the trace.
//! What it says of a panic is tested where the hook is, in `server/fanlight/src/panics/tests.rs`: nothing that comes in makes a hub panic.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use tests::hub::binary;
use tests::raw;
use tests::wait::{patiently, until, within};
use tests::{ScriptedServer, ServerStep};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use super::jwt::{Settings, settings};

/// What no output may hold. It looks like a key of a vendor, so that it is known for one where it stands in the place of something else.
const SECRET: &str = "sk-proj-Z9y8X7w6V5u4T3s2R1q0P9o8N7m6L5k4";

/// The same of a database: it looks like nothing.
const PASSWORD: &str = "gehe1m-Z9y8X7w6V5";

/// What a hub with these settings and arguments says, all of it, before it gives up.
async fn says(settings: &Settings, text: &str, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let file = settings.file("crash.toml", text);
    let place = tempfile::tempdir().unwrap();
    let mut hub = Command::new(binary());
    hub.args(["serve", "--listen", "127.0.0.1:0", "--trace", "trace", "--config", &file])
        .args(arguments)
        .envs(variables.iter().copied())
        .env("RUST_BACKTRACE", "full")
        .env("RUST_LOG", "trace")
        .current_dir(place.path())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let ended = patiently("the failure", hub.output()).await.unwrap();
    assert!(!ended.status.success(), "{text} {arguments:?} is taken");
    String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_secrets_in_what_a_hub_says_that_does_not_start() {
    let settings = settings();
    let key = settings.file("key", SECRET);
    let database = format!("postgres://hub:{PASSWORD}@127.0.0.1:1/fanlight?connect_timeout=1");
    let odd = format!("postgres://hub:{PASSWORD}@127.0.0.1:1/fanlight?nonsense=1");
    let lends = |more: &str| {
        format!(
            "[access]\n[upstreams.one]\nurl = \"http://127.0.0.1:1\"\napi = \"openai\"\nkey_file = {key:?}\n{more}\n"
        )
    };
    for (text, arguments, variables) in [
        // A database that is not there, by each way in which it can be named.
        (String::new(), vec!["--log", database.as_str()], vec![]),
        (format!("log = \"{database}\"\n"), vec![], vec![]),
        (String::new(), vec![], vec![("FANLIGHT_LOG", database.as_str())]),
        (String::new(), vec!["--log", odd.as_str()], vec![]),
        // Settings that cannot be read, at the line of the secret and elsewhere.
        (format!("log = \"{database}\nlisten = 1\n"), vec![], vec![]),
        (format!("log = [\"{database}\"]\n"), vec![], vec![]),
        (format!("logg = \"{database}\"\n"), vec![], vec![]),
        (format!("{}\n[oops", lends("")), vec![], vec![]),
        (lends("key_env = \"VENDOR\""), vec![], vec![("VENDOR", SECRET)]),
        // A key in the place of the name of its file.
        (lends("").replace(&format!("{key:?}"), &format!("\"{SECRET}\"")), vec![], vec![]),
        (
            format!("[[access.jwt]]\nissuer = \"i\"\naudience = \"a\"\nsecret_file = {key:?}\nrules = 1\n"),
            vec![],
            vec![],
        ),
    ] {
        let said = says(&settings, &text, &arguments, &variables).await;
        assert!(!said.trim().is_empty(), "{text}");
        assert!(
            !said.contains(SECRET) && !said.contains(PASSWORD),
            "{text} {arguments:?} {variables:?}:\n{said}"
        );
    }
    // The test of the test: what is no secret is repeated, so that whoever wrote it finds it.
    let said = says(&settings, "listten = \"wrong-word\"\n", &[], &[]).await;
    assert!(said.contains("listten"), "{said}");
}

/// An upstream whose answers repeat the secret and do not end.
async fn never_ends() -> ScriptedServer {
    ScriptedServer::start(|_| {
        vec![
            ServerStep::begin("200 OK", &crate::proxy::STREAM),
            ServerStep::piece(&crate::proxy::piece(&format!("Use {SECRET}"))),
            ServerStep::Wait,
        ]
    })
    .await
}

/// What a hub says, all of it, that has the secret in its settings and environment, and is ended by `signal` while a call is in flight that has it
/// everywhere.
async fn says_at(signal: Signal) -> String {
    let (settings, origin) = (settings(), never_ends().await);
    let key = settings.file("key", SECRET);
    let url = format!("http://{}", origin.address());
    let upstream = |name: &str, more: &str| format!("[upstreams.{name}]\nurl = \"{url}\"\n{more}");
    let lent = upstream("own", &format!("key_file = {key:?}\napi = \"openai\"\n"));
    let file =
        settings.file("crash.toml", &format!("[access]\nmode = \"tokens\"\n{lent}{}", upstream("x", "")));
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("hub").display().to_string();
    let made = ["token", "create", "--name", "ann", "--grant", "publish:*", "--data-dir", &folder];
    let made = patiently("the token", Command::new(binary()).args(made).output()).await.unwrap();
    let token = String::from_utf8(made.stdout).unwrap();
    let mut hub = Command::new(binary())
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--trace",
            "trace",
            "--config",
            &file,
            "--data-dir",
            &folder,
        ])
        .envs([("RUST_BACKTRACE", "full"), ("RUST_LOG", "trace"), ("VENDOR_KEY", SECRET)])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(place.path().join("stderr")).unwrap())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(hub.stdout.take().unwrap()).lines();
    let line = within("the first line", lines.next_line()).await.unwrap().unwrap();
    let mut call = raw::connect(line.strip_prefix("listening on http://").unwrap().parse().unwrap()).await;
    let key = format!("Bearer {SECRET}");
    let headers = [("authorization", key.as_str()), ("cookie", SECRET), ("fanlight-token", token.trim())];
    let body = crate::proxy::ASKS.replace("Hello?", SECRET);
    call.send(&raw::post(&format!("/proxy/x/v1/chat/completions?key={SECRET}"), &headers, &body)).await;
    assert_eq!(within("the head of the answer", call.head()).await.unwrap().status(), 200);
    until("the call to be in flight", async || (!origin.asked().is_empty()).then_some(())).await;
    let pid = Pid::from_raw(i32::try_from(hub.id().unwrap()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
    patiently("the end of the hub", hub.wait()).await.unwrap();
    let said = std::fs::read_to_string(place.path().join("stderr")).unwrap();
    assert!(!said.contains(token.trim()), "{signal:?}: {said}");
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_secrets_in_what_a_hub_says_that_is_ended_in_the_middle_of_a_call() {
    for signal in [Signal::TERM, Signal::ABORT] {
        let said = says_at(signal).await;
        assert!(said.contains("listening") && !said.contains(SECRET), "{signal:?}: {said}");
    }
}
