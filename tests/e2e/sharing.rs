//! Links in the page: somebody shares a conversation and one turn of it, others see to whom it is shown, and whoever follows a link reads what it is.

use serde_json::{Value, json};
use tests::browser::{DESKTOP, Screen};
use tests::wait::patiently;
use tests::{BrowserPage, TestHub};

use crate::names::logged_in;
use crate::screens::{NARROW, PicturedView, barriers, pictured};

/// A hub with a role.
const ROLES: &str = "[access]\nmode = \"tokens\"\n\n[access.roles.guest]\nhide = [\"arguments\"]\n";

/// Keeps what is copied where the test reads it.
const CLIPBOARD: &str =
    "window.copied = null; Object.defineProperty(navigator, 'clipboard', {configurable: true, value: {
    writeText: text => { window.copied = text; return Promise.resolve(); }}}); return null";

/// A question and its answer, numbered.
async fn say(hub: &TestHub, token: &str, number: usize) {
    let (run, part) = (format!("r{number}"), format!("p{number}"));
    let events = json!([
        {"k": "message", "message": format!("m{number}"), "role": "user", "text": format!("Question {number}?")},
        {"k": "run.start", "run": run}, {"k": "part.start", "run": run, "part": part, "kind": "text"},
        {"k": "part.delta", "run": run, "part": part, "text": format!("Answer {number}.")}, {"k": "part.end", "run": run, "part": part},
        {"k": "run.end", "run": run, "status": "complete"},
    ]);
    let told =
        hub.request("POST", "/v1/conversations/c/events").bearer_auth(token).body(events.to_string()).send();
    assert!(patiently("what is said", told).await.expect("an answer").status().is_success());
}

async fn click(page: &BrowserPage, selector: &str) {
    let selector = json!(selector);
    page.holds(&format!("return document.querySelector({selector}) !== null")).await;
    page.run(&format!("document.querySelector({selector}).click(); return null")).await;
}

async fn says(page: &BrowserPage, words: &str) {
    page.holds(&format!("return document.body.innerText.includes({})", json!(words))).await;
}

/// Fails for what axe finds.
async fn is_without_barriers(page: &BrowserPage) {
    assert_eq!(barriers(page).await, Vec::<String>::new());
}

async fn has(page: &BrowserPage, selector: &str) -> bool {
    page.run(&format!("return document.querySelector({}) !== null", json!(selector))).await == true
}

/// Chooses the place `place` of the list `selector`.
async fn choose(page: &BrowserPage, selector: &str, place: usize) {
    let selector = json!(selector);
    page.holds(&format!("return document.querySelector({selector}) !== null")).await;
    page.run(&format!(
        "const list = document.querySelector({selector}); list.value = '{place}'; list.dispatchEvent(new Event('change', {{bubbles: true}})); return null"
    ))
    .await;
}

/// Makes the link that the form describes, the `number`th in the list, and returns its address.
async fn make(page: &BrowserPage, number: usize) -> String {
    click(page, "[data-act=share-now]").await;
    page.holds(&format!("return document.querySelectorAll('[data-t=links] li').length === {number}")).await;
    page.holds("return document.querySelector('[data-t=made-link]')?.value.includes('/s/flk_')").await;
    page.run("return document.querySelector('[data-t=made-link]').value")
        .await
        .as_str()
        .expect("an address")
        .to_owned()
}

/// Follows `link` and reads what is said of it.
async fn follows(link: &str, screen: Screen, words: &[&str]) -> BrowserPage {
    let guest = BrowserPage::open(screen).await;
    guest.goto(link).await;
    guest.text_until("shared-by", |text| words.iter().all(|word| text.contains(word))).await;
    guest
}

/// Whoever may not export sees nothing of it while there is nothing to see.
async fn is_offered_to_nobody_without_a_grant(hub: &TestHub, token: &str) {
    let other = logged_in(hub, token).await;
    says(&other, "Answer 3.").await;
    assert!(!has(&other, "[data-t=share]").await && !has(&other, "[data-act=share-turn]").await);
    other.close().await;
}

/// Somebody who may see the conversation reads to whom it is shown, and can neither revoke a link nor make one.
async fn another_reads_to_whom(hub: &TestHub, token: &str) {
    let other = logged_in(hub, token).await;
    other.text_until("shared", |text| text.contains("Shared: 3 links")).await;
    click(&other, "[data-t=share]").await;
    says(&other, "Dan of Acme").await;
    says(&other, "you need the grants").await;
    assert!(!has(&other, "[data-act=revoke]").await && !has(&other, "[data-act=share-now]").await);
    is_without_barriers(&other).await;
    other.screenshot("sharing-other").await;
    other.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_and_a_turn_are_shared_and_everybody_reads_to_whom() {
    let hub = TestHub::start_with_settings(ROLES).await;
    let ann = hub.token_for("ann", &["view,publish,export,control:*"]).await;
    let bob = hub.token_for("bob", &["view:*"]).await;
    for number in 1..=3 {
        say(&hub, &ann, number).await;
    }
    is_offered_to_nobody_without_a_grant(&hub, &bob).await;

    let page = logged_in(&hub, &ann).await;
    says(&page, "Answer 3.").await;
    page.text_until("shared", str::is_empty).await;
    click(&page, "[data-t=share]").await;
    says(&page, "None yet.").await;
    assert!(!has(&page, "[data-shown=turn]").await, "one turn is chosen at the turn");
    let live = make(&page, 1).await;
    says(&page, "Anyone with the link").await;

    // A frozen one, for somebody, with a role, for an hour, once.
    click(&page, "[data-shown=frozen]").await;
    page.run("document.querySelector('#share-for').value = 'Dan of Acme'; return null").await;
    choose(&page, "#share-role", 1).await;
    choose(&page, "#share-life", 0).await;
    choose(&page, "#share-views", 1).await;
    let frozen = make(&page, 2).await;
    assert_ne!(live, frozen);
    for words in ["Dan of Acme", "Frozen as of", "role guest", "1 view left", "by ann"] {
        says(&page, words).await;
    }
    page.run(CLIPBOARD).await;
    click(&page, ".made-link button").await;
    page.holds("return document.querySelector('.made-link button').textContent.includes('Copied')").await;
    assert_eq!(page.run("return window.copied").await, json!(frozen));
    pictured(&page, PicturedView::Share).await;
    page.press("Escape").await;
    page.text_until("shared", |text| text.contains("Shared: 2 links")).await;

    // One turn, by the command at its question.
    click(&page, "[data-act=share-turn]").await;
    page.holds("return document.querySelector('[data-shown=turn]')?.getAttribute('aria-pressed') === 'true'")
        .await;
    let turn = make(&page, 3).await;
    says(&page, "One turn, frozen as of").await;
    page.press("Escape").await;

    another_reads_to_whom(&hub, &bob).await;

    // What comes later is in the live one alone.
    say(&hub, &ann, 4).await;
    let watcher = follows(&live, DESKTOP, &["Shared by ann", "live", "until", "read only"]).await;
    says(&watcher, "Answer 4.").await;
    is_without_barriers(&watcher).await;
    let words = ["Shared by ann for Dan of Acme", "frozen as of", "until", "read only"];
    let guest = follows(&frozen, DESKTOP, &words).await;
    says(&guest, "Answer 3.").await;
    let body = guest.run("return document.body.innerText").await;
    assert!(!body.as_str().unwrap().contains("Answer 4."), "{body}");
    for offered in
        ["[data-t=share]", "[data-t=shared]", "[data-act=share-turn]", "#composer", "[data-t=order]"]
    {
        assert!(!has(&guest, offered).await, "{offered}");
    }
    pictured(&guest, PicturedView::Shared).await;
    assert_eq!(guest.console_errors().await, Vec::<String>::new());

    let one = follows(&turn, NARROW, &["one turn, frozen as of"]).await;
    says(&one, "Answer 1.").await;
    let body = one.run("return document.body.innerText").await;
    assert!(!body.as_str().unwrap().contains("Answer 2."), "{body}");
    one.screenshot("sharing-turn-390").await;

    // All are revoked.
    click(&page, "[data-t=share]").await;
    for left in [2, 1, 0] {
        click(&page, "[data-act=revoke]").await;
        page.holds(&format!("return document.querySelectorAll('[data-t=links] li').length === {left}")).await;
    }
    says(&guest, "You are not logged in any more").await;
    one.goto(&live).await;
    says(&one, "This link no longer works").await;
    pictured(&one, PicturedView::SharedOver).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_runs_is_shared_live_and_comes_to_whoever_follows_the_link() {
    let hub = TestHub::start_with(&["--access", "tokens"]).await;
    let ann = hub.token_for("ann", &["view,publish,export:*"]).await;
    say(&hub, &ann, 1).await;
    let publish = async |events: Value| {
        let told = hub.request("POST", "/v1/conversations/c/events").bearer_auth(&ann);
        let told = patiently("what is said", told.body(events.to_string()).send()).await.expect("an answer");
        assert!(told.status().is_success());
    };
    let begun = |number: usize| {
        let (run, part) = (format!("r{number}"), format!("p{number}"));
        json!([
            {"k": "message", "message": format!("m{number}"), "role": "user", "text": format!("Question {number}?")},
            {"k": "run.start", "run": run}, {"k": "part.start", "run": run, "part": part, "kind": "text"},
            {"k": "part.delta", "run": run, "part": part, "text": format!("Answer {number} begins")},
        ])
    };
    publish(begun(2)).await;
    let page = logged_in(&hub, &ann).await;
    says(&page, "Answer 2 begins").await;
    // A turn that is over is not offered live.
    click(&page, "[data-act=share-turn]").await;
    page.holds("return document.querySelector('[data-shown=turn]') !== null").await;
    assert!(!has(&page, "[data-shown=live-turn]").await);
    page.press("Escape").await;
    page.holds("return document.querySelector('[data-shown=turn]') === null").await;
    page.run("[...document.querySelectorAll('[data-act=share-turn]')].at(-1).click(); return null").await;
    click(&page, "[data-shown=live-turn]").await;
    says(&page, "as it comes, until it is done").await;
    let link = make(&page, 1).await;
    says(&page, "One turn, live until its run ends").await;
    is_without_barriers(&page).await;

    let guest = follows(&link, DESKTOP, &["Shared by ann", "one turn, live until its run ends"]).await;
    says(&guest, "Answer 2 begins").await;
    publish(begun(3)).await;
    publish(json!([{"k": "part.delta", "run": "r2", "part": "p2", "text": " and goes on"}])).await;
    says(&guest, "Answer 2 begins and goes on").await;
    guest.screenshot("sharing-live-turn-runs").await;
    publish(json!([{"k": "part.end", "run": "r2", "part": "p2"}, {"k": "run.end", "run": "r2", "status": "complete"}])).await;
    says(&guest, "Done").await;
    let body = guest.run("return document.body.innerText").await;
    for other in ["Answer 1", "Question 1", "Answer 3", "Question 3"] {
        assert!(!body.as_str().unwrap().contains(other), "{other} in {body}");
    }
    is_without_barriers(&guest).await;
    assert_eq!(guest.console_errors().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_on_another_site_keeps_the_login_of_the_browser() {
    let hub = TestHub::start_with(&["--access", "tokens"]).await;
    let ann = hub.token_for("ann", &["view,publish,export:*"]).await;
    let bob = hub.token_for("bob", &["view:team-*"]).await;
    say(&hub, &ann, 1).await;
    let made = hub
        .request("POST", "/v1/shares")
        .bearer_auth(&ann)
        .body(r#"{"conversation":"c","views":1,"for":"Bob"}"#);
    let made: Value = made.send().await.unwrap().json().await.unwrap();
    let link = hub.url(made["url"].as_str().unwrap());
    // A page of another origin, as that of a mail: `localhost` is another site than 127.0.0.1.
    let mail = TestHub::start().await;
    let mail = mail.url("/").replace("127.0.0.1", "localhost");
    let follow = async |page: &BrowserPage| {
        page.goto(&mail).await;
        let link = json!(link);
        page.run(&format!("const a = document.createElement('a'); a.href = {link}; document.body.append(a); a.click(); return null")).await;
    };
    let who = "return fetch('/v1/access').then(it => it.json()).then(it => it.principal)";

    let page = logged_in(&hub, &ann).await;
    follow(&page).await;
    says(&page, "Answer 1.").await;
    assert_eq!(page.run(who).await, "ann", "she may see it, and stays who she is");
    page.close().await;

    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/")).await;
    page.holds("return document.querySelector('#token') !== null").await;
    page.run(&format!(
        "document.querySelector('#token').value = {bob:?}; document.querySelector('form button').click(); return null"
    ))
    .await;
    page.holds("return document.querySelector('.app') !== null").await;
    follow(&page).await;
    says(&page, "Open what was shared?").await;
    // The page itself may ask the hub for nothing.
    says(&page, "logged in as bob").await;
    page.screenshot("sharing-asked").await;
    click(&page, "form button").await;
    says(&page, "Answer 1.").await;
    assert!(page.run(who).await.as_str().unwrap().starts_with("link "));
    page.close().await;
}
