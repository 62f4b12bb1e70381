//! Budgets of tokens that hold at all hubs of a log, whichever of them a call goes through.

use event_log::TestPostgresServer;
use serde_json::{Value, json};
use tests::wait::{patiently, until};
use tests::{ScriptedServer, ServerStep, TestHub};

use super::cluster::{Cluster, status};
use super::several_access::spread;

/// An answer that says that it took 1,000 tokens, which cost a dollar here.
fn a_dollar() -> Vec<ServerStep> {
    let body = json!({"id": "x", "model": "m", "usage": {"prompt_tokens": 1000, "completion_tokens": 0},
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}]});
    ServerStep::answer("200 OK", &[("content-type", "application/json")], body.to_string().as_bytes())
}

/// What a hub says of the only budget that there is.
async fn budget(hub: &TestHub, admin: &str) -> Option<Value> {
    let list = hub.request("GET", "/v1/budgets").bearer_auth(admin).send().await.ok()?;
    Some(list.json::<Value>().await.ok()?["budgets"][0].clone())
}

/// Two hubs that lend the key of an upstream whose calls cost a dollar, and a token of theirs with the budget of three.
struct Lenders {
    cluster: Cluster,
    origin: ScriptedServer,
    admin: String,
    token: String,
    _place: tempfile::TempDir,
}

impl Lenders {
    async fn start(server: &TestPostgresServer) -> Self {
        let origin = ScriptedServer::start(|_| a_dollar()).await;
        let place = tempfile::tempdir().unwrap();
        let (file, key) = (place.path().join("fanlight.toml"), place.path().join("key"));
        std::fs::write(&key, "sk-vendor-7c1d5e0f9b3a48d2").unwrap();
        let upstream = format!("url = \"http://{}\"\nkey_file = \"{}\"\n", origin.address(), key.display());
        let settings =
            format!("[access]\n[upstreams.one]\n{upstream}[prices.\"*\"]\ninput = 1000\noutput = 1000\n");
        std::fs::write(&file, settings).unwrap();
        let cluster = Cluster::start_on(server, 2, &["--config", file.to_str().unwrap()]).await;
        let admin = cluster.hubs[0].token_for("admin", &["admin,publish:*"]).await;
        let named = ["--upstream", "one", "--budget", "3usd"];
        let token = [&["create", "--name", "ci", "--grant", "publish:*"][..], &named].concat();
        let token = cluster.hubs[0].token(&token).await;
        spread(&cluster.hubs, &token).await;
        for (hub, conversation) in cluster.hubs.iter().zip(["of-a", "of-b"]) {
            let path = format!("/v1/conversations/{conversation}/events");
            let begun = hub.request("POST", &path).bearer_auth(&admin).body(status("x")).send();
            assert!(patiently("a conversation", begun).await.unwrap().status().is_success());
        }
        Self { cluster, origin, admin, token, _place: place }
    }

    /// What a call through the hub with that number is answered.
    async fn call(&self, number: usize) -> u16 {
        let conversation = ["of-a", "of-b"][number];
        let asked = self.cluster.hubs[number].request("POST", "/proxy/one/v1/chat/completions");
        let asked = asked.bearer_auth(&self.token).header("fanlight-conversation", conversation);
        let asked = asked.body(r#"{"model":"m","messages":[{"role":"user","content":"Hello?"}]}"#).send();
        patiently("a call", asked).await.unwrap().status().as_u16()
    }

    /// Waits until the hub with that number knows of so many calls, which cost as many dollars.
    async fn knows(&self, number: usize, calls: u64) {
        let spent = until("the hub to know the sum", async || {
            let row = budget(&self.cluster.hubs[number], &self.admin).await?;
            (row["calls"] == calls).then_some(row["spent"]["amount"].clone())
        });
        assert_eq!(spent.await, calls.to_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_holds_for_what_is_spent_at_all_hubs() {
    let mut lenders = Lenders::start(TestPostgresServer::shared()).await;
    for (calls, hub) in (1..).zip([0, 1, 1]) {
        assert_eq!(lenders.call(hub).await, 200);
        lenders.knows(0, calls).await;
        lenders.knows(1, calls).await;
    }
    assert_eq!((lenders.call(0).await, lenders.call(1).await), (429, 429));
    assert_eq!(lenders.origin.asked().len(), 3, "nothing more was sent");
    // What was spent is not forgotten with the hub through which it went.
    lenders.cluster.hubs[1].restart().await;
    assert_eq!((lenders.call(1).await, lenders.call(0).await), (429, 429));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_hub_charged_while_the_database_was_away_outlives_the_hub() {
    let server = TestPostgresServer::start();
    let mut lenders = Lenders::start(&server).await;
    assert_eq!(lenders.call(0).await, 200);
    lenders.knows(0, 1).await;
    lenders.knows(1, 1).await;
    server.kill();
    assert_eq!((lenders.call(0).await, lenders.call(1).await), (200, 200));
    for number in [0, 1] {
        // Each goes on from what it knew, with what it charges itself.
        lenders.knows(number, 2).await;
        let file = lenders.cluster.hubs[number].folder().join("spending.unsent.json");
        until("what was charged to be in a file", async || {
            std::fs::read_to_string(&file).ok().filter(|text| text.contains("\"calls\": 1"))
        })
        .await;
        lenders.cluster.hubs[number].kill().await;
    }
    server.resume();
    for number in [0, 1] {
        lenders.cluster.hubs[number].start_again().await;
    }
    for number in [0, 1] {
        lenders.knows(number, 3).await;
        assert_eq!(lenders.call(number).await, 429);
        let file = lenders.cluster.hubs[number].folder().join("spending.unsent.json");
        until("nothing to be left in the file", async || (!file.exists()).then_some(())).await;
    }
    lenders.cluster.hubs[0].restart().await;
    lenders.knows(0, 3).await;
}
