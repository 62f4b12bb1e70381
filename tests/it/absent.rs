//! What README says is missing: each claim has a test here that fails once the feature exists, so that the page is
//! changed with it. The last words of a claim are the name of its test.

use std::collections::BTreeSet;
use std::path::Path;

use tests::TestHub;
use tests::hub::binary;
use tests::wait::patiently;
use tokio::process::Command;

/// Starts a hub that is expected to refuse; what it says on stderr.
async fn refused(arguments: &[&str]) -> String {
    let place = tempfile::tempdir().unwrap();
    let mut hub = Command::new(binary());
    hub.arg("serve").args(arguments).current_dir(place.path()).kill_on_drop(true);
    let ended = patiently("the refusal", hub.output()).await.unwrap();
    assert!(!ended.status.success(), "{arguments:?} is taken");
    String::from_utf8(ended.stderr).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn absent_hub_of_several_processes() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().to_str().unwrap();
    let _first = TestHub::start_with(&["--log", &format!("sqlite:{folder}/one.db")]).await;
    let said = refused(&["--listen", "127.0.0.1:0", "--log", &format!("sqlite:{folder}/one.db")]).await;
    assert!(said.contains("one.db"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn absent_proxies_behind_tls_and_socks() {
    for proxy in ["https://127.0.0.1:9", "socks5://127.0.0.1:9"] {
        let variables = [("HTTPS_PROXY", proxy), ("HTTP_PROXY", proxy)];
        let upstream = ["--upstream", "far=http://far.example"];
        let hub = TestHub::start_among(&variables, "127.0.0.1:0", &upstream).await;
        let answer = hub.request("GET", "/proxy/far/v1/models").send().await.unwrap();
        let problem: serde_json::Value = answer.json().await.unwrap();
        assert_eq!(problem["code"], "upstream_unreachable", "{proxy}: {problem}");
        assert!(problem.to_string().contains("http://"), "{proxy}: {problem}");
    }
}

#[test]
fn every_claim_of_absence_has_its_test_and_every_such_test_its_claim() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let (_, section) = readme.split_once("## What is missing\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    // Claims stand in the list and nowhere else: words outside of it would have no test.
    let claims: Vec<_> = section.split("\n* ").skip(1).collect();
    let name = |claim: &&str| {
        let last = claim.trim_end().strip_suffix("`)").and_then(|claim| claim.rsplit('`').next());
        last.map_or_else(|| panic!("a claim without a test: {claim}"), str::to_owned)
    };
    let claimed: BTreeSet<_> = claims.iter().map(name).collect();
    let is_one = |line: &&str| line.contains("fn absent_");
    let tests: BTreeSet<_> = include_str!("absent.rs")
        .lines()
        .filter(is_one)
        .filter_map(|line| Some(line.split_once("fn ")?.1.split_once('(')?.0.to_owned()))
        .filter(|name| name.starts_with("absent_"))
        .collect();
    assert_eq!(claimed, tests);
    let preface = section.split("\n* ").next().unwrap();
    assert!(preface.lines().filter(|line| !line.trim().is_empty()).count() <= 1, "{preface}");
}
