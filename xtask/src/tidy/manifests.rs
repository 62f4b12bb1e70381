//! Checks which crate may see which: the manifests say it and the compiler holds it; this table holds the manifests. A new line here is a decision.
//!
//! ```text
//! [dependencies], [target.….dependencies] of each Cargo.toml
//!   ├─ a crate of ours    must be in SEES of this one
//!   └─ one of OWNED       must belong to this one
//! ```
//!
//! Dependencies of tests are free: they may look at anything.

use super::{RuleViolation, SourceTree};

/// The crates of the product, each with the others that it may name outside its tests.
pub(super) const SEES: [(&str, &[&str]); 15] = [
    ("shared/model", &[]),
    ("shared/dialects", &["model"]),
    ("shared/encode", &["model"]),
    ("shared/exchange", &["dialects", "model"]),
    ("shared/redact", &["model"]),
    ("server/log", &["model"]),
    ("server/upstream", &["model"]),
    ("server/access", &["model"]),
    ("server/client", &["model", "upstream"]),
    ("server/hub", &["event-log", "model", "redact"]),
    ("server/agents", &["dialects", "encode", "event-log", "exchange", "hub", "model", "upstream"]),
    (
        "server/edge",
        &[
            "access",
            "agents",
            "client",
            "dialects",
            "encode",
            "event-log",
            "exchange",
            "hub",
            "model",
            "redact",
            "upstream",
        ],
    ),
    (
        "server/fanlight",
        &[
            "access",
            "agents",
            "client",
            "dialects",
            "edge",
            "encode",
            "event-log",
            "hub",
            "model",
            "redact",
            "upstream",
        ],
    ),
    ("web", &["encode", "model"]),
    ("web/decoder", &["dialects", "model"]),
];

/// Packages from elsewhere that few crates have alone, since they own what they are for. TLS has two sides: `upstream` makes connections,
/// `edge` accepts them; those to the log's database are the log's.
pub(super) const OWNED: [(&str, &[&str], &str); 9] = [
    ("rusqlite", &["server/log"], "SQL"),
    ("tokio-postgres", &["server/log"], "SQL"),
    ("axum", &["server/edge"], "serving"),
    ("rmcp", &["server/agents"], "the protocol of tools"),
    ("hyper-rustls", &["server/upstream"], "TLS to other servers"),
    ("rustls", &["server/upstream", "server/edge", "server/log"], "TLS"),
    ("tokio-rustls", &["server/upstream", "server/edge", "server/log"], "TLS"),
    ("reqwest", &["tests"], "what does not go out by `upstream`"),
    ("leptos", &["web"], "what is drawn"),
];

/// Reports every line of a manifest that names what it should not.
pub(crate) fn check(tree: &SourceTree, findings: &mut Vec<RuleViolation>) {
    for (path, text) in &tree.texts {
        let Some(home) = path.strip_suffix("/Cargo.toml") else { continue };
        // Tests stand on everything.
        if home.starts_with("tests") {
            continue;
        }
        let sees = SEES.iter().find(|(crate_, _)| *crate_ == home).map_or(&[][..], |(_, sees)| *sees);
        for (line, name) in dependencies(text) {
            let mut find = |message: String| {
                findings.push(RuleViolation { file: path.clone(), line, rule: "manifests", message });
            };
            if is_ours(name) && !sees.contains(&name) {
                find(format!(
                    "{home} may not name {name}: a type lives with the crate that decides about it; see `Direction` in ARCHITECTURE.md"
                ));
            }
            if let Some((_, owners, what)) =
                OWNED.iter().find(|(owned, owners, _)| *owned == name && !owners.contains(&home))
            {
                find(format!(
                    "{name} is named in {} alone, which owns {what}; ask that crate",
                    owners.join(" and ")
                ));
            }
        }
    }
}

/// Whether a package is one of the product's.
fn is_ours(name: &str) -> bool {
    let named = |path: &str| match path {
        "server/log" => name == "event-log",
        path => path.rsplit('/').next() == Some(name),
    };
    SEES.iter().any(|(path, _)| named(path))
}

/// What a manifest names outside of its tests, with the line, from 1.
fn dependencies(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut counts = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end().trim_end_matches(']');
            let is_target = section.starts_with("target.") && section.ends_with(".dependencies");
            counts = section == "dependencies" || is_target;
            return None;
        }
        let name = line.split(['.', '=', ' ']).next().filter(|name| counts && !name.is_empty())?;
        (!name.starts_with('#')).then_some((at + 1, name))
    })
}
