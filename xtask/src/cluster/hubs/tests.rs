//! What the hubs of a cluster are started with.

use super::HubStart;
use std::path::Path;

fn start(name: &str) -> HubStart<'_> {
    HubStart {
        program: Path::new("/bin/fanlight"),
        name,
        log: "postgres://fanlight@127.0.0.1:1,127.0.0.1:2/postgres",
        secret: Path::new("/t/secret"),
        pass_file: Path::new("/t/pass"),
        folder: Path::new("/t"),
    }
}

#[test]
fn hubs_share_log_and_secret_and_each_has_a_directory_of_its_own() {
    let (b, c) = (start("b").arguments("127.0.0.1:0"), start("c").arguments("127.0.0.1:0"));
    let differ: Vec<_> = b.iter().zip(&c).filter(|(b, c)| b != c).collect();
    assert_eq!(differ, [(&String::from("--data-dir=/t/hub-b"), &String::from("--data-dir=/t/hub-c"))]);
}

#[test]
fn demo_is_at_the_first_hub_alone() {
    let has_demo = |name: &str| start(name).arguments("127.0.0.1:0").contains(&String::from("--demo"));
    assert_eq!(super::NAMES.map(has_demo), [true, false, false]);
}

#[test]
fn line_that_starts_a_hub_again_names_its_port_and_the_file_with_the_password() {
    let line = start("b").line("127.0.0.1:4711");
    let wanted =
        "PGPASSFILE=/t/pass /bin/fanlight serve --listen=127.0.0.1:4711 --hub-address=http://127.0.0.1:4711 ";
    assert!(line.starts_with(wanted), "{line}");
}
