//! The hub's own commands and sinks reach a hub over TLS, and say what to do where that fails.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Output;

use client::{HubAddress, HubLink, PublishError, download};
use rcgen::{BasicConstraints, CertificateParams, IsCa, date_time_ymd};
use tests::TestHub;
use tests::wait::until;

use super::commands::{run, said, story};
use super::http2::certificate_with;

/// A hub that speaks TLS as `localhost`, with access control, and a token for everything.
struct TlsHub {
    hub: TestHub,
    token: String,
    place: tempfile::TempDir,
}

impl TlsHub {
    /// Starts one whose certificate is as `change` makes it.
    async fn start_with(change: impl FnOnce(&mut CertificateParams)) -> Self {
        let place = tempfile::tempdir().unwrap();
        certificate_with(place.path(), change);
        let file = |name: &str| place.path().join(name).display().to_string();
        let (cert, key) = (file("cert.pem"), file("key.pem"));
        let options = ["--access", "tokens", "--tls-cert", &cert, "--tls-key", &key];
        let hub = TestHub::start_at_with("127.0.0.1:0", &options).await;
        let grants = ["view:*", "publish:*", "import:*", "export:*"].map(|grant| ["--grant", grant]).concat();
        let token = hub.token(&[&["create", "--name", "bot"][..], &grants].concat()).await;
        let started = Self { hub, token, place };
        until("the hub to know the token", async || {
            let doctor = started.command(&["doctor"], b"").await;
            (!String::from_utf8_lossy(&doctor.stdout).contains("requires a token")).then_some(())
        })
        .await;
        started
    }

    async fn start() -> Self {
        Self::start_with(|_params| {}).await
    }

    /// The address of the hub.
    fn url(&self) -> String {
        format!("https://localhost:{}", self.hub.address().port())
    }

    /// The file with its certificate.
    fn ca(&self) -> PathBuf {
        self.place.path().join("cert.pem")
    }

    /// Runs a command of a client on `input`, which knows address, token and certificate.
    async fn command(&self, arguments: &[&str], input: &[u8]) -> Output {
        let (url, ca) = (self.url(), self.ca().display().to_string());
        let hub = ["--url", &url, "--token", &self.token, "--ca", &ca];
        run(&[arguments, &hub[..]].concat(), input).await
    }

    /// What a command prints, which must succeed.
    async fn prints(&self, arguments: &[&str], input: &[u8]) -> String {
        let output = self.command(arguments, input).await;
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Why neither a request nor a socket reaches the hub at `address`.
async fn failures(address: &HubAddress) -> [String; 2] {
    let request = download::<PublishError>(address, address.agents(), |_piece| Ok(())).await;
    let socket = HubLink::open(address).await;
    [request.expect_err("no answer").to_string(), socket.expect_err("no socket").to_string()]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_of_a_client_works_over_tls() {
    let hub = TlsHub::start().await;
    let events = story(3);
    let teed = hub.prints(&["tee", "--dialect", "fanlight", "--conversation", "a"], events.as_bytes()).await;
    assert_eq!(teed, events);
    let tailed = hub.prints(&["tail", "a", "--until", "run.end"], b"").await;
    assert!(tailed.contains("line 2"), "{tailed}");
    let native = hub.prints(&["export", "a", "--format", "native"], b"").await;
    hub.prints(&["import", "--conversation", "b"], native.as_bytes()).await;
    let text = hub.prints(&["export", "b", "--format", "md"], b"").await;
    assert!(text.contains("line 2"), "{text}");
    let recording = hub.place.path().join("story.jsonl");
    std::fs::write(&recording, &events).unwrap();
    let recording = recording.display().to_string();
    let replay = ["replay", &recording, "--dialect", "fanlight", "--conversation", "c", "--speed", "max"];
    hub.prints(&replay, b"").await;
    let text = hub.prints(&["export", "c", "--format", "md"], b"").await;
    assert!(text.contains("line 2"), "{text}");
    // Nobody has named an agent: the answer comes from the hub, over TLS.
    let asked = hub.command(&["ask", "anything"], b"").await;
    assert!(said(&asked).contains("agent"), "{asked:?}");
    let doctor = hub.command(&["doctor"], b"").await;
    let checks = String::from_utf8(doctor.stdout).unwrap();
    for check in ["hub", "log", "websocket", "publishing", "page"] {
        assert!(checks.contains(&format!("ok       {check}: ")), "{check}: {checks}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sink_goes_into_a_hub_behind_tls() {
    let follower = TlsHub::start().await;
    let mut settings = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    let (url, ca) = (follower.url(), follower.ca().display().to_string());
    let token = &follower.token;
    write!(settings, "[[sinks]]\nkind = 'hub'\nurl = '{url}'\ntoken = '{token}'\nca = '{ca}'\n").unwrap();
    let options = ["--log", "memory", "--config", settings.path().to_str().unwrap()];
    let leader = TestHub::start_at_with("127.0.0.1:0", &options).await;
    let mut publisher = leader.publisher("c").await;
    publisher.says(&story(2_000)).await;
    until("the other hub to have the conversation", async || {
        let exported = follower.command(&["export", "c", "--format", "md"], b"").await;
        String::from_utf8_lossy(&exported.stdout).contains("line 1999").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_does_not_fit_is_named_with_its_remedy() {
    let hub = TlsHub::start().await;
    let unknown: HubAddress = hub.url().parse().unwrap();
    let number = format!("https://127.0.0.1:{}", hub.hub.address().port());
    let number = number.parse::<HubAddress>().unwrap().with_ca(Some(hub.ca())).unwrap();
    let expired = TlsHub::start_with(|params| {
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
    });
    let issuer = TlsHub::start_with(|params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained));
    let (expired, issuer) = (expired.await, issuer.await);
    let trusting = |hub: &TlsHub| hub.url().parse::<HubAddress>().unwrap().with_ca(Some(hub.ca())).unwrap();
    let cases = [
        (unknown, "(ca)"),
        (number, "for other names"),
        (trusting(&expired), "has expired"),
        (trusting(&issuer), "CA:FALSE"),
    ];
    for (address, remedy) in cases {
        for failure in failures(&address).await {
            assert!(failure.contains(remedy), "{address}, {remedy}: {failure}");
        }
    }
    // A command says the same, and ends.
    let output = run(&["export", "c", "--format", "md", "--url", &hub.url()], b"").await;
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("issuer's certificate (ca)"), "{}", said(&output));
}

#[tokio::test(flavor = "multi_thread")]
async fn http_at_a_port_of_tls_and_the_other_way_round_say_so() {
    let (secure, plain) = (TlsHub::start().await, TestHub::start_in_memory().await);
    let http: HubAddress = format!("http://localhost:{}", secure.hub.address().port()).parse().unwrap();
    for failure in failures(&http).await {
        assert!(failure.contains("write https://"), "{failure}");
    }
    let https: HubAddress = format!("https://localhost:{}", plain.address().port()).parse().unwrap();
    for failure in failures(&https).await {
        assert!(failure.contains("write http://"), "{failure}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_sent_in_plain_text_to_another_machine_only_if_the_user_says_so() {
    // RFC 5737: nobody has this address, and a program that asked there would say that nobody answers.
    let far = "http://192.0.2.1:4600";
    for command in [&["export", "c", "--format", "md"][..], &["tail", "c"], &["doctor"], &["import"]] {
        let output = run(&[command, &["--url", far, "--token", "sesame"][..]].concat(), b"").await;
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        let text = said(&output);
        assert!(text.contains("in plain text") && text.contains("--token-in-plain"), "{text}");
        assert!(!text.contains("sesame"), "{text}");
    }
    let wrong = run(&["export", "c", "--format", "md", "--ca", "/nowhere/ca.pem"], b"").await;
    assert_eq!(wrong.status.code(), Some(2));
    assert!(said(&wrong).contains("/nowhere/ca.pem"), "{}", said(&wrong));
    let place = tempfile::tempdir().unwrap();
    let config = place.path().join("fanlight.toml");
    std::fs::write(&config, format!("[[sinks]]\nkind = 'hub'\nurl = '{far}'\ntoken = 'sesame'\n")).unwrap();
    let files = ["--config", config.to_str().unwrap(), "--data-dir", place.path().to_str().unwrap()];
    let output = run(&[&["serve", "--listen", "127.0.0.1:0"][..], &files].concat(), b"").await;
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("token_in_plain = true"), "{}", said(&output));
}
