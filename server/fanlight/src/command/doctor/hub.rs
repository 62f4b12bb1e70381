//! Checks of the hub: whether it is there, and whether it accepts, stores and shows events.
//!
//! | check | request | expected |
//! |---|---|---|
//! | `hub` | `GET /metrics` | 200 with the metrics of a hub |
//! | `log` | `GET /readyz` | 200 |
//! | `websocket` | an upgrade at `/v1/ws` | 101 with the subprotocol |
//! | `publishing` | `POST` of an invalid event | 400 `bad_event` |
//! | `page` | `GET /` | 200 with the page |

use hyper::header::{CONNECTION, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE};

use super::CheckResult;
use super::environment::There;
use super::request::{CheckedHub, HttpAnswer};

/// The WebSocket subprotocol of hubs.
const SUBPROTOCOL: &str = "fanlight.v1";

/// All checks of a hub. The first says whether there is one; without it the others are left out.
/// With a token, each request carries it.
pub(super) async fn look(hub: CheckedHub<'_>) -> Vec<CheckResult> {
    let get = |path: &str| hub.get(path);
    let found = identity(hub.base, get("/metrics").ask().await);
    if !found.ok {
        return vec![found];
    }
    let mut findings = vec![found];
    findings.push(log(get("/readyz").ask().await));
    let key = get("/v1/ws")
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_VERSION, "13")
        .header(SEC_WEBSOCKET_KEY, "ZmFubGlnaHQgZG9jdG9yIQ==")
        .header(SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL);
    findings.push(socket(key.ask_for_upgrade().await));
    // An invalid event: a body is refused as a whole, so the check leaves no trace.
    let probe = hub.post("/v1/conversations/fanlight-doctor/events", r#"[{"k":1}]"#);
    findings.push(door(probe.ask().await));
    findings.push(page(get("/").ask().await));
    findings
}

/// What answers where the metrics of a hub were requested.
pub(super) fn there(answer: Result<HttpAnswer, String>) -> There {
    match answer {
        Err(why) => There::Nobody(why),
        Ok(answer) if is_hub(&answer) => There::Hub,
        Ok(_) => There::Other,
    }
}

/// Whether this is the answer of a hub.
fn is_hub(answer: &HttpAnswer) -> bool {
    answer.status == 200 && answer.body.contains("fanlight_")
}

/// Checks that a hub answers.
fn identity(base: &str, answer: Result<HttpAnswer, String>) -> CheckResult {
    match answer {
        Err(why) => CheckResult::wrong(
            "hub",
            format!("nobody answers at {base}: {why}"),
            "start it with `fanlight serve`, or name another address with --url",
        ),
        Ok(answer) if is_hub(&answer) => CheckResult::well("hub", format!("Fanlight answers at {base}")),
        Ok(answer) if answer.body.contains("\"unauthenticated\"") => CheckResult::wrong(
            "hub",
            format!("the hub at {base} requires a token, and this one is unknown or expired"),
            "set FANLIGHT_TOKEN to a token that `fanlight token create` made on the hub's machine",
        ),
        Ok(answer) if answer.body.contains("\"forbidden\"") => CheckResult::wrong(
            "hub",
            format!("the hub at {base} knows this token, which may not see the hub's figures"),
            "look with a token that has the grant view:*",
        ),
        Ok(answer) => CheckResult::wrong(
            "hub",
            format!("something answers at {base}, and it is not Fanlight (status {})", answer.status),
            "another program has the port: start the hub at another one with `fanlight serve --listen 127.0.0.1:PORT` and name it with --url",
        ),
    }
}

/// Checks that the log is ready.
fn log(answer: Result<HttpAnswer, String>) -> CheckResult {
    match answer {
        Ok(answer) if answer.status == 200 => CheckResult::well("log", "it takes events and keeps them"),
        Ok(answer) => {
            let detail = detail(&answer);
            CheckResult::wrong(
                "log",
                format!("the hub is not ready: {detail}"),
                "make room on the disk of its --data-dir, or see what the hub says on stderr",
            )
        }
        Err(why) => CheckResult::wrong(
            "log",
            format!("/readyz does not answer: {why}"),
            "see what the hub says on stderr",
        ),
    }
}

/// Checks that sockets are upgraded.
fn socket(answer: Result<HttpAnswer, String>) -> CheckResult {
    let mend = "something between here and the hub drops the upgrade: let it pass on `Upgrade` and `Connection` (nginx: proxy_http_version 1.1 and both headers), or use the hub's own address";
    match answer {
        Ok(answer)
            if answer.status == 101
                && answer.headers.get(SEC_WEBSOCKET_PROTOCOL).is_some_and(|it| it == SUBPROTOCOL) =>
        {
            CheckResult::well("websocket", "sockets are upgraded")
        }
        Ok(answer) if answer.status == 101 => CheckResult::wrong(
            "websocket",
            format!("the socket does not speak {SUBPROTOCOL}"),
            "the hub is of another version: update it, or this program",
        ),
        Ok(answer) => CheckResult::wrong(
            "websocket",
            format!("a socket is answered with status {}", answer.status),
            mend,
        ),
        Err(why) => CheckResult::wrong("websocket", format!("a socket gets no answer: {why}"), mend),
    }
}

/// Checks that events are read.
fn door(answer: Result<HttpAnswer, String>) -> CheckResult {
    match answer {
        Ok(answer) if answer.status == 400 && answer.body.contains("bad_event") => {
            CheckResult::well("publishing", "events are read")
        }
        Ok(answer) => {
            let (status, detail) = (answer.status, detail(&answer));
            CheckResult::wrong(
                "publishing",
                format!("a POST is answered with status {status}: {detail}"),
                "something between here and the hub refuses it; use the hub's own address",
            )
        }
        Err(why) => CheckResult::wrong(
            "publishing",
            format!("a POST gets no answer: {why}"),
            "see what the hub says on stderr",
        ),
    }
}

/// Checks that the hub serves its page.
fn page(answer: Result<HttpAnswer, String>) -> CheckResult {
    match answer {
        Ok(answer) if answer.status == 200 && answer.body.contains("built without its page") => {
            CheckResult::wrong(
                "page",
                "this hub was built without its page",
                "build it with `cargo xtask build`",
            )
        }
        Ok(answer) if answer.status == 200 && answer.body.contains("Fanlight") => {
            CheckResult::well("page", "it is there")
        }
        Ok(answer) => CheckResult::wrong(
            "page",
            format!("the page is answered with status {}", answer.status),
            "open the hub's own address",
        ),
        Err(why) => CheckResult::wrong(
            "page",
            format!("the page does not come: {why}"),
            "see what the hub says on stderr",
        ),
    }
}

/// The detail of a problem document, otherwise the beginning of the body.
pub(super) fn detail(answer: &HttpAnswer) -> String {
    let problem: Option<serde_json::Value> = serde_json::from_str(&answer.body).ok();
    let said = problem.as_ref().and_then(|problem| {
        let code = problem.get("code")?.as_str()?;
        Some(format!("{code}: {}", problem.get("detail")?.as_str()?))
    });
    said.unwrap_or_else(|| answer.body.chars().take(120).collect())
}
