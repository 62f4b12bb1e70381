//! `fanlight scan` and `fanlight erase` on a log in PostgreSQL: what is erased is in no row of any table, and in no file of one.

use std::collections::BTreeSet;
use std::path::Path;

use event_log::TestPostgresServer;
use serde_json::{Value, json};
use tests::TestHub;
use tests::wait::patiently_until;

use super::cluster::Cluster;
use super::postgres_deleted::{holds, run};
use super::redaction::{PIECE, SECRET, stored};
use super::{links, several_access};

/// The name of the conversation, which nothing else has.
const NAME: &str = "erased-conversation-of-zebedee";

/// The schema of a log by its URL.
fn schema(url: &str) -> &str {
    url.rsplit_once("%3D").expect("a place has a schema of its own").1
}

/// Whether a file of a table, an index or large values of `schema` has `word`, with what is dead there too.
fn in_files(server: &TestPostgresServer, schema: &str, word: &str) -> bool {
    let look = format!(
        "SELECT 1 / count(*) FROM pg_class f WHERE f.relkind IN ('r', 'i', 't') AND position('{word}'::bytea IN pg_read_binary_file(pg_relation_filepath(f.oid))) > 0
           AND EXISTS (SELECT 1 FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace LEFT JOIN pg_index i ON i.indrelid = t.oid
                       WHERE n.nspname = '{schema}' AND f.oid IN (t.oid, t.reltoastrelid, i.indexrelid))"
    );
    assert!(server.sql("CHECKPOINT"), "files have what was written");
    server.sql(&look)
}

/// Runs `fanlight` on what is stored in `folder` and in the log at `url`: stdout, and whether all went well.
async fn on_log(url: &str, folder: &Path, arguments: &[&str], stdin: &str) -> (String, bool) {
    stored(folder, &[arguments, &["--log", url]].concat(), stdin).await
}

/// A hub on the log at `url` that redacts nothing.
async fn unredacted(url: &str, place: &Path) -> TestHub {
    let config = place.join("fanlight.toml");
    std::fs::write(&config, "[redact]\noff = true\n").unwrap();
    TestHub::start_with(&["--config", config.to_str().unwrap(), "--log", url]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_in_postgresql_is_found_and_erased_from_every_row_and_file_of_a_table() {
    let (server, config) = (TestPostgresServer::shared(), tempfile::tempdir().unwrap());
    let place = server.place();
    let (url, schema) = (place.url(), schema(place.url()));
    let mut hub = unredacted(url, config.path()).await;
    let folder = hub.folder().to_path_buf();
    run(&hub, NAME, SECRET).await;
    run(&hub, "stays", "harmless").await;
    let found =
        async |word: &str| hub.json(&format!("/v1/search?q={word}")).await["hits"].as_array().unwrap().len();
    patiently_until("the index", async || (found("thought").await == 2).then_some(())).await;
    let epoch = hub.json(&format!("/v1/conversations/{NAME}")).await["epoch"].clone();
    assert!(!on_log(url, &folder, &["scan"], "").await.1, "the hub is running");
    assert_eq!(hub.stop().await, Some(0));

    let (lines, went_well) = on_log(url, &folder, &["scan"], "").await;
    assert!(went_well && !lines.contains(PIECE), "{lines}");
    let found: Vec<Vec<&str>> = lines.lines().map(|line| line.split('\t').collect()).collect();
    assert!(found.iter().all(|it| it[0] == NAME && it[2] == "openai-key"), "{lines}");
    let seqs: BTreeSet<&str> = found.iter().map(|it| it[1]).collect();
    assert!(seqs.len() > 8, "messages, deltas, calls, results and labels: {lines}");
    assert!(
        holds(server, schema, SECRET) && in_files(server, schema, SECRET),
        "the look finds what is there"
    );

    let (said, went_well) = on_log(url, &folder, &["erase"], &format!("{SECRET}\n")).await;
    assert!(went_well && said.contains("from 1 conversation; no row and no file holds it"), "{said}");
    assert!(!holds(server, schema, PIECE), "a row has it");
    assert!(!in_files(server, schema, PIECE), "a dead row has it");
    assert_eq!(on_log(url, &folder, &["scan"], "").await, (String::new(), true));

    hub.start_again().await;
    let state: Value = hub.json(&format!("/v1/conversations/{NAME}")).await;
    assert!(state.to_string().contains("[redacted:erased:"), "{state}");
    assert_eq!(state["epoch"], epoch, "it goes on as it was");
    let hits = hub.json("/v1/search?q=thought").await;
    assert_eq!(hits["hits"].as_array().map(Vec::len), Some(2), "its other words are still found: {hits}");
    assert_eq!(hub.stop().await, Some(0));

    let (said, went_well) = on_log(url, &folder, &["erase", "--conversation", NAME], "").await;
    assert!(went_well && said.contains("is erased; no row and no file holds it"), "{said}");
    assert!(!holds(server, schema, NAME) && !in_files(server, schema, NAME), "its name is left");
    hub.start_again().await;
    let list = hub.json("/v1/conversations").await;
    assert_eq!(list["conversations"].as_array().map(Vec::len), Some(1), "{list}");
    assert!(holds(server, schema, "harmless"), "the other one stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_written_anew_makes_the_command_fail_and_is_named() {
    let (server, config) = (TestPostgresServer::shared(), tempfile::tempdir().unwrap());
    let place = server.place();
    let (url, schema) = (place.url(), schema(place.url()));
    let mut hub = unredacted(url, config.path()).await;
    let folder = hub.folder().to_path_buf();
    run(&hub, NAME, SECRET).await;
    assert_eq!(hub.stop().await, Some(0));
    // A table of the operator's own beside those of the log: nobody but the operator changes it.
    let copy = format!("CREATE TABLE \"{schema}\".copies AS SELECT '{SECRET}'::text AS kept");
    assert!(server.sql(&copy));
    let (said, went_well) = on_log(url, &folder, &["erase"], SECRET).await;
    assert!(!went_well && said.is_empty(), "a row still has it: {said}");
    assert!(server.sql(&format!("DROP TABLE \"{schema}\".copies")));
    let (said, went_well) = on_log(url, &folder, &["erase"], SECRET).await;
    assert!(went_well && said.contains("from 0 conversations; no row and no file holds it"), "{said}");
    // A database without a log gets none by being looked at.
    let empty = server.place();
    assert!(!on_log(empty.url(), &folder, &["scan"], "").await.1);
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_behind_links_that_hubs_share_go_with_their_conversation_and_no_others() {
    let server = TestPostgresServer::shared();
    let mut cluster = Cluster::start_with(2, &["--access", "tokens"]).await;
    let (url, schema) = (cluster.log().to_owned(), cluster.schema().to_owned());
    let admin = cluster.hubs[0].token(&["create", "--name", "admin", "--grant", "admin"]).await;
    several_access::spread(&cluster.hubs, &admin).await;
    for (name, words) in [("c", "unmistakable"), ("d", "keptwords")] {
        let events = json!([{"k": "message", "message": "m", "role": "user", "text": words}]);
        links::publish(&cluster.hubs[0], &admin, name, &events).await;
        links::made(&cluster.hubs[0], &admin, json!({"conversation": name, "frozen": true})).await;
    }
    for hub in &mut cluster.hubs {
        assert_eq!(hub.stop().await, Some(0));
    }
    // From any machine: links are in the database.
    let elsewhere = tempfile::tempdir().unwrap();
    let (said, went_well) = on_log(&url, elsewhere.path(), &["erase", "--conversation", "c"], "").await;
    assert!(went_well && said.contains("is erased with 1 copy behind a frozen link"), "{said}");
    assert!(!holds(server, &schema, "unmistakable") && holds(server, &schema, "keptwords"));
    cluster.hubs[0].start_again().await;
    let list = cluster.hubs[0].request("GET", "/v1/conversations").bearer_auth(&admin).send().await.unwrap();
    let list: Value = list.json().await.unwrap();
    let names: Vec<_> =
        list["conversations"].as_array().unwrap().iter().map(|row| &row["conversation"]).collect();
    assert_eq!(names, ["d"], "{list}");
}
