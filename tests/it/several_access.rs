//! Several hubs and those who come in: logins at a provider that end at another hub, links to one conversation, and what
//! happens while the database is away.

use std::time::{Duration, Instant};

use event_log::TestPostgresServer;
use serde_json::{Value, json};
use tests::TestHub;
use tests::wait::{patiently, until, within};

use super::access::refusal;
use super::access_page::{browser, cookie, log_in};
use super::attacks::login::{Provider, back, begun, cookies, field, knows, pair};
use super::cluster::{Cluster, status};
use super::{links, links_live};

/// The longest time until what was revoked at one hub is over at another.
const REVOKED_MAX: Duration = Duration::from_secs(5);

/// The header by which a proxy names the address of a browser.
const FORWARDED: (&str, &str) = ("x-forwarded-for", "10.1.2.3");

/// Makes the tokens of the first hub known to the others; the last of them is `token`.
pub(super) async fn spread(hubs: &[TestHub], token: &str) {
    let [first, others @ ..] = hubs else { return };
    for hub in others {
        std::fs::copy(first.folder().join("tokens.json"), hub.folder().join("tokens.json")).unwrap();
    }
    for hub in hubs {
        until("the hub to know the token", async || {
            let asked = hub.request("GET", "/v1/access").bearer_auth(token).send().await.ok()?;
            asked.status().is_success().then_some(())
        })
        .await;
    }
}

/// What `path` answers to a browser with this cookie.
async fn asks(hub: &TestHub, path: &str, cookie: &str) -> reqwest::Response {
    let asked = browser().get(hub.url(path)).header("cookie", cookie).send();
    patiently(path, asked).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_at_a_provider_that_begins_at_one_hub_ends_at_any_and_once() {
    let provider = Provider::start().await;
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    std::fs::write(&file, format!("[access]\n{}", knows(&provider.url))).unwrap();
    let cluster = Cluster::start_with(3, &["--config", file.to_str().unwrap()]).await;
    let [a, b, c] = &cluster.hubs[..] else { panic!() };
    let (known, asked) = begun(a).await;
    let state = field(&asked, "state");
    let query = format!("code=c1&state={state}");
    let (other, _) = begun(c).await;
    assert_eq!(back(b, &other, &query).await.status(), 401, "another browser began it");
    provider.vouch(&field(&asked, "nonce"));
    let done = back(b, &known, &query).await;
    assert_eq!(done.status(), 200);
    let session = pair(&cookies(&done)[0]);
    for hub in [c, a, b] {
        let who: Value = asks(hub, "/v1/access", &session).await.json().await.unwrap();
        assert_eq!(who["principal"], "ann");
        assert_eq!(back(hub, &known, &query).await.status(), 401, "it is used up");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_opens_at_any_hub_its_views_are_counted_once_and_it_is_revoked_everywhere() {
    let mut cluster = Cluster::start_with(3, &["--access", "tokens"]).await;
    let all = cluster.hubs[0].token_for("all", &["view,publish,export:*"]).await;
    spread(&cluster.hubs, &all).await;
    let [a, b, c] = &cluster.hubs[..] else { panic!() };
    let told = a.request("POST", "/v1/conversations/c/events").bearer_auth(&all).body(status("x")).send();
    assert!(patiently("a conversation", told).await.unwrap().status().is_success());
    let wish = async |hub: &TestHub, body: &str| -> Value {
        let made = hub.request("POST", "/v1/shares").bearer_auth(&all).body(body.to_owned()).send();
        let made = patiently("a link", made).await.unwrap();
        assert_eq!(made.status(), 201);
        made.json().await.unwrap()
    };
    let open = async |hub: &TestHub, link: &Value| asks(hub, link["url"].as_str().unwrap(), "").await;

    let twice = wish(a, r#"{"conversation":"c","views":2}"#).await;
    let opened = open(b, &twice).await;
    assert_eq!(opened.status(), 303);
    let first = cookie(&opened);
    for hub in [c, a, b] {
        assert_eq!(asks(hub, "/v1/conversations/c", &first).await.status(), 200, "at once, whichever hub");
        assert_eq!(asks(hub, "/v1/conversations/other", &first).await.status(), 403);
    }
    let both = tokio::join!(open(a, &twice), open(c, &twice));
    let mut both = [both.0.status().as_u16(), both.1.status().as_u16()];
    both.sort_unstable();
    assert_eq!(both, [303, 401], "of two at the same moment one gets the last view");
    assert_eq!(open(b, &twice).await.status(), 401);
    let list = b.request("GET", "/v1/shares").bearer_auth(&all).send();
    let list: Value = within("the list", list).await.unwrap().json().await.unwrap();
    assert_eq!(list["shares"][0]["views_left"], 0, "{list}");

    let lasting = wish(b, r#"{"conversation":"c"}"#).await;
    let second = cookie(&open(c, &lasting).await);
    let stream = browser().get(b.url("/v1/conversations/c/events")).header("accept", "text/event-stream");
    let mut stream = patiently("a stream", stream.header("cookie", &second).send()).await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let path = format!("/v1/shares/{}", lasting["id"].as_str().unwrap());
    let revoked = c.request("DELETE", &path).bearer_auth(&all).send();
    assert_eq!(patiently("the end of it", revoked).await.unwrap().status(), 204);
    let since = Instant::now();
    let mut said = Vec::new();
    within("the stream to end", async {
        while let Ok(Some(piece)) = stream.chunk().await {
            said.extend(piece);
        }
    })
    .await;
    assert!(String::from_utf8_lossy(&said).contains("event: bye"), "it says why it ends");
    for hub in [a, b, c] {
        until("the link to be over", async || {
            (asks(hub, "/v1/conversations/c", &second).await.status() == 401).then_some(())
        })
        .await;
        assert_eq!(open(hub, &lasting).await.status(), 401);
    }
    assert!(since.elapsed() < REVOKED_MAX, "{:?}", since.elapsed());
    assert_eq!(asks(a, "/v1/conversations/c", &first).await.status(), 200, "the other link goes on");

    // The hub that made it is gone, and the link is not.
    let left = wish(a, r#"{"conversation":"c","views":5}"#).await;
    cluster.hubs[0].kill().await;
    let [_, b, c] = &cluster.hubs[..] else { panic!() };
    assert_eq!(open(b, &left).await.status(), 303);
    assert_eq!(open(c, &left).await.status(), 303);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_cannot_be_looked_up_is_no_failed_login() {
    let provider = Provider::start().await;
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    // Failed logins count for the address that a proxy names, and so not for the tokens that the test waits for.
    let settings = format!(
        "[access]\nproxies = [\"127.0.0.1\"]\n[access.limits]\nfailed_logins_per_minute = 3\n{}",
        knows(&provider.url)
    );
    std::fs::write(&file, settings).unwrap();
    let server = TestPostgresServer::start();
    let cluster = Cluster::start_on(&server, 2, &["--config", file.to_str().unwrap()]).await;
    let all = cluster.hubs[0].token_for("all", &["view,export:*"]).await;
    spread(&cluster.hubs, &all).await;
    let [a, b] = &cluster.hubs[..] else { panic!() };
    let session = cookie(&log_in(a, &all, "%2F").await);
    let link = a.request("POST", "/v1/shares").bearer_auth(&all).body(r#"{"conversation":"c"}"#).send();
    let link: Value = patiently("a link", link).await.unwrap().json().await.unwrap();
    server.kill();
    let asks = async |hub: &TestHub, path: &str, cookie: &str| {
        let asked =
            browser().get(hub.url(path)).header("cookie", cookie).header(FORWARDED.0, FORWARDED.1).send();
        patiently(path, asked).await.unwrap()
    };
    let unavailable = (503, String::from("log_unavailable"));
    for _ in 0..5 {
        assert_eq!(refusal(asks(b, "/v1/access", &session).await).await, unavailable);
    }
    let socket = browser().get(b.url("/v1/ws")).header("cookie", &session).header("upgrade", "websocket");
    let socket = socket
        .header(FORWARDED.0, FORWARDED.1)
        .header("connection", "upgrade")
        .header("sec-websocket-version", "13");
    let socket =
        socket.header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==").header("origin", b.url("")).send();
    assert_eq!(patiently("a socket", socket).await.unwrap().status(), 503, "it is not told to log in");
    assert_eq!(refusal(asks(b, link["url"].as_str().unwrap(), "").await).await, unavailable);
    assert_eq!(asks(b, "/login/oidc", "").await.status(), 503);
    assert_eq!(asks(a, "/v1/access", &session).await.status(), 200, "who knows it goes on");
    assert_eq!(asks(b, "/healthz", &session).await.status(), 200);
    // The address is not barred: one login more may fail before it is.
    for wanted in [401, 401, 401, 429] {
        let guess = format!("fanlight_{}", "A".repeat(43));
        let guessed =
            b.request("GET", "/v1/access").bearer_auth(guess).header(FORWARDED.0, FORWARDED.1).send();
        assert_eq!(within("a refusal", guessed).await.unwrap().status(), wanted);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_link_is_made_at_any_hub_and_shows_the_same_at_all() {
    let cluster = Cluster::start_with(2, &["--access", "tokens"]).await;
    let all = cluster.hubs[0].token_for("all", &["view,publish,export:*"]).await;
    spread(&cluster.hubs, &all).await;
    let [a, b] = &cluster.hubs[..] else { panic!() };
    let said =
        |text: &str| json!([{"k": "message", "message": text, "role": "user", "text": text}]).to_string();
    let told = a.request("POST", "/v1/conversations/c/events").bearer_auth(&all).body(said("first")).send();
    assert!(patiently("a conversation", told).await.unwrap().status().is_success());
    // The other hub does not have the conversation.
    let link = links::made(b, &all, json!({"conversation": "c", "frozen": true, "for": "Dan"})).await;
    let told = a.request("POST", "/v1/conversations/c/events").bearer_auth(&all).body(said("late")).send();
    assert!(patiently("more of it", told).await.unwrap().status().is_success());
    let mut seen = Vec::new();
    for hub in [a, b] {
        let (guest, to) = links::followed(hub, &link).await;
        let name = to.strip_prefix("/c/").unwrap();
        let view = asks(hub, &format!("/v1/conversations/{name}"), &guest).await;
        assert_eq!(view.status(), 200);
        seen.push(view.text().await.unwrap());
        let rows = hub.request("GET", "/v1/shares?conversation=c").bearer_auth(&all).send();
        let rows: Value = patiently("the links", rows).await.unwrap().json().await.unwrap();
        assert_eq!((&rows["shares"][0]["for"], &rows["shares"][0]["by"]), (&json!("Dan"), &json!("all")));
    }
    assert!(seen[0].contains("first") && !seen[0].contains("late"), "{seen:?}");
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_a_later_version_wrote_opens_for_nobody_and_its_copy_stays() {
    let server = TestPostgresServer::start();
    let cluster = Cluster::start_on(&server, 2, &["--access", "tokens"]).await;
    let all = cluster.hubs[0].token_for("all", &["admin"]).await;
    spread(&cluster.hubs, &all).await;
    let [a, b] = &cluster.hubs[..] else { panic!() };
    let told = a.request("POST", "/v1/conversations/c/events").bearer_auth(&all).body(status("x")).send();
    assert!(patiently("a conversation", told).await.unwrap().status().is_success());
    let mut links = Vec::new();
    for _ in 0..3 {
        links.push(links::made(a, &all, json!({"conversation": "c", "frozen": true})).await);
    }
    let (guest, to) = links::followed(b, &links[0]).await;
    let copy = format!("/v1/conversations/{}", links::name_in(&to));
    assert_eq!(asks(b, &copy, &guest).await.status(), 200, "this version reads it");
    let share = format!("{}.share", cluster.schema());
    let later = format!(
        "UPDATE {share} SET share = replace(share, '\"by\":', '\"later\":true,\"by\":') WHERE share LIKE '%{}%'",
        links::name_in(&to)
    );
    assert!(server.sql(&later));
    // A change of the links has each hub read them anew.
    let revoke = async |link: &Value| {
        let path = format!("/v1/shares/{}", link["id"].as_str().unwrap());
        let revoked = a.request("DELETE", &path).bearer_auth(&all).send();
        assert_eq!(patiently("a revocation", revoked).await.unwrap().status(), 204);
    };
    revoke(&links[1]).await;
    for hub in [a, b] {
        until("the link to open for nobody", async || {
            (asks(hub, links[0]["url"].as_str().unwrap(), "").await.status() == 401).then_some(())
        })
        .await;
        until("who followed it to be cut off", async || {
            (asks(hub, &copy, &guest).await.status() == 401).then_some(())
        })
        .await;
    }
    // Nobody here knows whether it is over, so no copy goes.
    revoke(&links[2]).await;
    let seen = a.request("GET", &copy).bearer_auth(&all).send();
    assert_eq!(patiently("the copy", seen).await.unwrap().status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_link_to_a_turn_goes_on_at_whichever_hub_has_the_conversation() {
    let mut cluster = Cluster::start_with(2, &["--access", "tokens"]).await;
    let all = cluster.hubs[0].token_for("all", &["admin"]).await;
    spread(&cluster.hubs, &all).await;
    let publish = async |hub: &TestHub, events: Value| {
        let told = hub.request("POST", "/v1/conversations/c/events").bearer_auth(&all);
        let told = patiently("events", told.body(events.to_string()).send()).await.unwrap();
        told.status().is_success().then_some(())
    };
    let (link, name) = {
        let [a, b] = &cluster.hubs[..] else { panic!() };
        publish(a, links_live::begun(1)).await.unwrap();
        // The other hub does not have the conversation; whoever follows the link comes to that one too.
        let link = links::made(b, &all, json!({"conversation": "c", "turn": "m1"})).await;
        let (guest, to) = links::followed(b, &link).await;
        let name = links::name_in(&to);
        let mut watcher = links_live::Watcher::begin(b, &guest, &name).await;
        publish(a, links_live::more(1, "second ")).await.unwrap();
        watcher.hears("second").await;
        // The conversation moves; the copy goes after it.
        let path = format!("/v1/conversations/c/move?to={}", b.url("").trim_end_matches('/'));
        until("the move", async || {
            let moved = a.request("POST", &path).bearer_auth(&all).send().await.ok()?;
            moved.status().is_success().then_some(())
        })
        .await;
        publish(a, links_live::begun(2)).await.unwrap();
        publish(a, links_live::more(1, "third ")).await.unwrap();
        watcher.hears("third").await;
        assert!(!watcher.told.contains("first-2"), "{}", watcher.told);
        (link, name)
    };
    // The hub that writes it dies.
    cluster.hubs[1].kill().await;
    let a = &cluster.hubs[0];
    until("the conversation to go on", async || publish(a, links_live::more(1, "fourth ")).await).await;
    let (guest, _) = links::followed(a, &link).await;
    let mut watcher = links_live::Watcher::begin(a, &guest, &name).await;
    watcher.hears("fourth").await;
    until("its end", async || publish(a, links_live::ended(1)).await).await;
    until("the end of the copy", async || {
        let state = asks(a, &format!("/v1/conversations/{name}"), &guest).await.json::<Value>().await.ok()?;
        let run = &state["runs"]["r1"];
        (run["status"] == "complete").then(|| {
            assert_eq!(run["parts"]["p1"]["text"], "first-1 second third fourth ", "{state}");
        })
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn live_links_to_turns_go_on_when_their_hub_is_stopped_while_their_copies_move() {
    // More copies than move at once.
    const LINKS: usize = 12;
    let mut cluster = Cluster::start_with(2, &["--access", "tokens"]).await;
    let all = cluster.hubs[0].token_for("all", &["admin"]).await;
    spread(&cluster.hubs, &all).await;
    let publish = async |hub: &TestHub, events: Value| {
        let told = hub.request("POST", "/v1/conversations/c/events").bearer_auth(&all);
        let told = patiently("events", told.body(events.to_string()).send()).await.unwrap();
        told.status().is_success().then_some(())
    };
    let mut watchers = Vec::new();
    {
        let [a, b] = &cluster.hubs[..] else { panic!() };
        publish(a, links_live::begun(1)).await.unwrap();
        for _ in 0..LINKS {
            let link = links::made(a, &all, json!({"conversation": "c", "turn": "m1"})).await;
            let (guest, to) = links::followed(b, &link).await;
            watchers.push(links_live::Watcher::begin(b, &guest, &links::name_in(&to)).await);
        }
        for watcher in &mut watchers {
            watcher.hears("first-1").await;
        }
        let path = format!("/v1/conversations/c/move?to={}", b.url("").trim_end_matches('/'));
        until("the move", async || {
            let moved = a.request("POST", &path).bearer_auth(&all).send().await.ok()?;
            moved.status().is_success().then_some(())
        })
        .await;
    }
    // Its copies go after the conversation now.
    assert_eq!(cluster.hubs[0].stop().await, Some(0), "it ends well");
    let b = &cluster.hubs[1];
    until("the conversation to go on", async || publish(b, links_live::more(1, "second ")).await).await;
    for watcher in &mut watchers {
        watcher.hears("second").await;
        assert_eq!(watcher.told.matches("\"why\":\"epoch_changed\"").count(), 0, "{}", watcher.told);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_link_could_not_be_looked_up_is_good_once_it_can() {
    let server = TestPostgresServer::start();
    let cluster = Cluster::start_on(&server, 2, &["--access", "tokens"]).await;
    let all = cluster.hubs[0].token_for("all", &["view,publish,export:*"]).await;
    spread(&cluster.hubs, &all).await;
    let [a, b] = &cluster.hubs[..] else { panic!() };
    let told = a.request("POST", "/v1/conversations/c/events").bearer_auth(&all).body(status("x")).send();
    assert!(patiently("a conversation", told).await.unwrap().status().is_success());
    let schema = cluster.schema();
    // It stands still until the table of links is away, so that it cannot hear of the link by itself.
    b.signal("STOP").await;
    let link = a.request("POST", "/v1/shares").bearer_auth(&all).body(r#"{"conversation":"c"}"#).send();
    let link: Value = patiently("a link", link).await.unwrap().json().await.unwrap();
    let session = cookie(&asks(a, link["url"].as_str().unwrap(), "").await);
    assert!(server.sql(&format!("ALTER TABLE {schema}.share RENAME TO kept")));
    b.signal("CONT").await;
    for _ in 0..2 {
        let refused = refusal(asks(b, "/v1/conversations/c", &session).await).await;
        assert_eq!(refused, (503, String::from("log_unavailable")));
    }
    assert!(server.sql(&format!("ALTER TABLE {schema}.kept RENAME TO share")));
    assert_eq!(asks(b, "/v1/conversations/c", &session).await.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_logins_begun_by_a_stranger_reach_the_database_at_a_rate() {
    let provider = Provider::start().await;
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    let settings = format!(
        "[access]\nproxies = [\"127.0.0.1\"]\n[access.limits]\nprovider_logins_per_minute = 3\n{}",
        knows(&provider.url)
    );
    std::fs::write(&file, &settings).unwrap();
    let server = TestPostgresServer::start();
    let cluster = Cluster::start_on(&server, 1, &["--config", file.to_str().unwrap()]).await;
    let hub = &cluster.hubs[0];
    let begins = async |address: &str| {
        let asked = browser().get(hub.url("/login/oidc")).header("x-forwarded-for", address).send();
        patiently("a login", asked).await.unwrap()
    };
    for _ in 0..3 {
        assert_eq!(begins("203.0.113.7").await.status(), 303);
    }
    let refused = begins("203.0.113.7").await;
    assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].to_str().unwrap()), (429, "1"));
    assert!(refused.text().await.unwrap().contains("too many logins within a minute"));
    // What a stranger writes in front of the address of the proxy changes nothing, and others go on.
    assert_eq!(begins("198.51.100.9, 203.0.113.7").await.status(), 429);
    assert_eq!(begins("198.51.100.9").await.status(), 303);
    let login = format!("{}.login", cluster.schema());
    assert!(server.sql(&format!("SELECT 1 / (count(*) = 4)::int FROM {login}")), "four rows, and no more");
    // The test of the test: with a bound that is not reached the same requests are all taken.
    std::fs::write(&file, settings.replace("per_minute = 3", "per_minute = 100")).unwrap();
    let free = Cluster::start_on(&server, 1, &["--config", file.to_str().unwrap()]).await;
    for _ in 0..10 {
        let asked =
            browser().get(free.hubs[0].url("/login/oidc")).header("x-forwarded-for", "203.0.113.7").send();
        assert_eq!(patiently("a login", asked).await.unwrap().status(), 303);
    }
}
