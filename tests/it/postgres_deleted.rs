//! A conversation that is deleted from a log in PostgreSQL: its words and its name are in no row of any table.

use event_log::TestPostgresServer;
use serde_json::json;
use tests::TestHub;
use tests::wait::{patiently_until, within};

/// A word that nothing else has.
const SECRET: &str = "zanzibarquux";

/// The name of the conversation, which nothing else has either.
const NAME: &str = "deleted-conversation-of-zebedee";

/// Whether `word` is in some row of some table of `schema`, in any column: as text, as bytes, or as a word of the index. One statement that
/// fails if it is, and names the table in the server's log.
pub(super) fn holds(server: &TestPostgresServer, schema: &str, word: &str) -> bool {
    let look = format!(
        "DO $$ DECLARE t text; n bigint; BEGIN
           FOR t IN SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname = '{schema}' LOOP
             EXECUTE format('SELECT count(*) FROM %s AS r WHERE position(%L in r::text) > 0 OR position(%L in r::text) > 0',
               t, '{word}', encode('{word}', 'hex')) INTO n;
             IF n > 0 THEN RAISE EXCEPTION '% rows of % have it', n, t; END IF;
           END LOOP;
         END $$"
    );
    assert!(server.sql(&format!("SELECT 1 FROM \"{schema}\".conversation LIMIT 1")), "the schema is there");
    !server.sql(&look)
}

/// Whether a row of some table belongs to a conversation that is not there: blocks, states and indexes are packed, so their words are not read.
fn has_orphans(server: &TestPostgresServer, schema: &str) -> bool {
    let look = format!(
        "DO $$ DECLARE t text; n bigint; BEGIN
           FOR t IN SELECT format('%I.%I', table_schema, table_name) FROM information_schema.columns
             WHERE table_schema = '{schema}' AND column_name = 'conversation' AND data_type = 'bigint' LOOP
             EXECUTE format('SELECT count(*) FROM %s WHERE conversation NOT IN (SELECT key FROM \"{schema}\".conversation)', t) INTO n;
             IF n > 0 THEN RAISE EXCEPTION '% rows of % have none', n, t; END IF;
           END LOOP;
           SELECT count(*) FROM \"{schema}\".gone INTO n;
           IF n > 0 THEN RAISE EXCEPTION '% rows are to be deleted', n; END IF;
         END $$"
    );
    !server.sql(&look)
}

/// Publishes a run with `word` in whatever a conversation can say. Names of agents, models and tools stay in the figures, so they have other words.
pub(super) async fn run(hub: &TestHub, conversation: &str, word: &str) {
    let large = format!("{}{word}", "large ".repeat(70_000));
    let file = json!({ "name": format!("{word}.txt"), "type": "text/plain", "bytes": 9 });
    let events = json!([
        { "k": "message", "message": "m", "role": "user", "text": format!("About {word}"), "files": [file] },
        { "k": "run.start", "run": "r", "title": word, "name": "lead", "model": "m-1" },
        { "k": "part.start", "run": "r", "part": "h", "kind": "thinking" },
        { "k": "part.delta", "run": "r", "part": "h", "text": format!("{word} is thought") },
        { "k": "part.end", "run": "r", "part": "h" },
        { "k": "part.start", "run": "r", "part": "p", "kind": "text" },
        { "k": "part.delta", "run": "r", "part": "p", "text": format!("{word} is said") },
        { "k": "part.end", "run": "r", "part": "p" },
        { "k": "tool.call", "run": "r", "tool": "t", "name": "query", "arguments": json!({ "of": word }).to_string() },
        { "k": "tool.result", "run": "r", "tool": "t", "output": { "rows": large } },
        { "k": "agent.start", "run": "r", "agent": "a", "name": "sub", "text": word },
        { "k": "agent.end", "run": "r", "agent": "a", "status": "complete" },
        { "k": "status", "run": "r", "text": word },
        { "k": "custom", "run": "r", "name": "note", "value": { "says": word } },
        { "k": "raw", "run": "r", "name": "odd", "value": { "says": word } },
        { "k": "error", "run": "r", "code": "x", "message": word },
        { "k": "run.end", "run": "r", "status": "complete" },
    ]);
    let path = format!("/v1/conversations/{conversation}");
    let request = hub.request("POST", &format!("{path}/events")).header("fanlight-durability", "stored");
    let answer = within(&path, request.body(events.to_string()).send()).await.unwrap();
    assert_eq!(answer.status(), 200, "{}", answer.text().await.unwrap());
    let label = json!({ "id": format!("l-{conversation}"), "command": "label", "title": word, "note": word, "tags": [word] });
    let answer =
        hub.request("POST", &format!("{path}/commands")).body(label.to_string()).send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_deleted_is_in_no_row_of_any_table_and_neither_is_its_name() {
    let server = TestPostgresServer::shared();
    let place = server.place();
    let schema = place.url().rsplit_once("%3D").expect("a place has a schema of its own").1.to_owned();
    let mut hub = TestHub::start_with(&["--log", place.url()]).await;
    run(&hub, NAME, SECRET).await;
    run(&hub, "stays", "harmless").await;
    let found =
        async |word: &str| hub.json(&format!("/v1/search?q={word}")).await["hits"].as_array().unwrap().len();
    patiently_until("the index", async || (found(SECRET).await > 2).then_some(())).await;
    assert!(holds(server, &schema, SECRET) && holds(server, &schema, NAME), "the look finds what is there");

    let answer = hub.request("DELETE", &format!("/v1/conversations/{NAME}")).send().await.unwrap();
    assert_eq!(answer.status(), 204);
    // Rows go in steps after the answer; what is left of them is not found by anybody.
    assert_eq!(found(SECRET).await, 0);
    patiently_until("the rows to go", async || (!has_orphans(server, &schema)).then_some(())).await;
    assert!(!holds(server, &schema, SECRET), "a row has the word");
    assert!(found("harmless").await > 2);
    // Nor does the hub write it again when it ends, or another one when it begins.
    assert_eq!(hub.stop().await, Some(0));
    assert!(!holds(server, &schema, SECRET), "a row has the word");
    hub.start_again().await;
    patiently_until("the name to go", async || (!holds(server, &schema, NAME)).then_some(())).await;
    assert!(!holds(server, &schema, SECRET) && holds(server, &schema, "harmless"));
    assert_eq!(hub.summary("stays").await["runs"].as_array().map(Vec::len), Some(1));
}
