//! A person logs in on the page at a real provider of identities: the package `oidc-provider`.

use std::collections::BTreeMap;
use std::process::Stdio;

use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use serde_json::Value;
use tests::browser::DESKTOP;
use tests::installed;
use tests::wait::within;
use tests::{BrowserPage, TestHub};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Child;

use crate::asks::FOLDER;

/// The secret of the hub at the provider, with letters that forms and headers write in another way.
const SECRET: &str = "hub:s%cret+ of/a=test";

/// Starts the provider; its address. It goes with the returned process.
async fn provider(redirect: &str) -> (Child, tempfile::TempDir, String) {
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("provider.mjs");
    std::fs::copy(format!("{FOLDER}/provider.mjs"), &program).unwrap();
    std::os::unix::fs::symlink(installed::node_modules(), place.path().join("node_modules")).unwrap();
    let mut child = installed::node()
        .arg(&program)
        .args([redirect, SECRET])
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    loop {
        let line = within("the address of the provider", lines.next_line()).await.unwrap().unwrap();
        if line.starts_with("http://127.0.0.1:") {
            // It goes on to talk, and ends where nobody reads.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return (child, place, line);
        }
    }
}

/// A browser without scripts: it keeps cookies for each server and follows redirections one by one.
struct Person {
    client: Client,
    cookies: BTreeMap<String, BTreeMap<String, String>>,
}

impl Person {
    async fn get(&mut self, url: &Url) -> Response {
        let place = url[..url::Position::BeforePath].to_owned();
        let known = self.cookies.entry(place).or_default();
        let cookies = known.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
        let mut request = self.client.get(url.clone());
        if !cookies.is_empty() {
            request = request.header("cookie", cookies.join("; "));
        }
        let answer = within("an answer", request.send()).await.unwrap();
        for set in answer.headers().get_all("set-cookie") {
            let pair = set.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            known.insert(name.to_owned(), value.to_owned());
        }
        answer
    }

    /// Follows redirections from `url`; the address at which there is none, and the answer there.
    async fn follow(&mut self, mut url: Url) -> (Url, Response) {
        for _ in 0..20 {
            let answer = self.get(&url).await;
            let Some(next) = answer.headers().get("location") else { return (url, answer) };
            url = url.join(next.to_str().unwrap()).unwrap();
        }
        panic!("too many redirections, the last to {url}");
    }
}

/// A hub whose page is entered through a provider, and the provider, which ends when this is dropped.
struct HubBehindProvider {
    hub: TestHub,
    _provider: (Child, tempfile::TempDir),
    _settings: tempfile::TempDir,
}

impl HubBehindProvider {
    async fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let redirect = format!("http://{address}/login/callback");
        let (child, packages, issuer) = provider(&redirect).await;
        let place = tempfile::tempdir().unwrap();
        let (file, secret) = (place.path().join("fanlight.toml"), place.path().join("secret"));
        std::fs::write(&secret, format!("{SECRET}\n")).unwrap();
        let settings = format!(
            "[access]\nmode = \"tokens\"\n\n[access.oidc]\nissuer = {issuer:?}\nclient_id = \"hub\"\nsecret_file = {:?}\n\
             redirect = {redirect:?}\nname = \"email\"\nalgorithms = [\"EdDSA\"]\n\
             rules = [{{ claim = \"groups\", value = \"ops\", grants = [\"view:*\"] }}]\n",
            secret.to_str().unwrap()
        );
        std::fs::write(&file, settings).unwrap();
        // Another program may take the port meanwhile; then the hub says so and the test fails at once.
        drop(listener);
        let options = ["--config", file.to_str().unwrap()];
        let hub = TestHub::start_at_with(&address.to_string(), &options).await;
        Self { hub, _provider: (child, packages), _settings: place }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_logs_in_at_a_real_provider() {
    let behind = HubBehindProvider::start().await;
    let hub = &behind.hub;
    let mut person = Person {
        client: Client::builder().redirect(Policy::none()).build().unwrap(),
        cookies: BTreeMap::new(),
    };
    let asked: Url = hub.url("/wall").parse().unwrap();
    let form = person.get(&asked).await;
    assert_eq!(form.status(), 401);
    assert!(form.text().await.unwrap().contains("/login/oidc?next=%2Fwall"));
    let (came, page) = person.follow(hub.url("/login/oidc?next=%2Fwall").parse().unwrap()).await;
    assert_eq!((came.path(), page.status().as_u16()), ("/login/callback", 200));
    assert!(page.text().await.unwrap().contains("url=/wall"));
    let who = person.get(&hub.url("/v1/access").parse().unwrap()).await;
    let who: Value = who.json().await.unwrap();
    assert_eq!(who["principal"], "ann@team.example");
    assert_eq!(who["grants"], serde_json::json!(["view:*"]));
    assert!(person.get(&asked).await.status().is_success(), "the page itself");
    // The same address again: the code is used up, and so is the login.
    let again = person.get(&came).await;
    assert_eq!(again.status(), 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_logs_in_at_a_real_provider_in_a_browser() {
    let behind = HubBehindProvider::start().await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&behind.hub.url("/wall")).await;
    page.holds("return document.querySelector('h1')?.innerText === 'Log in to Fanlight'").await;
    page.run("document.querySelector('a[href^=\"/login/oidc\"]').click(); return null").await;
    // There and back without a further word, since this person is logged in at the provider.
    page.holds("return location.pathname === '/wall' && document.querySelector('h1')?.innerText !== 'Log in to Fanlight'")
        .await;
    let who = "return fetch('/v1/access').then(answer => answer.json()).then(told => told.principal)";
    page.run_until(who, |who| who == "ann@team.example").await;
    assert_eq!(page.run("return document.cookie").await, "", "no script reads the session");
    // The page's own socket is let in by the session.
    page.holds("return document.querySelector('[data-t=connection]')?.dataset.state === 'live'").await;
    page.close().await;
}
