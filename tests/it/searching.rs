//! What a search is narrowed to beside its words, what it refuses, and what it tells whom.

use serde_json::{Value, json};
use tests::TestHub;
use tests::wait::until;

use super::access::get;
use super::access_roles::{with_role, with_roles};

/// A run of `agent` that calls `tool`, up to its end.
fn told(agent: &str, tool: &str, status: &str) -> String {
    [
        json!({"k": "message", "message": "m1", "role": "user", "text": "Where is the needle?"}),
        json!({"k": "run.start", "run": "r", "name": agent, "title": "The haystack"}),
        json!({"k": "part.start", "run": "r", "part": "p0", "kind": "thinking"}),
        json!({"k": "part.delta", "run": "r", "part": "p0", "text": "A needle is thin"}),
        json!({"k": "part.end", "run": "r", "part": "p0"}),
        json!({"k": "tool.call", "run": "r", "tool": "t1", "name": tool, "arguments": "{\"q\":\"needle\"}"}),
        json!({"k": "tool.result", "run": "r", "tool": "t1", "output": "one needle"}),
        json!({"k": "part.start", "run": "r", "part": "p1", "kind": "text"}),
        json!({"k": "part.delta", "run": "r", "part": "p1", "text": "The needle is in the hay"}),
        json!({"k": "part.end", "run": "r", "part": "p1"}),
        json!({"k": "run.end", "run": "r", "status": status}),
    ]
    .map(|line| line.to_string())
    .join("\n")
}

/// What the answer found, as conversation and item.
fn found(answer: &Value) -> Vec<String> {
    let hits = answer["hits"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    hits.iter().map(|hit| format!("{}/{}", text(&hit["conversation"]), text(&hit["item"]))).collect()
}

/// What a search for the word of all texts finds, narrowed by `more`.
async fn narrowed(hub: &TestHub, more: &str) -> Vec<String> {
    found(&hub.json(&format!("/v1/search?q=needle{more}")).await)
}

/// Waits until the log has the rows of both conversations, as far as a search is narrowed by them.
async fn rows_are_kept(hub: &TestHub) {
    hub.json_until("/v1/search?q=needle&state=error", |answer| found(answer).len() == 5).await;
    hub.json_until("/v1/search?q=needle&state=complete", |answer| found(answer).len() == 5).await;
}

#[tokio::test]
async fn a_search_is_narrowed_by_everything_that_is_named_and_pages_are_full() {
    let hub = TestHub::start().await;
    hub.publisher("c").await.says(&told("night coder", "run_sql", "complete")).await;
    hub.publisher("d").await.says(&told("writer", "web_search", "error")).await;
    let label = json!({"id": "1", "command": "label", "archived": true, "tags": ["old"]});
    let labelled =
        hub.request("POST", "/v1/conversations/d/commands").body(label.to_string()).send().await.unwrap();
    assert!(labelled.status().is_success(), "{}", labelled.text().await.unwrap());
    rows_are_kept(&hub).await;
    hub.json_until("/v1/search?q=needle&archived=only", |answer| found(answer).len() == 5).await;
    let all_of = |name: &str| ["p1", "t1", "t1", "p0", "m1"].map(|item| format!("{name}/{item}")).to_vec();
    assert_eq!(narrowed(&hub, "").await, [all_of("d"), all_of("c")].concat(), "archived ones too");
    assert_eq!(narrowed(&hub, "&archived=no").await, all_of("c"));
    assert_eq!(narrowed(&hub, "&tag=old").await, all_of("d"));
    assert_eq!(narrowed(&hub, "&agent=CODER").await, all_of("c"));
    assert_eq!(narrowed(&hub, "&agent=coder&state=error").await, Vec::<String>::new());
    assert_eq!(narrowed(&hub, "&tool=sql").await, ["c/t1", "c/t1"], "arguments and result");
    assert_eq!(narrowed(&hub, "&tool=search&kind=result").await, ["d/t1"]);
    // By time: the newest text of c is a border.
    let hits = hub.json("/v1/search?q=needle&conversation=c&limit=1").await;
    let at = hits["hits"][0]["at"].as_u64().unwrap();
    assert_eq!(narrowed(&hub, &format!("&since={}", at + 3_600_000)).await, Vec::<String>::new());
    assert_eq!(narrowed(&hub, &format!("&until={}", at + 3_600_000)).await.len(), 10);
    assert!(narrowed(&hub, &format!("&since={at}&conversation=c")).await.contains(&"c/p1".to_owned()));
    assert!(!narrowed(&hub, &format!("&until={at}&conversation=c")).await.contains(&"c/p1".to_owned()));
    // The hub leaves out what does not fit before it counts.
    let page = hub.json("/v1/search?q=needle&agent=coder&limit=2").await;
    assert_eq!(found(&page), ["c/p1", "c/t1"]);
    let next = page["next"].as_u64().unwrap();
    let rest = hub.json(&format!("/v1/search?q=needle&agent=coder&limit=9&before={next}")).await;
    assert_eq!(
        (found(&rest), &rest["next"]),
        (vec!["c/t1".into(), "c/p0".into(), "c/m1".into()], &Value::Null)
    );
}

#[tokio::test]
async fn what_a_search_cannot_be_narrowed_to_is_refused_with_what_it_can() {
    let hub = TestHub::start().await;
    let long = format!("tool={}", "x".repeat(1_025));
    let cases = [
        ("colour=red", "unknown field `colour`"),
        ("state=silent", "unknown variant `silent`, expected one of `running`"),
        ("archived=yes", "unknown variant `yes`"),
        ("kind=texts", "unknown variant `texts`"),
        ("since=yesterday", "since"),
        ("since=9&until=9", "until: 9 is not after since, 9"),
        ("tool=", "tool: say 1 to 1024 bytes"),
        ("agent=", "agent: say 1 to 1024 bytes"),
        ("tag=", "tag: say 1 to 1024 bytes"),
        (long.as_str(), "tool: say 1 to 1024 bytes"),
        ("tool=x&kind=thinking", "tool: only arguments and results are of a tool"),
    ];
    for (more, why) in cases {
        let answer = hub.request("GET", &format!("/v1/search?q=a&{more}")).send().await.unwrap();
        let status = answer.status().as_u16();
        let said: Value = answer.json().await.unwrap();
        assert_eq!((status, &said["code"]), (400, &json!("bad_request")), "{more}: {said}");
        assert!(said["detail"].as_str().unwrap().contains(why), "{more}: {said}");
    }
}

#[tokio::test]
async fn whoever_may_not_see_something_does_not_find_it_by_what_it_is_narrowed_to() {
    let hub = with_roles().await;
    let all = hub.token_for("all", &["view,publish:*"]).await;
    for (name, agent, tool, status) in
        [("c", "coder", "run_sql", "complete"), ("d", "writer", "web_search", "error")]
    {
        let path = format!("/v1/conversations/{name}/events");
        let body = told(agent, tool, status);
        let request =
            hub.request("POST", &path).header("content-type", "application/x-ndjson").bearer_auth(&all);
        let taken = request.body(body).send().await.unwrap();
        assert!(taken.status().is_success(), "{}", taken.text().await.unwrap());
    }
    let search = async |token: &str, more: &str| {
        let answer = get(&hub, token, &format!("/v1/search?q=needle{more}")).await;
        found(&answer.json().await.unwrap())
    };
    until("the log to have the rows", async || {
        let is_kept =
            search(&all, "&state=error").await.len() == 5 && search(&all, "&agent=coder").await.len() == 5;
        is_kept.then_some(())
    })
    .await;
    let no_sql = with_role(&hub, "no-sql", "view:*").await;
    assert_eq!(search(&no_sql, "&tool=run_sql").await, Vec::<String>::new());
    assert_eq!(search(&no_sql, "&tool=search").await, ["d/t1", "d/t1"]);
    assert_eq!(search(&no_sql, "&agent=coder").await, ["c/p1", "c/p0", "c/m1"]);
    let guest = with_role(&hub, "guest", "view:*").await;
    assert_eq!(search(&guest, "&state=error").await, ["d/p1", "d/m1"]);
    // What is hidden does not shorten a page.
    assert_eq!(search(&guest, "&since=1&limit=4").await, ["d/p1", "d/m1", "c/p1", "c/m1"]);
    let some = hub.token_for("some", &["view:d"]).await;
    assert_eq!(search(&some, "&agent=coder").await, Vec::<String>::new());
    assert_eq!(search(&some, "&agent=writer&kind=result").await, ["d/t1"]);
}
