//! What is looked for, in the syntax of what looks: SQL and the full-text index take it as words, and nobody finds more by it.

use std::fmt::Write as _;

use serde_json::Value;
use tests::TestHub;
use tests::wait::until;

use crate::access::{get, tell};

/// Searches that would find everything, fail or change something if they were taken for syntax.
const SYNTAX: [&str; 16] = [
    "' OR '1'='1",
    "'; DROP TABLE events; --",
    "x' UNION SELECT * FROM conversations --",
    "\"",
    "\" OR \"",
    "*",
    "hello OR hidden",
    "hello NOT words",
    "NEAR(hello hidden, 5)",
    "text:hidden",
    "{text conversation}: hidden",
    "- hidden",
    "^hidden",
    "(hidden",
    "hello\0hidden",
    "to_tsquery('hidden:*') | hidden:* & !hello",
];

/// `text` as it stands in an address, every byte escaped.
fn escaped(text: &str) -> String {
    text.bytes().fold(String::new(), |mut all, byte| {
        write!(all, "%{byte:02x}").unwrap();
        all
    })
}

/// What `token` finds for `words`, narrowed to them in the field `more`. Fails where the search is not answered.
async fn found(hub: &TestHub, token: &str, words: &str, more: Option<&str>) -> String {
    let more = more.map_or_else(String::new, |name| format!("&{name}={}", escaped(words)));
    let answer = get(hub, token, &format!("/v1/search?q={}{more}", escaped(words))).await;
    assert!(matches!(answer.status().as_u16(), 200 | 400 | 403), "{words}: {}", answer.status());
    answer.text().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_syntax_of_sql_and_of_the_index_in_what_is_looked_for() {
    let hub = crate::access::guarded().await;
    let all = hub.token_for("all", &["view,publish:*"]).await;
    let team = hub.token_for("team", &["view:team-*"]).await;
    assert!(tell(&hub, &all, "secret", "hidden canary words").await.status().is_success());
    assert!(tell(&hub, &all, "team-1", "hello quoted \" OR 1=1 words").await.status().is_success());
    until("the log to have the words", async || {
        let is_kept = found(&hub, &all, "canary", None).await.contains("canary")
            && found(&hub, &team, "quoted", None).await.contains("team-1");
        is_kept.then_some(())
    })
    .await;
    for words in SYNTAX {
        for more in [None, Some("conversation"), Some("kind"), Some("tool"), Some("state")] {
            let said = found(&hub, &team, words, more).await;
            assert!(!said.contains("canary"), "{words} {more:?}: {said}");
        }
        let path = format!("/v1/conversations?state={0}&after={0}", escaped(words));
        let listed = get(&hub, &team, &path).await;
        assert!(listed.status() != 500 && !listed.text().await.unwrap().contains("secret"), "{words}");
    }
    // The test can tell: whoever may see it found it, the words of the syntax are found as words, and all of it is still there.
    let quoted: Value = serde_json::from_str(&found(&hub, &team, "OR words", None).await).unwrap();
    assert!(!quoted["hits"].as_array().unwrap().is_empty(), "{quoted}");
    let listed: Value = get(&hub, &all, "/v1/conversations").await.json().await.unwrap();
    assert_eq!(listed["conversations"].as_array().unwrap().len(), 2, "{listed}");
}
