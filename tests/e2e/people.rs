//! Somebody logs in, shares a conversation, and is shut out while they watch; they come back. In Chromium and in Firefox, with what axe finds on
//! each page of the way.

use serde_json::{Value, json};
use tests::FirefoxPage;
use tests::browser::DESKTOP;
use tests::installed;
use tests::wait::{patiently, until};
use tests::{BrowserPage, TestHub};

/// Says what axe finds: its rule, where, and why.
const LOOK: &str = "return axe.run(document).then(found => found.violations.flatMap(rule => rule.nodes.map(node => \
    `${rule.id}: ${node.html.slice(0, 160)}: ${node.failureSummary}`)))";

/// A page in one of the browsers.
enum Page {
    Chromium(Box<BrowserPage>),
    Firefox(Box<FirefoxPage>),
}

impl Page {
    async fn goto(&self, url: &str) {
        match self {
            Self::Chromium(page) => page.goto(url).await,
            Self::Firefox(page) => page.goto(url).await,
        }
    }

    async fn run(&self, script: &str) -> Value {
        match self {
            Self::Chromium(page) => page.run(script).await,
            Self::Firefox(page) => page.run(script).await,
        }
    }

    async fn holds(&self, script: &str) {
        match self {
            Self::Chromium(page) => page.holds(script).await,
            Self::Firefox(page) => page.holds(script).await,
        }
    }

    async fn says(&self, words: &str) {
        self.holds(&format!("return document.body.innerText.includes({})", json!(words))).await;
    }

    /// Clicks what is there, or will be.
    async fn clicks(&self, selector: &str) {
        let selector = json!(selector);
        self.holds(&format!("return document.querySelector({selector}) !== null")).await;
        self.run(&format!("document.querySelector({selector}).click(); return null")).await;
    }

    /// Takes a picture, and fails for what axe finds, if axe is installed.
    async fn is_without_barriers(&self, name: &str) {
        let name = match self {
            Self::Chromium(page) => {
                page.screenshot(&format!("people-chromium-{name}")).await;
                name
            }
            Self::Firefox(page) => {
                page.screenshot(&format!("people-firefox-{name}")).await;
                name
            }
        };
        let Some(packages) = installed::node_modules_or_advice() else { return };
        let axe = std::fs::read_to_string(packages.join("axe-core/axe.min.js")).expect("axe");
        self.run(&format!("{axe}\n;return null")).await;
        let found = self.run(LOOK).await;
        assert_eq!(found, json!([]), "{name}");
    }

    /// Types a token into the form of the login.
    async fn types(&self, token: &str) {
        self.holds("return document.querySelector('#token') !== null").await;
        let token = json!(token);
        self.run(&format!(
            "document.querySelector('#token').value = {token}; document.querySelector('form button').click(); return null"
        ))
        .await;
    }

    /// Waits until the page follows the conversation.
    async fn is_live(&self) {
        self.holds("return document.querySelector('[data-t=connection]')?.dataset.state === 'live'").await;
    }
}

/// Says `text` in the conversation `c`, in a run of its own.
async fn say(hub: &TestHub, token: &str, text: &str) {
    let events = json!([
        {"k": "run.start", "run": text}, {"k": "part.start", "run": text, "part": text, "kind": "text"},
        {"k": "part.delta", "run": text, "part": text, "text": text}, {"k": "part.end", "run": text, "part": text},
        {"k": "run.end", "run": text, "status": "complete"},
    ]);
    let told =
        hub.request("POST", "/v1/conversations/c/events").bearer_auth(token).body(events.to_string()).send();
    assert!(patiently("what is said", told).await.expect("an answer").status().is_success());
}

/// The whole way: `ann` logs in, shares, `guest` watches by the link until it is revoked, `ann` until her token is; then she comes back.
async fn goes_the_way(ann: &Page, guest: &Page) {
    let hub = TestHub::start_with(&["--access", "tokens"]).await;
    let token = hub.token_for("ann", &["view,publish,export,control:*"]).await;
    let admin = hub.token_for("admin", &["admin,publish:*"]).await;
    say(&hub, &admin, "before").await;

    ann.goto(&hub.url("/c/c")).await;
    ann.holds("return document.querySelector('#token') !== null").await;
    ann.is_without_barriers("form").await;
    ann.types("fanlight_wrong").await;
    ann.holds("return document.querySelector('[role=alert]') !== null").await;
    ann.is_without_barriers("refused").await;
    ann.goto(&hub.url("/c/c")).await;
    ann.types(&token).await;
    ann.is_live().await;
    ann.says("before").await;
    say(&hub, &admin, "while ann watches").await;
    ann.says("while ann watches").await;
    ann.is_without_barriers("watches").await;
    assert_eq!(ann.run("return document.cookie").await, "", "scripts cannot read the session");

    // She shares it in the dialog, for the guest.
    ann.clicks("[data-t=share]").await;
    ann.holds("return document.querySelector('#share-for') !== null").await;
    ann.run("document.querySelector('#share-for').value = 'the guest'; return null").await;
    ann.clicks("[data-act=share-now]").await;
    ann.holds("return document.querySelector('[data-t=made-link]')?.value.includes('/s/flk_')").await;
    ann.holds("return document.querySelectorAll('[data-t=links] li').length === 1").await;
    ann.is_without_barriers("dialog").await;
    let link = ann.run("return document.querySelector('[data-t=made-link]').value").await;
    let link = link.as_str().expect("an address");
    guest.goto(link).await;
    guest.is_live().await;
    guest.says("while ann watches").await;
    guest.says("Shared by ann for the guest").await;
    let path = guest.run("return location.pathname").await;
    assert_eq!(path, "/c/c", "the secret of the link is not in the address");
    let others = guest.run("return fetch('/v1/conversations/other').then(it => it.status)").await;
    assert_eq!(others, 403, "the link opens nothing else");
    guest.is_without_barriers("shared").await;

    // The link is revoked while somebody watches.
    ann.clicks("[data-act=revoke]").await;
    ann.holds("return document.querySelector('[data-t=no-links]') !== null").await;
    ann.clicks("[data-t=dialog] [aria-label=Close]").await;
    guest.says("You are not logged in any more").await;
    guest.is_without_barriers("shut-out").await;
    guest.goto(link).await;
    assert_eq!(
        guest.run("return !!document.querySelector('[data-t=transcript]')").await,
        false,
        "it is over"
    );
    say(&hub, &admin, "after the link").await;
    ann.says("after the link").await;

    // So is her token. What is said then does not reach her.
    hub.token(&["revoke", "ann"]).await;
    ann.says("You are not logged in any more").await;
    say(&hub, &admin, "behind her back").await;
    assert_eq!(ann.run("return document.body.innerText.includes('behind her back')").await, false);
    ann.goto(&hub.url("/c/c")).await;
    let again = hub.token_for("ann", &["view:*"]).await;
    ann.types(&again).await;
    ann.is_live().await;
    ann.says("behind her back").await;
    say(&hub, &admin, "for who came back").await;
    ann.says("for who came back").await;
    let noted = async || {
        let entries =
            hub.request("GET", "/v1/audit").bearer_auth(&admin).send().await.ok()?.text().await.ok()?;
        (entries.contains("\"log_in\"") && entries.contains("ann")).then_some(())
    };
    until("the logins to be in the audit log", noted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_logs_in_shares_is_shut_out_while_watching_and_comes_back_in_chromium() {
    let (ann, guest) = (BrowserPage::open(DESKTOP).await, BrowserPage::open(DESKTOP).await);
    goes_the_way(&Page::Chromium(Box::new(ann)), &Page::Chromium(Box::new(guest))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_logs_in_shares_is_shut_out_while_watching_and_comes_back_in_firefox() {
    let (ann, guest) = (FirefoxPage::open(DESKTOP).await, FirefoxPage::open(DESKTOP).await);
    goes_the_way(&Page::Firefox(Box::new(ann)), &Page::Firefox(Box::new(guest))).await;
}

/// Where the page is, without the part in front of the path.
const PLACE: &str = "return location.pathname + location.search + location.hash";

#[tokio::test(flavor = "multi_thread")]
async fn the_address_of_a_first_run_logs_in_and_the_token_stays_in_no_address() {
    let hub = TestHub::start_with(&["--access", "tokens"]).await;
    let token = hub.token_for("ann", &["admin"]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url(&format!("/login#token={token}"))).await;
    page.holds("return document.querySelector('#token') === null && location.pathname === '/'").await;
    assert_eq!(
        page.run("return fetch('/v1/access').then(it => it.json()).then(it => it.principal)").await,
        "ann"
    );
    assert_eq!(page.run(PLACE).await, "/");
    page.run("history.back(); return null").await;
    // Whether the form left an entry of its own is the browser's matter.
    let place = page.run_until("return location.href", |href| href != &json!(hub.url("/"))).await;
    assert!(!place.to_string().contains(&token), "the history does not have it either: {place}");
    assert_eq!(page.console_errors().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_on_a_page_fills_in_the_form_of_the_login_and_logs_nobody_in() {
    let hub = TestHub::start_with(&["--access", "tokens"]).await;
    let token = hub.token_for("mallory", &["admin"]).await;
    let page = BrowserPage::open(DESKTOP).await;
    let link = format!("/login#token={token}");
    // From another port of this machine, and from the hub itself, since agents write links too.
    for from in [TestHub::start().await.url("/"), hub.url("/login")] {
        page.goto(&from).await;
        let address = json!(hub.url(&link));
        page.run(&format!(
            "const a = document.createElement('a'); a.href = {address}; if (location.pathname === '/login') a.href = a.href.replace('/login', '/login?'); \
             document.body.append(a); a.click(); return null"
        ))
        .await;
        page.holds("return document.querySelector('#token')?.value.startsWith('fanlight_')").await;
        assert_eq!(page.run("return location.hash").await, "");
        page.goto(&hub.url("/")).await;
        assert_eq!(page.run("return document.querySelector('#token') !== null").await, true, "from {from}");
    }
}
