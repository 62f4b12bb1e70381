//! Links that are tried for more than they are: other conversations, other copies, writing, sharing on.

use serde_json::json;
use tests::wait::patiently;

use crate::access::{forbidden, get, guarded, refusal};
use crate::access_page::browser;
use crate::links::{followed, hash_of, made, name_in, over_socket, publish, turn, wish};

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_link_opens_no_other_copy_and_not_the_original_of_its_own() {
    let hub = guarded().await;
    let admin = hub.token_for("admin", &["admin"]).await;
    for number in 1..=2 {
        publish(&hub, &admin, "c", &turn(number, "")).await;
    }
    let of_turn = json!({"conversation": "c", "frozen": true, "turn": "m1"});
    let (one, to_one) = followed(&hub, &made(&hub, &admin, of_turn).await).await;
    let whole = json!({"conversation": "c", "frozen": true});
    let (all, to_all) = followed(&hub, &made(&hub, &admin, whole).await).await;
    let (live, _) = followed(&hub, &made(&hub, &admin, json!({"conversation": "c"})).await).await;
    let (one_name, all_name) = (name_in(&to_one), name_in(&to_all));
    let second = hash_of(&hub, &admin, "c", 2).await;
    let asks = async |cookie: &str, path: &str| {
        let asked = browser().get(hub.url(path)).header("cookie", cookie).send();
        patiently(path, asked).await.unwrap()
    };
    for (guest, own, others) in [
        (&one, &one_name, ["c", &all_name]),
        (&all, &all_name, ["c", &one_name]),
        (&live, &"c".to_owned(), [&one_name, &all_name]),
    ] {
        assert_eq!(asks(guest, &format!("/v1/conversations/{own}")).await.status(), 200);
        for other in others {
            for rest in ["", "?summary", "/events", "/wait?timeout_ms=1", "/stream/rye", "/export/md"] {
                let path = format!("/v1/conversations/{other}{rest}");
                assert_eq!(refusal(asks(guest, &path).await).await, forbidden(), "{own}: {path}");
            }
            let path = format!("/v1/conversations/{other}/results/{second}");
            assert_eq!(refusal(asks(guest, &path).await).await, forbidden(), "{own}: {path}");
            let path = format!("/v1/shares?conversation={other}");
            assert_eq!(refusal(asks(guest, &path).await).await, forbidden(), "{own}: {path}");
        }
    }
    // A result that is in the whole, and not in the turn, is not got by its hash either.
    assert_eq!(asks(&all, &format!("/v1/conversations/{all_name}/results/{second}")).await.status(), 200);
    assert_eq!(asks(&one, &format!("/v1/conversations/{one_name}/results/{second}")).await.status(), 410);
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_nobody_writes_to_what_a_frozen_link_shows_nor_makes_such_a_name() {
    let hub = guarded().await;
    let admin = hub.token_for("admin", &["admin"]).await;
    publish(&hub, &admin, "c", &turn(1, "")).await;
    let link = made(&hub, &admin, json!({"conversation": "c", "frozen": true})).await;
    let (guest, to) = followed(&hub, &link).await;
    let name = name_in(&to);
    let before = over_socket(&hub, &guest, &name).await;
    let events = json!([{"k": "message", "message": "m7", "role": "user", "text": "canary"}]).to_string();
    for conversation in [name.as_str(), "fanlight.frozen.mine"] {
        let post = async |method: &str, rest: &str, body: &str| {
            let path = format!("/v1/conversations/{conversation}{rest}");
            let sent = hub.request(method, &path).bearer_auth(&admin).body(body.to_owned()).send();
            refusal(patiently(&path, sent).await.unwrap()).await
        };
        assert_eq!(post("POST", "/events", &events).await, forbidden());
        let file = "{\"fanlight\":\"native\",\"version\":1,\"conversation\":\"x\"}\n{\"k\":\"status\",\"text\":\"canary\",\"seq\":1,\"at\":1}\n";
        assert_eq!(post("PUT", "/events", file).await, forbidden());
        let label = r#"{"id":"1","command":"label","title":"canary"}"#;
        let (status, _) = post("POST", "/commands", label).await;
        assert!((400..500).contains(&status), "{status}");
        let stream = format!("/v1/ingest/openai-chat/{conversation}");
        let ingested = hub.request("POST", &stream).bearer_auth(&admin).body("data: {\"choices\":[]}\n\n");
        assert_eq!(refusal(ingested.send().await.unwrap()).await, forbidden());
        let fork = json!({"id": "2", "command": "fork", "into": conversation}).to_string();
        let forked = hub.request("POST", "/v1/conversations/c/commands").bearer_auth(&admin).body(fork);
        assert!(!forked.send().await.unwrap().status().is_success());
    }
    // Who follows the link may do none of it, and shares it no further.
    for (method, path) in
        [("POST", format!("/v1/conversations/{name}/events")), ("POST", "/v1/shares".to_owned())]
    {
        let sent = browser().request(method.parse().unwrap(), hub.url(&path)).header("cookie", &guest);
        let body =
            if path == "/v1/shares" { json!({"conversation": name}).to_string() } else { events.clone() };
        assert_eq!(
            refusal(sent.header("origin", hub.url("")).body(body).send().await.unwrap()).await,
            forbidden()
        );
    }
    assert_eq!(over_socket(&hub, &guest, &name).await, before);
    let missing = get(&hub, &admin, "/v1/conversations/fanlight.frozen.mine").await;
    assert_eq!(missing.status(), 404, "nothing was made");
    let again = wish(&hub, &admin, &json!({"conversation": name, "frozen": true})).await;
    assert_eq!(refusal(again).await, (400, "bad_request".to_owned()));
}
