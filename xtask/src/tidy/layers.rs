//! Who may know whom: a table of places and the words that may not stand in their code. Which crate may see which is no matter
//! of this table: their manifests say it, and the compiler holds it.

use super::RuleViolation;
use super::source::{SourceFile, names};

/// A line of the table.
struct LayerRule {
    /// The files it is about: each starts with one of these.
    places: &'static [&'static str],
    /// Files in those places that are free.
    except: &'static [&'static str],
    /// Whether tests in those places are bound too.
    tests: TestCode,
    /// Words that may not stand in code.
    words: &'static [&'static str],
    /// The reason, and so the way to mend it.
    why: &'static str,
}

/// Whether a line of the table holds for test code too.
#[derive(PartialEq, Eq)]
enum TestCode {
    /// Test code is bound by the line too.
    Bound,
    /// Tests may do what the rest may not.
    Free,
}

/// The table. A new line is a decision, to be made in a commit of its own.
const LAYERS: [LayerRule; 16] = [
    LayerRule {
        places: &["shared/"],
        except: &[],
        tests: TestCode::Free,
        words: &["tokio", "web_sys", "js_sys", "rand", "async"],
        why: "what is shared is pure and synchronous, the same on both targets; move this to the server or the page",
    },
    LayerRule {
        places: &["shared/"],
        except: &[],
        tests: TestCode::Free,
        words: &["Instant", "SystemTime", "std::net", "net::", "std::fs", "fs::", "std::thread", "thread::"],
        why: "what is shared has no clock and no I/O; take the time or the bytes as an argument",
    },
    LayerRule {
        places: &["shared/exchange/src/spans"],
        except: &[],
        tests: TestCode::Bound,
        words: &["dialects::"],
        why: "a span says in its attributes what it is; decoders are for the answers of model APIs",
    },
    LayerRule {
        places: &["web/"],
        except: &["web/src/exports.rs", "web/src/control/turns.rs"],
        tests: TestCode::Bound,
        words: &["encode::"],
        why: "the page knows encoders where a document or a part of one is made, and nowhere else",
    },
    LayerRule {
        places: &["server/hub/"],
        except: &["server/hub/src/wire"],
        tests: TestCode::Free,
        words: &["axum", "http", "serde_json", "std::fs", "fs::"],
        why: "the hub moves envelopes: it neither parses nor serves nor touches files; do that at the edge or in the log",
    },
    LayerRule {
        places: &["server/log/"],
        except: &[],
        tests: TestCode::Free,
        words: &["hub", "std::net", "net::", "std::env", "env::"],
        why: "the log can be tested and replaced alone: no sockets, no settings, no hub; take what it needs as an argument",
    },
    LayerRule {
        places: &["server/client/"],
        except: &[],
        tests: TestCode::Free,
        words: &["std::env", "env::"],
        why: "clients are told by their caller where the hub is and with which token; read settings in server/fanlight",
    },
    LayerRule {
        places: &["server/access/"],
        except: &[],
        tests: TestCode::Free,
        words: &[
            "axum",
            "tokio",
            "async",
            "Instant",
            "SystemTime",
            "std::net",
            "net::",
            "std::fs",
            "fs::",
            "std::env",
            "env::",
            "rustls",
            "rand",
        ],
        why: "who may do what is decided without files, sockets, a clock and randomness; take what it needs as an argument",
    },
    LayerRule {
        places: &["server/upstream/"],
        except: &[],
        tests: TestCode::Bound,
        words: &["axum", "std::fs", "fs::"],
        why: "requests go out the same way whoever makes them; take what is needed as an argument",
    },
    LayerRule {
        places: &["server/"],
        // What comes in over TLS, and the generator of secrets, which is that of TLS.
        except: &[
            "server/upstream/",
            "server/edge/src/tls.rs",
            "server/edge/src/app/entry.rs",
            "server/edge/src/access/store.rs",
            "server/log/src/postgres/tls.rs",
        ],
        tests: TestCode::Free,
        words: &["hyper::client", "hyper_util::client", "hyper_rustls", "rustls", "tokio_rustls"],
        why: "one way out: connections and TLS to other servers are made in server/upstream alone",
    },
    LayerRule {
        places: &["server/"],
        except: &["server/log/src/clock.rs"],
        tests: TestCode::Free,
        words: &["SystemTime::now", "UNIX_EPOCH.elapsed"],
        why: "the time of day is read in event_log::clock alone, so that tests can make it up",
    },
    LayerRule {
        places: &["server/edge/src/"],
        except: &[
            "server/edge/src/ws",
            "server/edge/src/http",
            "server/edge/src/inbound",
            "server/edge/src/proxy",
            "server/edge/src/app",
        ],
        tests: TestCode::Free,
        words: &["axum"],
        why: "axum stands only where something is served: in ws, http, inbound, proxy and app",
    },
    LayerRule {
        places: &["web/src/components", "web/src/pages"],
        except: &[],
        tests: TestCode::Bound,
        words: &["session", "WebSocket"],
        why: "components draw what the store holds and never see the session; pass what they need through the store",
    },
    LayerRule {
        places: &["web/"],
        // The second is a program of its own.
        except: &["web/src/browser.rs", "web/decoder/src/main.rs"],
        tests: TestCode::Free,
        words: &["Date::now", "Date::new_0"],
        why: "the page reads the time of day in browser.rs alone; take it as an argument",
    },
    LayerRule {
        places: &["web/"],
        except: &[],
        tests: TestCode::Bound,
        words: &["inner_html", "set_inner_html", "insert_adjacent_html", "set_outer_html", "set_html"],
        why: "the page builds DOM nodes; text never becomes HTML (decision 0006)",
    },
    LayerRule {
        places: &["xtask/"],
        except: &[],
        tests: TestCode::Bound,
        words: &[
            "model::",
            "dialects::",
            "encode::",
            "exchange::",
            "redact::",
            "event_log::",
            "access::",
            "client::",
            "hub::",
            "agents::",
            "edge::",
            "upstream::",
            "web::",
        ],
        why: "xtask depends on nothing in the workspace, so that it builds when the rest does not",
    },
];

/// Applies the table to one file. Only code counts: a word in a comment or a string breaks no layer. Of each
/// line and rule the first word is reported.
pub(crate) fn check(source: &SourceFile, findings: &mut Vec<RuleViolation>) {
    let below = |places: &[&str]| places.iter().any(|place| source.path.starts_with(place));
    let bound = |layer: &&LayerRule| {
        below(layer.places) && !below(layer.except) && (layer.tests == TestCode::Bound || !source.is_test())
    };
    for layer in LAYERS.iter().filter(bound) {
        for (number, line) in source.numbered() {
            if let Some(word) = layer.words.iter().find(|word| names(&line.code, word)) {
                let message = format!("`{word}` may not stand here: {}", layer.why);
                findings.push(RuleViolation {
                    file: source.path.clone(),
                    line: number,
                    rule: "layers",
                    message,
                });
            }
        }
    }
}
