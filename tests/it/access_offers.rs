//! What somebody is told that they may do is what the hub lets them do, conversation by conversation.

use serde_json::{Value, json};
use tests::TestHub;
use tests::wait::until;

use super::access::{forbidden, get, guarded, refusal, tell};

/// What `token` is told about `conversation`.
async fn told(hub: &TestHub, token: &str, conversation: &str) -> Vec<String> {
    let answer = get(hub, token, &format!("/v1/access?conversation={conversation}")).await;
    let access: Value = answer.json().await.unwrap();
    access["may"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

/// Whether the hub refuses `token` that deed for want of a right; whatever else is wrong with it does not count.
async fn is_forbidden(hub: &TestHub, token: &str, conversation: &str, deed: &str) -> bool {
    let path = format!("/v1/conversations/{conversation}");
    let request = match deed {
        "export" => hub.request("GET", &format!("{path}/export/md")),
        "delete" => hub.request("DELETE", &path),
        deed => {
            let command = json!({"id": "x", "command": deed, "agent": "none", "text": "t", "tool": "t"});
            hub.request("POST", &format!("{path}/commands")).body(command.to_string())
        }
    };
    refusal(request.bearer_auth(token).send().await.unwrap()).await == forbidden()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_is_told_what_the_hub_would_let_them_do() {
    let hub = guarded().await;
    let writer = hub.token_for("writer", &["publish:*"]).await;
    let grants: [&[&str]; 5] =
        [&["view:*"], &["view,export:a"], &["view,control:a"], &["view,control:*"], &["admin"]];
    let all = ["say", "stop", "approve", "reject", "retry", "label", "fork", "export", "delete"];
    for (number, grants) in grants.into_iter().enumerate() {
        let token = hub.token_for(&format!("t{number}"), grants).await;
        for conversation in ["a", "b"] {
            assert!(tell(&hub, &writer, conversation, "hello").await.status().is_success());
            let told = told(&hub, &token, conversation).await;
            for deed in all {
                let is_told = told.iter().any(|word| word == deed);
                let is_forbidden = is_forbidden(&hub, &token, conversation, deed).await;
                assert_eq!(is_told, !is_forbidden, "{grants:?}, {conversation}: {deed}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_follows_a_link_may_watch_and_who_names_no_conversation_is_told_none() {
    let hub = guarded().await;
    let ann = hub.token_for("ann", &["view,publish,export:*"]).await;
    assert!(tell(&hub, &ann, "shared", "hello").await.status().is_success());
    let made = hub.request("POST", "/v1/shares").bearer_auth(&ann).body(r#"{"conversation":"shared"}"#);
    let made: Value = made.send().await.unwrap().json().await.unwrap();
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let followed = client.get(hub.url(made["url"].as_str().unwrap())).send().await.unwrap();
    let cookie = followed.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let asked = hub.request("GET", "/v1/access?conversation=shared").header("cookie", cookie);
    let access: Value = asked.send().await.unwrap().json().await.unwrap();
    assert_eq!((&access["may"], &access["begins"]), (&json!([]), &json!([])), "{access}");
    let alone: Value = get(&hub, &ann, "/v1/access").await.json().await.unwrap();
    assert_eq!(alone.get("may"), None);
    let wrong = get(&hub, &ann, "/v1/access?conversation=a%2Fb").await;
    assert_eq!(refusal(wrong).await, (400, "bad_conversation".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn beginnings_of_new_conversations_are_those_of_the_grants() {
    let hub = guarded().await;
    let team = hub.token_for("team", &["view:*", "control:team-*"]).await;
    let access: Value = get(&hub, &team, "/v1/access?conversation=team-new").await.json().await.unwrap();
    assert_eq!(access["begins"], json!(["team-"]));
    assert!(access["may"].as_array().unwrap().contains(&json!("say")), "{access}");
    // Without access control everything is everybody's.
    let open = TestHub::start().await;
    let access = until("the answer", async || {
        open.request("GET", "/v1/access?conversation=c").send().await.ok()?.json::<Value>().await.ok()
    })
    .await;
    assert_eq!((&access["on"], &access["begins"]), (&json!(false), &json!([""])));
    assert_eq!(access["may"].as_array().map(Vec::len), Some(9), "{access}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_roles_of_links_are_told_to_whoever_may_choose_one() {
    let settings = "[access]\nmode = \"tokens\"\n\n[access.roles.guest]\nhide = [\"arguments\"]\n";
    let hub = TestHub::start_with_settings(settings).await;
    let ann = hub.token_for("ann", &["view,export:c"]).await;
    let bob = hub.token_for("bob", &["view:*"]).await;
    let create = ["create", "--name", "eve", "--role", "guest", "--grant", "view,export:c"];
    let eve = hub.token(&create).await;
    let access = async |token: &str, conversation: &str| {
        let path = format!("/v1/access?conversation={conversation}");
        let asked = hub.request("GET", &path).bearer_auth(token).send().await.ok()?;
        if asked.status().is_success() { asked.json::<Value>().await.ok() } else { None }
    };
    let told = async |token: &str, conversation: &str| {
        until("the answer", async || access(token, conversation).await).await
    };
    assert_eq!(told(&ann, "c").await["roles"], json!(["guest"]));
    for (token, conversation) in [(&ann, "other"), (&bob, "c"), (&eve, "c")] {
        let access = told(token, conversation).await;
        assert_eq!(access.get("roles"), None, "{access}");
    }
}
