//! Who did what: the audit log, and that nobody changes it unseen.

use serde_json::{Value, json};
use tests::TestHub;
use tests::hub::binary;
use tests::wait::{until, within};
use tests::wire::WebSocketWire;
use tokio::process::Command;

use super::access::{forbidden, get, guarded, refusal, tell};

/// All entries, the oldest first.
async fn entries(hub: &TestHub, admin: &str) -> Vec<Value> {
    let page: Value = get(hub, admin, "/v1/audit").await.json().await.unwrap();
    let mut entries = page["entries"].as_array().unwrap().clone();
    assert_eq!(page["head"]["n"], entries[0]["n"], "{page}");
    entries.reverse();
    entries
}

/// The entries of that deed.
fn of<'a>(entries: &'a [Value], deed: &str) -> Vec<&'a Value> {
    entries.iter().filter(|entry| entry["deed"] == deed).collect()
}

/// What `fanlight audit verify` says, and whether it is content.
async fn verified(folder: &std::path::Path) -> (bool, String) {
    let mut command = Command::new(binary());
    command.args(["audit", "verify", "--data-dir"]).arg(folder).kill_on_drop(true);
    let ran = within("fanlight audit verify", command.output()).await.unwrap();
    let said = [ran.stdout, ran.stderr].concat();
    (ran.status.success(), String::from_utf8(said).unwrap())
}

/// Logs a browser in; its cookie.
async fn logged_in(hub: &TestHub, token: &str) -> reqwest::Response {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let form = hub.request("POST", "/login").body(format!("token={token}&next=/"));
    client.execute(form.build().unwrap()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_logs_in_commands_exports_shares_and_is_refused_is_noted_by_name() {
    let hub = guarded().await;
    let admin = hub.token_for("operator", &["admin"]).await;
    let ann = hub.token_for("ann", &["view,publish,control,export,import:team-*"]).await;
    assert!(tell(&hub, &ann, "team-one", "hello").await.status().is_success());
    assert_eq!(logged_in(&hub, &ann).await.status(), 303);
    assert_eq!(logged_in(&hub, "fanlight_wrong").await.status(), 401);
    assert!(get(&hub, &ann, "/v1/conversations/team-one/export/md").await.status().is_success());
    assert_eq!(refusal(get(&hub, &ann, "/v1/conversations/secret").await).await, forbidden());
    let stop = json!({ "id": "one", "command": "stop", "run": "r1" }).to_string();
    let commands = "/v1/conversations/team-one/commands";
    let stopped = hub.request("POST", commands).bearer_auth(&ann).body(stop).send().await.unwrap();
    assert_eq!(stopped.status(), 409);
    let fork = json!({ "id": "two", "command": "fork", "into": "team-two" }).to_string();
    let forked = hub.request("POST", commands).bearer_auth(&ann).body(fork).send().await.unwrap();
    assert!(forked.status().is_success(), "{}", forked.text().await.unwrap());
    // The same over a socket.
    let mut wire = WebSocketWire::connect_in_silence(hub.address()).await;
    wire.send_text(format!(r#"{{"t":"hello","versions":["1"],"token":"{ann}"}}"#)).await;
    assert!(wire.text().await.unwrap().contains("welcome"));
    let command =
        r#"{"t":"command","conv":"team-one","command":{"id":"three","command":"reject","tool":"t"}}"#;
    for frame in [command, r#"{"t":"sub","sub":1,"conv":"secret"}"#] {
        wire.send_text(frame.to_owned()).await;
        assert!(wire.text().await.unwrap().contains("code"));
    }
    let wish = json!({ "conversation": "team-one" }).to_string();
    let made = hub.request("POST", "/v1/shares").bearer_auth(&ann).body(wish).send().await.unwrap();
    let made: Value = made.json().await.unwrap();
    let (url, id) = (made["url"].as_str().unwrap(), made["id"].as_str().unwrap());
    assert!(hub.request("GET", url).send().await.unwrap().status().is_redirection() || !url.is_empty());
    let unshare = format!("/v1/shares/{id}");
    assert_eq!(hub.request("DELETE", &unshare).bearer_auth(&ann).send().await.unwrap().status(), 204);
    hub.token(&["revoke", "ann"]).await;
    until("the revocation to be noted", async || {
        (!of(&entries(&hub, &admin).await, "revoke_token").is_empty()).then_some(())
    })
    .await;

    let all = entries(&hub, &admin).await;
    let one =
        |deed: &str| of(&all, deed).first().copied().cloned().unwrap_or_else(|| panic!("{deed}: {all:?}"));
    assert_eq!(one("start")["n"], 1);
    let created: Vec<_> = of(&all, "create_token").iter().map(|entry| entry["detail"].clone()).collect();
    assert_eq!(created, ["operator", "ann"]);
    assert_eq!(one("revoke_token")["detail"], "ann");
    assert_eq!((&one("log_in")["who"], &one("log_in")["from"]), (&json!("ann"), &json!("127.0.0.1")));
    assert_eq!((&one("export")["who"], &one("export")["conversation"]), (&json!("ann"), &json!("team-one")));
    assert_eq!((&one("share")["who"], &one("unshare")["who"]), (&json!("ann"), &json!("ann")));
    assert_eq!(one("follow")["conversation"], "team-one");
    let told: Vec<_> =
        of(&all, "command").iter().map(|it| (it["detail"].clone(), it["failed"].clone())).collect();
    let failed = json!("not_running");
    assert_eq!(told[0], (json!("stop r1"), failed.clone()));
    assert_eq!(told[1], (json!("fork team-two"), Value::Null));
    assert_eq!(told[2].0, json!("reject t"));
    assert!(of(&all, "command").iter().all(|entry| entry["who"] == "ann"));
    let refused = of(&all, "refused");
    let has = |who: &str, detail: &str| refused.iter().any(|it| it["who"] == who && it["detail"] == detail);
    assert!(
        has("", "POST /login") && has("ann", "GET /v1/conversations/{conversation}") && has("ann", "sub"),
        "{refused:?}"
    );
    // No secret stands in it, and nobody but an operator reads it.
    let text = std::fs::read_to_string(hub.folder().join("audit.jsonl")).unwrap();
    assert!(!text.contains("fanlight_") && !text.contains("flk_") && !text.contains(url));
    let bob = hub.token_for("bob", &["view,control,export:*"]).await;
    assert_eq!(refusal(get(&hub, &bob, "/v1/audit").await).await, forbidden());
    let (whole, said) = verified(hub.folder()).await;
    assert!(whole && said.contains("entries"), "{said}");
}

/// A hub whose audit log notes who views what, or does not.
async fn with_views(noted: &str) -> TestHub {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    std::fs::write(&file, format!("[access]\nmode = \"tokens\"\n{noted}")).unwrap();
    TestHub::start_with(&["--config", file.to_str().unwrap()]).await
}

/// Looks at two conversations in several ways, and at one that it may not see.
async fn looks(hub: &TestHub, token: &str) {
    let mut wire = WebSocketWire::connect_in_silence(hub.address()).await;
    wire.send_text(format!(r#"{{"t":"hello","versions":["1"],"token":"{token}"}}"#)).await;
    assert!(wire.text().await.unwrap().contains("welcome"));
    for (sub, conversation) in [(1, "team-one"), (2, "team-one"), (3, "secret")] {
        wire.send_text(format!(r#"{{"t":"sub","sub":{sub},"conv":"{conversation}"}}"#)).await;
        let wanted = if conversation == "secret" { "forbidden" } else { "live" };
        while !wire.text().await.unwrap().contains(wanted) {}
    }
    assert!(get(hub, token, "/v1/conversations/team-one").await.status().is_success());
    assert!(
        get(hub, token, "/v1/conversations/team-two/stream/openai-chat?until=run.end")
            .await
            .status()
            .is_success()
    );
    assert_eq!(get(hub, token, "/v1/conversations/team-none").await.status(), 404);
    assert!(get(hub, token, "/v1/conversations").await.status().is_success());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_views_what_is_noted_where_that_is_wanted_and_once_in_a_while() {
    for (setting, wanted) in [("audit_views = true\n", vec!["sub", "GET"]), ("", vec![])] {
        let hub = with_views(setting).await;
        let admin = hub.token_for("operator", &["admin"]).await;
        let ann = hub.token_for("ann", &["view,publish:team-*"]).await;
        for conversation in ["team-one", "team-two"] {
            assert!(tell(&hub, &ann, conversation, "hello").await.status().is_success());
        }
        looks(&hub, &ann).await;
        let all = entries(&hub, &admin).await;
        let views = of(&all, "view");
        let told: Vec<_> = views
            .iter()
            .map(|it| (it["who"].as_str().unwrap(), it["conversation"].as_str().unwrap()))
            .collect();
        let both = [("ann", "team-one"), ("ann", "team-two")];
        assert_eq!(told, both[..wanted.len()], "{all:?}");
        for (view, over) in views.iter().zip(wanted) {
            assert!(view["detail"].as_str().unwrap().starts_with(over), "{view}");
        }
        assert!(verified(hub.folder()).await.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_read_page_by_page() {
    let hub = guarded().await;
    let admin = hub.token_for("operator", &["admin"]).await;
    for _ in 0..5 {
        get(&hub, &admin, "/v1/conversations/none/export/md").await;
    }
    let all = entries(&hub, &admin).await.len();
    let (mut numbers, mut next) = (Vec::new(), None::<u64>);
    loop {
        let before = next.map(|next| format!("&before={next}")).unwrap_or_default();
        let page: Value =
            get(&hub, &admin, &format!("/v1/audit?limit=2{before}")).await.json().await.unwrap();
        numbers.extend(page["entries"].as_array().unwrap().iter().map(|entry| entry["n"].as_u64().unwrap()));
        next = page["next"].as_u64();
        if next.is_none() {
            break;
        }
    }
    // Whoever reads is noted too.
    assert!(numbers.len() > all, "{numbers:?}");
    assert_eq!(numbers.last(), Some(&1));
    assert!(numbers.windows(2).all(|two| two[0] > two[1]), "{numbers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_changing_the_log_while_the_hub_is_down() {
    let mut hub = guarded().await;
    let admin = hub.token_for("operator", &["admin"]).await;
    for _ in 0..3 {
        get(&hub, &admin, "/v1/conversations/secret/export/md").await;
    }
    hub.kill().await;
    let path = hub.folder().join("audit.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(verified(hub.folder()).await.0, "nothing was changed yet");
    // What was done to another conversation; nothing was done; the end is cut off.
    let line = text.lines().position(|line| line.contains("secret")).unwrap();
    let other = text.replacen("secret", "public", 1);
    let without: String =
        text.split_inclusive('\n').enumerate().filter(|(at, _)| *at != line).map(|(_, it)| it).collect();
    let cut: String = text.split_inclusive('\n').take(2).collect();
    for (changed, first) in [(other, line + 2), (without, line + 1), (cut, 2)] {
        std::fs::write(&path, &changed).unwrap();
        let (whole, said) = verified(hub.folder()).await;
        assert!(!whole && said.contains(&format!("audit.jsonl:{first}:")), "{said}");
    }
    std::fs::write(&path, text.replacen("secret", "public", 1)).unwrap();
    hub.start_again().await;
    let all = entries(&hub, &admin).await;
    let start = of(&all, "start").pop().unwrap().clone();
    assert_eq!(
        start["failed"], "audit_broken",
        "whoever starts the hub again is told, and so is whoever reads: {start}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_refusals_without_end_do_not_fill_the_disk() {
    let hub = guarded().await;
    let admin = hub.token_for("operator", &["admin"]).await;
    for _ in 0..300 {
        let answer =
            hub.request("GET", "/v1/conversations").bearer_auth("fanlight_guess").send().await.unwrap();
        assert_eq!(answer.status(), 401);
    }
    let refused = of(&entries(&hub, &admin).await, "refused").len();
    // The minute may change once meanwhile.
    assert!((1..=2 * access::audit::REFUSALS_PER_MINUTE_MAX as usize + 1).contains(&refused), "{refused}");
}
