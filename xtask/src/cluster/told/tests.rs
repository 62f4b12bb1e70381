//! The lines for a second terminal are about the right hub and the right database.

use super::ClusterFacts;
use crate::cluster::child::last_lines;
use crate::cluster::databases::DatabaseFacts;
use crate::cluster::hubs::HubFacts;
use std::path::PathBuf;

fn facts() -> ClusterFacts {
    let hub = |name: &str, port: u16, pid: u32| HubFacts {
        name: format!("hub {name}"),
        url: format!("http://127.0.0.1:{port}"),
        pid,
        again: format!("fanlight serve --listen=127.0.0.1:{port}"),
    };
    ClusterFacts {
        fanlight: PathBuf::from("/bin/fanlight"),
        folder: PathBuf::from("/tmp/cluster"),
        hubs: vec![hub("a", 4001, 11), hub("b", 4002, 12), hub("c", 4003, 13)],
        databases: DatabaseFacts {
            primary: (5001, 21),
            standby: (5002, 22),
            pass_file: PathBuf::from("/tmp/cluster/database.pass"),
            psql: PathBuf::from("/pg/psql"),
        },
    }
}

#[test]
fn summary_names_every_address_and_process() {
    let text = facts().summary();
    for wanted in ["127.0.0.1:4001", "127.0.0.1:4002", "127.0.0.1:4003", "127.0.0.1:5001", "127.0.0.1:5002"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    for pid in [11, 12, 13, 21, 22] {
        assert!(text.contains(&format!("pid {pid}\n")), "{pid}: {text}");
    }
}

#[test]
fn hub_that_is_to_be_killed_is_not_the_one_of_the_publisher_or_the_viewer() {
    let text = facts().summary();
    assert!(text.contains("kill -9 12\n"));
    let of = |start: &str| text.lines().find(|line| line.contains(start)).unwrap().to_owned();
    assert!(of("curl -d").contains("http://127.0.0.1:4002/"));
    assert!(of(" tee ").ends_with("--url http://127.0.0.1:4003"));
    assert!(of(" tail ").ends_with("--url http://127.0.0.1:4001"));
}

#[test]
fn hub_that_ended_is_told_with_the_line_that_starts_it_again() {
    let text = facts().ended("hub b");
    assert!(text.ends_with("\n  fanlight serve --listen=127.0.0.1:4002"), "{text}");
}

#[test]
fn database_that_ended_is_told_with_what_to_do_at_the_other_one() {
    let promote = facts().ended("primary");
    assert!(promote.contains("-p 5002 ") && promote.ends_with("-c \"SELECT pg_promote()\""), "{promote}");
    let alone = facts().ended("standby");
    assert!(alone.contains("-p 5001 ") && alone.contains("synchronous_standby_names = ''"), "{alone}");
}

#[test]
fn last_lines_are_few_and_the_last() {
    let said: Vec<String> = (1..=20).map(|number| number.to_string()).collect();
    assert_eq!(last_lines(&said.join("\n")), "13\n14\n15\n16\n17\n18\n19\n20");
    assert_eq!(last_lines("one\n"), "one");
    assert_eq!(last_lines(""), "");
}
