//! Each rule against a sample that keeps it and one that breaks it.

use super::bools::LEFT;
use super::manifests::{OWNED, SEES};
use super::source::{SourceFile, names};
use super::{RuleViolation, SourceTree, check, whole_state};

fn tree(files: &[(&str, &str)]) -> SourceTree {
    let mut tree = SourceTree::default();
    for (path, text) in files {
        if std::path::Path::new(path).extension().is_some_and(|kind| kind == "rs") {
            tree.sources.push(SourceFile::new(*path, *text));
        } else {
            tree.texts.push(((*path).to_owned(), (*text).to_owned()));
        }
    }
    tree
}

/// The rules that one file breaks, with the lines.
fn broken(path: &str, body: &str) -> Vec<(&'static str, usize)> {
    let text = format!("//! A file.\n{body}");
    check(&tree(&[(path, &text)])).into_iter().map(|RuleViolation { rule, line, .. }| (rule, line)).collect()
}

#[test]
fn word_is_found_only_whole() {
    assert!(names("use tokio::sync;", "tokio"));
    assert!(!names("use tokio_util::sync;", "tokio"));
    assert!(!names("asynchronous()", "async"));
    assert!(names("async_std::x; async move", "async"));
    assert!(names("std::thread::sleep(d)", "sleep("));
    assert!(!names("oversleep(d)", "sleep("));
    assert!(!names("I11 and I13", "I1"));
    assert!(names("I11, I1", "I1"));
}

#[test]
fn scanner_tells_code_from_strings_and_comments() {
    let source = SourceFile::new(
        "a.rs",
        "let a = \"tokio // no comment\"; // axum\nlet b = r#\"\"quoted\" tokio\"#; /* a /* b */ c */ let c = '\"';\n\
         fn f<'a>(x: &'a str) { let d = b\"tokio\"; let e = '\\''; }\nlet f = \"two \\\nlines\"; g();\nlet r#type = rb;",
    );
    let code: Vec<&str> = source.lines.iter().map(|line| line.code.trim_end()).collect();
    assert_eq!(
        code,
        [
            "let a = \"\";",
            "let b = \"\";  let c = '';",
            "fn f<'a>(x: &'a str) { let d = \"\"; let e = ''; }",
            "let f = \"\"",
            "; g();",
            "let r#type = rb;",
        ]
    );
    assert_eq!(source.lines[0].strings, ["tokio // no comment"]);
    assert_eq!(source.lines[0].comment, " axum");
    assert_eq!(source.lines[1].strings, ["\"quoted\" tokio"]);
    assert_eq!(source.lines[1].comment, " a  b  c ");
}

#[test]
fn file_without_a_head_is_found() {
    let found = check(&tree(&[("shared/model/src/a.rs", "use std::fmt;\n")]));
    assert_eq!(found.len(), 1);
    assert!(found[0].to_string().starts_with("shared/model/src/a.rs:1: [head]"), "{}", found[0]);
    assert_eq!(broken("shared/model/src/a.rs", "use std::fmt;\n"), []);
}

#[test]
fn long_file_is_found_and_tests_may_be_longer() {
    let lines = |n: usize| "// a line\n".repeat(n);
    assert_eq!(broken("server/edge/src/a.rs", &lines(499)), []);
    assert_eq!(broken("server/edge/src/a.rs", &lines(500)), [("length", 501)]);
    assert_eq!(broken("server/edge/src/a/tests.rs", &lines(500)), []);
    assert_eq!(broken("tests/it/a.rs", &lines(799)), []);
    assert_eq!(broken("tests/benches/a.rs", &lines(800)), [("length", 801)]);
}

#[test]
fn module_file_of_the_old_kind_is_found() {
    assert_eq!(broken("web/src/pages/mod.rs", ""), [("mod.rs", 1)]);
    assert_eq!(broken("web/src/pages.rs", ""), []);
}

#[test]
fn test_that_is_left_out_is_found() {
    assert_eq!(broken("tests/it/a.rs", "#[test]\n#[ignore = \"slow\"]\nfn a() {}\n"), [("ignore", 3)]);
    assert_eq!(broken("server/edge/src/a.rs", "fn a() { todo!() }\n"), [("todo", 2)]);
    assert_eq!(
        broken("server/edge/src/a.rs", "// todo! and #[ignore] are words here\nlet a = \"todo!\";\n"),
        []
    );
}

#[test]
fn sleep_in_a_test_is_found_outside_the_waits() {
    let body = "tokio::time::sleep(step).await;\n";
    assert_eq!(broken("tests/it/a.rs", body), [("sleep", 2)]);
    assert_eq!(broken("server/hub/src/hub/tests.rs", body), [("sleep", 2)]);
    assert_eq!(broken("tests/src/wait.rs", body), []);
    assert_eq!(broken("server/edge/src/ws.rs", body), []);
}

#[test]
fn shared_crate_with_a_clock_or_async_is_found() {
    for home in ["model", "dialects", "encode", "exchange", "redact"] {
        assert_eq!(broken(&format!("shared/{home}/src/a.rs"), "use std::time::Instant;\n"), [("layers", 2)]);
        assert_eq!(broken(&format!("shared/{home}/src/a.rs"), "use tokio::sync::Notify;\n"), [("layers", 2)]);
    }
    assert_eq!(
        broken("shared/model/src/a.rs", "use std::{fs, io};\nfn a() { fs::read(p) }\n"),
        [("layers", 3)]
    );
    assert_eq!(broken("shared/model/src/a.rs", "async fn a() {}\n"), [("layers", 2)]);
    assert_eq!(broken("shared/model/src/a.rs", "// Instant, async and tokio are words here.\n"), []);
    assert_eq!(broken("shared/model/src/a/tests.rs", "use std::fs;\n"), []);
}

#[test]
fn shared_crate_that_is_named_in_the_wrong_place_is_found() {
    let decoded = "use dialects::Decoded;\n";
    assert_eq!(broken("shared/exchange/src/spans/meaning.rs", decoded), [("layers", 2)]);
    assert_eq!(broken("shared/exchange/src/answer.rs", decoded), []);
    let document = "use encode::document::only;\n";
    assert_eq!(broken("web/src/components/a.rs", document), [("layers", 2)]);
    assert_eq!(broken("web/src/control/turns.rs", document), []);
    assert_eq!(broken("xtask/src/a.rs", "use model::View;\n"), [("layers", 2)]);
    assert_eq!(broken("xtask/src/a.rs", "use client::Session;\n"), [("layers", 2)]);
    assert_eq!(broken("xtask/src/a.rs", "use redact::Redactor;\n"), [("layers", 2)]);
}

#[test]
fn server_layer_that_knows_too_much_is_found() {
    assert_eq!(broken("server/hub/src/hub.rs", "use serde_json::Value;\n"), [("layers", 2)]);
    assert_eq!(broken("server/hub/src/fanout/pump.rs", "use std::fs::File;\n"), [("layers", 2)]);
    assert_eq!(broken("server/hub/src/wire.rs", "use serde_json::Value;\n"), []);
    assert_eq!(broken("server/log/src/memory.rs", "use crate::hub::Hub;\n"), [("layers", 2)]);
    assert_eq!(broken("server/log/src/memory.rs", "use std::net::TcpStream;\n"), [("layers", 2)]);
    assert_eq!(broken("server/log/src/sqlite.rs", "let path = std::env::var(NAME);\n"), [("layers", 2)]);
    assert_eq!(broken("server/log/src/sqlite.rs", "let version = env!(\"CARGO_PKG_VERSION\");\n"), []);
    assert_eq!(broken("server/client/src/address.rs", "let hub = std::env::var(NAME);\n"), [("layers", 2)]);
    assert_eq!(broken("server/access/src/tokens.rs", "let text = std::fs::read(path);\n"), [("layers", 2)]);
    assert_eq!(broken("server/access/src/tokens.rs", "let text = serde_json::to_string(&all);\n"), []);
    assert_eq!(broken("server/edge/src/sink.rs", "use axum::Router;\n"), [("layers", 2)]);
    assert_eq!(broken("server/upstream/src/send.rs", "use axum::body::Body;\n"), [("layers", 2)]);
    assert_eq!(broken("server/upstream/src/send.rs", "use hyper::client::conn::http2;\n"), []);
    for client in ["hyper::client::conn::http1", "hyper_util::client::legacy::Client", "rustls::ClientConfig"]
    {
        assert_eq!(broken("server/edge/src/proxy/a.rs", &format!("use {client};\n")), [("layers", 2)]);
    }
    assert_eq!(broken("server/edge/src/http/pages.rs", "use axum::Router;\n"), []);
    assert_eq!(broken("server/edge/src/hubris.rs", "use serde_json::Value;\n"), []);
}

#[test]
fn room_of_a_crate_that_names_one_above_it_is_found() {
    let found = |path: &str, text: &str| -> Vec<usize> {
        broken(path, text).into_iter().filter(|(rule, _)| *rule == "rooms").map(|(_, line)| line).collect()
    };
    assert_eq!(found("server/edge/src/proxy/a.rs", "use crate::http::native;\n"), [2]);
    assert_eq!(found("server/edge/src/inbound/a.rs", "fn a(of: &crate::state::Shared) {}\n"), [2]);
    assert_eq!(
        found("server/edge/src/peers.rs", "use crate::{\n    sharing,\n    frozen::Copies,\n};\n"),
        [1]
    );
    assert_eq!(found("server/edge/src/frozen.rs", "use crate::http::hubs;\n"), [2]);
    assert!(found("server/edge/src/http/a.rs", "use crate::proxy::Proxy;\nuse crate::http::b;\n").is_empty());
    assert!(found("server/edge/src/proxy/tests.rs", "use crate::state::Shared;\n").is_empty());
    assert!(found("server/edge/src/lib.rs", "pub use crate::http::help;\n").is_empty());
    assert_eq!(found("server/edge/src/hall.rs", "use crate::http::native;\n"), [1], "it has no place yet");
    assert!(found("server/hub/src/a.rs", "use crate::http::native;\n").is_empty());
    assert_eq!(found("web/src/store/a.rs", "use crate::modules::fetch;\n"), [2]);
    assert_eq!(found("web/src/keys.rs", "use crate::components::copy_turn;\n"), [2]);
    assert_eq!(
        found("web/src/route.rs", "use crate::overview::address;\n"),
        [2],
        "it is below those that are listed"
    );
    assert!(found("web/src/components/a.rs", "use crate::modules;\nuse crate::store::Store;\n").is_empty());
    assert!(found("web/src/modules/cut.rs", "use crate::components::Wall;\n").is_empty());
}

#[test]
fn time_of_day_that_is_read_elsewhere_is_found() {
    for read in ["let now = SystemTime::now();\n", "let since = SystemTime::UNIX_EPOCH.elapsed();\n"] {
        assert_eq!(broken("server/fanlight/src/demo/stage.rs", read), [("layers", 2)], "{read}");
        assert_eq!(broken("server/log/src/clock.rs", read), []);
        assert_eq!(broken("server/edge/src/tls/tests.rs", read), []);
    }
    // The time of a file is another thing.
    assert_eq!(broken("server/edge/src/tls.rs", "type FileMark = Option<SystemTime>;\n"), []);
    assert_eq!(broken("web/src/store.rs", "let now = js_sys::Date::now();\n"), [("layers", 2)]);
    assert_eq!(broken("web/src/browser.rs", "let now = js_sys::Date::now();\n"), []);
}

#[test]
fn page_that_knows_too_much_is_found() {
    assert_eq!(
        broken("web/src/components/a.rs", "use crate::session::Session;\n"),
        [("layers", 2), ("rooms", 2)]
    );
    assert_eq!(broken("web/src/pages/a.rs", "web_sys::WebSocket::new(url);\n"), [("layers", 2)]);
    assert_eq!(broken("web/src/components/a.rs", "<div inner_html=text/>\n"), [("layers", 2)]);
    assert_eq!(broken("web/src/markdown.rs", "<div inner_html=text/>\n"), [("layers", 2)]);
    assert_eq!(broken("web/src/session/socket.rs", "use web_sys::WebSocket;\n"), []);
}

#[test]
fn function_that_takes_a_bool_is_found() {
    for taking in [
        "fn a(b: bool) {}",
        "pub fn a<T: Fn(u8) -> u8>(t: T,\n    mut b: bool,\n) {}",
        "fn a(b: (u8, bool), c: bool) {}",
    ] {
        assert_eq!(broken("server/client/src/a.rs", &format!("{taking}\n")), [("bool", 2)], "{taking}");
    }
    for other in [
        "fn a(b: &[bool]) -> bool { true }",
        "fn a(b: impl Fn(bool) -> bool) {}",
        "#[component]\nfn A(b: bool) {}",
        "fn a(b: Option<bool>) {}",
    ] {
        assert_eq!(broken("server/client/src/a.rs", &format!("{other}\n")), [], "{other}");
    }
    assert_eq!(broken("server/client/src/a/tests.rs", "fn a(b: bool) {}\n"), []);
    assert_eq!(broken("server/access/src/a.rs", "fn a(b: bool) {}\n"), [("bool", 2)]);
    assert_eq!(broken("shared/redact/src/a.rs", &"fn a(b: bool) {}\n".repeat(3)).len(), 3, "two may stay");
    for (home, _sees) in SEES {
        assert!(
            LEFT.iter().any(|(counted, _)| format!("{home}/").starts_with(counted)),
            "{home} is not counted"
        );
    }
}

#[test]
fn one_more_file_that_takes_the_whole_state_is_found() {
    let takers = |count: usize, name: &str| -> Vec<&'static str> {
        let text = "//! A file.\nfn a(shared: &Shared) {}\n";
        let paths: Vec<String> = (0..count).map(|n| format!("server/edge/src/{name}{n}.rs")).collect();
        let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), text)).collect();
        check(&tree(&files)).into_iter().map(|found| found.rule).collect()
    };
    assert_eq!(takers(whole_state::LEFT, "a").len(), 0);
    assert_eq!(takers(whole_state::LEFT + 1, "a"), ["state"]);
    assert_eq!(takers(whole_state::LEFT + 1, "a/tests/").len(), 0, "tests may");
}

#[test]
fn manifest_that_names_a_crate_above_it_is_found() {
    let found = |home: &str, names: &str| {
        let text = format!("[package]\n{names}\n[lints]\nworkspace = true\n");
        let path = format!("{home}/Cargo.toml");
        let rules: Vec<_> = check(&tree(&[(&path, &text)])).iter().map(|it| (it.rule, it.line)).collect();
        rules
    };
    let above_of = [
        ("shared/model", "dialects"),
        ("shared/dialects", "encode"),
        ("shared/encode", "exchange"),
        ("shared/exchange", "event-log"),
        ("shared/redact", "dialects"),
        ("server/log", "hub"),
        ("server/upstream", "event-log"),
        ("server/access", "hub"),
        ("server/client", "hub"),
        ("server/hub", "agents"),
        ("server/agents", "edge"),
        ("server/edge", "fanlight"),
        ("server/fanlight", "exchange"),
        ("web", "dialects"),
        ("web/decoder", "encode"),
        ("xtask", "model"),
    ];
    for (home, above) in above_of {
        assert_eq!(
            found(home, &format!("[dependencies]\n{above}.workspace = true")),
            [("manifests", 3)],
            "{home}"
        );
    }
    for (home, _sees) in SEES {
        assert!(above_of.iter().any(|(broken, _)| *broken == home), "nothing breaks the row of {home}");
    }
    assert_eq!(found("server/agents", "[dependencies]\nhub.workspace = true"), []);
    assert_eq!(found("shared/dialects", "[dev-dependencies]\nencode.workspace = true"), [], "tests may");
    assert_eq!(found("tests", "[dependencies]\nmodel.workspace = true"), []);
}

#[test]
fn manifest_that_names_what_another_crate_owns_is_found() {
    let found = |home: &str, name: &str| {
        let text = format!(
            "[target.'cfg(unix)'.dependencies]\n{name} = {{ workspace = true }}\n[lints]\nworkspace = true\n"
        );
        let path = format!("{home}/Cargo.toml");
        check(&tree(&[(&path, &text)])).len()
    };
    let owned = [
        "rusqlite",
        "tokio-postgres",
        "axum",
        "rmcp",
        "hyper-rustls",
        "rustls",
        "tokio-rustls",
        "leptos",
        "reqwest",
    ];
    for name in owned {
        assert_eq!(found("server/hub", name), 1, "{name}");
    }
    for (name, _owners, _what) in OWNED {
        assert!(owned.contains(&name), "nothing breaks the row of {name}");
    }
    assert_eq!(found("server/edge", "axum"), 0);
    assert_eq!(found("server/edge", "tokio-rustls"), 0);
    assert_eq!(found("server/edge", "tokio-postgres"), 1);
    assert_eq!(found("server/log", "tokio-postgres"), 0);
}

#[test]
fn crate_with_its_own_lints_is_found() {
    let good = "[package]\nname = \"a\"\n\n[lints]\nworkspace = true\n";
    assert_eq!(check(&tree(&[("a/Cargo.toml", good), ("Cargo.toml", "[workspace]\n")])), []);
    let found = check(&tree(&[("a/Cargo.toml", "[package]\n[lints.clippy]\npedantic = \"warn\"\n")]));
    assert_eq!(found.first().map(|finding| finding.rule), Some("lints"));
}

#[test]
fn invariant_without_a_test_is_found() {
    let document = "# Invariants\n* **I1 Dense.** …\nI2 I3 I4 I5 I6 I7 I8 I9 I10 I11 I12 I13\n";
    let most = "//! Laws: I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I12.\n#[test]\nfn i13_drain_tells_viewers_when_to_come_back() {}\n";
    let some = tree(&[("ARCHITECTURE.md", document), ("tests/it/a.rs", most)]);
    let found = check(&some);
    assert_eq!(found.iter().map(|f| (f.rule, f.line)).collect::<Vec<_>>(), [("invariants", 2)]);
    let all = tree(&[("ARCHITECTURE.md", document), ("tests/it/a.rs", most), ("tests/it/b.rs", "//! I1.\n")]);
    assert_eq!(check(&all), []);
    assert_eq!(check(&tree(&[("tests/it/a.rs", most)])), [], "without the document there is nothing to hold");
}

#[test]
fn code_without_an_explanation_is_found() {
    let codes = "//! Codes.\nconst A: u16 = 4_408;\nconst B: &str = \"too_large\";\nconst C: &str = \"a sentence\";\n\
                 #[serde(rename_all = \"snake_case\")]\n";
    let good = tree(&[
        ("shared/model/src/code.rs", codes),
        ("docs/protocol.md", "| 4408 | … |\n| `too_large` | … |\n"),
    ]);
    assert_eq!(check(&good), []);
    let bad = tree(&[("shared/model/src/code.rs", codes), ("docs/protocol.md", "| 44080 | too_larger |\n")]);
    assert_eq!(
        check(&bad).iter().map(|f| (f.rule, f.line)).collect::<Vec<_>>(),
        [("codes", 2), ("codes", 3)]
    );
}

#[test]
fn doc_comment_that_says_nothing_is_found() {
    assert_eq!(broken("a/src/a.rs", "/// See the module.\npub struct Lens;\n"), [("doc", 2)]);
    assert_eq!(
        broken("a/src/a.rs", "/// A call.\n#[derive(Debug)]\npub(crate) struct Call;\n"),
        [("doc", 2)]
    );
    assert_eq!(broken("a/src/a.rs", "    /// Its name.\n    pub const fn name(&self) {}\n"), [("doc", 2)]);
    assert_eq!(broken("a/src/a.rs", "/// The call of a tool\n/// that waits.\nstruct Call;\n"), []);
    assert_eq!(broken("a/src/a.rs", "struct A {\n    /// What.\n    call: u8,\n}\n"), [("doc", 3)]);
    assert_eq!(
        broken("a/src/a.rs", "enum A {\n    /// It does.\n    #[default]\n    Yes,\n}\n"),
        [("doc", 3)]
    );
    assert_eq!(broken("a/src/a.rs", "struct A {\n    /// What the call is.\n    call: u8,\n}\n"), []);
    // Fields, routes, and structs that a variant explains.
    assert_eq!(broken("a/src/a.rs", "struct A {\n    /// The call.\n    call: u8,\n}\n"), []);
    assert_eq!(broken("a/src/a.rs", "/// `GET /v1/agents`.\nfn agents() {}\n"), []);
    assert_eq!(broken("a/src/a.rs", "/// See [`Kind::RunEnd`].\nstruct RunEnd;\n"), []);
    assert_eq!(broken("a/src/a.rs", "const A: &str = \"/// See the module.\";\n"), []);
}

#[test]
fn vocabulary_names_types_where_they_are() {
    let rows = |types: &str| {
        format!("## Vocabulary\n\n| term | meaning | type |\n|---|---|---|\n| a | b | {types} |\n")
    };
    let found = |types: &str| {
        let source = "//! A file.\npub struct Lens;\npub enum Level {}\n";
        let found = check(&tree(&[("ARCHITECTURE.md", &rows(types)), ("a/src/a.rs", source)]));
        found
            .into_iter()
            .filter(|found| found.rule == "vocabulary")
            .map(|found| found.line)
            .collect::<Vec<_>>()
    };
    assert!(found("`Lens`, `Level` (`a/src/a.rs`)").is_empty());
    assert_eq!(found("`Lens` (`a/src/a.rs`), `Level` (`a/src/b.rs`)"), [5]);
    assert_eq!(found("`Len`, `Levels` (`a/src/a.rs`)"), [5, 5]);
}
