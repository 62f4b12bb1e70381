//! Tests of the schema.

use super::*;

#[test]
fn the_schema_is_as_many_steps_old_as_it_says() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fanlight.db");
    let connection = open_writer(&path).unwrap();
    assert_eq!(version(&connection, &path).unwrap(), MIGRATIONS.len());
    drop(connection);
    // A second time nothing is left to do.
    drop(open_writer(&path).unwrap());
    let reader = open_reader(&path).unwrap();
    assert!(reader.execute_batch("DELETE FROM conversation").is_err(), "a reader cannot write");
}

#[test]
fn the_list_and_the_blocks_are_found_by_their_indexes() {
    let connection = Connection::open_in_memory().unwrap();
    for migration in MIGRATIONS {
        connection.execute_batch(migration).unwrap();
    }
    let plan = |sql: &str| -> String {
        let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let none =
            rusqlite::params_from_iter(std::iter::repeat_n(rusqlite::types::Null, explain.parameter_count()));
        let steps = explain.query_map(none, |row| row.get::<_, String>(3)).unwrap();
        steps.collect::<rusqlite::Result<Vec<_>>>().unwrap().join("; ")
    };
    let page =
        "SELECT row FROM conversation WHERE at <= ?1 AND (at < ?1 OR id > ?2) ORDER BY at DESC, id LIMIT ?3";
    let plans = [
        plan(page),
        plan(&page.replace("WHERE", "WHERE state = ?4 AND")),
        plan("SELECT id FROM conversation ORDER BY at, id DESC"),
        plan("SELECT body FROM event WHERE conversation = ?1 AND last > ?2 AND first >= 7 ORDER BY first"),
    ];
    let indexes = ["conversation_by_time", "conversation_by_state", "conversation_by_time", "event_by_seq"];
    for (plan, index) in plans.iter().zip(indexes) {
        assert!(plan.contains(index) && !plan.contains("TEMP B-TREE"), "{plan}");
    }
}
