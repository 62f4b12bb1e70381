//! Checks of an upstream of the proxy, through the hub, as an agent would call it.
//!
//! ```text
//! base url   has the path that clients of this API need; else nothing further is looked at
//! key        is in the environment, or the upstream is on this machine
//! upstream   a list of models comes through the hub
//! streaming  only with --model: a short answer comes in pieces
//! ```

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use event_log::clock;
use hyper::header::HeaderName;

use super::CheckResult;
use super::environment::misplaced;
use super::hub::detail;
use super::model::{ModelEndpoint, UpstreamList};
use super::request::{CheckRequest, CheckedHub, HttpAnswer, in_time, next_piece};

/// An upstream that is to be checked, and how.
#[derive(Debug)]
pub(super) struct UpstreamProbe<'a> {
    /// The name of the upstream.
    pub(super) name: &'a str,
    /// The base URL that an agent has, if not the default.
    pub(super) base_url: Option<&'a str>,
    /// The model that may be asked for an answer.
    pub(super) model: Option<&'a str>,
}

/// The variables that may contain the key of an upstream. `acme-2` has `ACME_2_API_KEY`.
fn key_names(name: &str) -> Vec<String> {
    match name {
        "gemini" => vec![String::from("GEMINI_API_KEY"), String::from("GOOGLE_API_KEY")],
        name => vec![format!("{}_API_KEY", name.to_ascii_uppercase().replace(['-', '.'], "_"))],
    }
}

/// The names of the upstreams of the hub; empty if it does not list them.
pub(super) async fn names(hub: CheckedHub<'_>) -> Vec<String> {
    let answer = hub.get("/v1/upstreams").ask().await;
    let list: serde_json::Value =
        answer.ok().and_then(|answer| serde_json::from_str(&answer.body).ok()).unwrap_or_default();
    let rows = list.get("upstreams").and_then(serde_json::Value::as_array).into_iter().flatten();
    rows.filter_map(|row| Some(row.get("name")?.as_str()?.to_owned())).collect()
}

/// All checks of an upstream through the hub.
pub(super) async fn look(
    hub: CheckedHub<'_>,
    asked: &UpstreamProbe<'_>,
    variables: &BTreeMap<String, String>,
) -> Vec<CheckResult> {
    let (name, base) = (asked.name, hub.base);
    let list = hub.get("/v1/upstreams").ask().await;
    let model = UpstreamList::of(list.as_ref().map_or("", |answer| &answer.body)).model(name);
    let right = format!("{base}/proxy/{}", model.place(name));
    let given = asked.base_url.unwrap_or(&right).trim_end_matches('/');
    let as_asked = model.through(given);
    // A vendor's path for clients of another API is right at any place.
    let place = if as_asked == model { Some(model.place(name)) } else { None };
    let mut findings = Vec::new();
    if let Some(rest) = given.strip_prefix(base)
        && let Some(place) = place
        && let Some((seen, mend)) = misplaced(given, rest, base, &place)
    {
        findings.push(CheckResult::wrong("base url", format!("it {seen}"), format!("use {mend}")));
        return findings;
    }
    let model = as_asked;
    let (key, finding) = key(name, model, variables);
    findings.push(finding);
    // Another server than the hub has no certificate from there.
    let ca = hub.ca.filter(|_| given.starts_with(base));
    let models = model.with_key(model.list(given).trusting(ca), key).ask().await;
    let reached = reached(name, models, key.is_some());
    let is_reached = reached.ok;
    findings.push(reached);
    if let Some(wanted) = asked.model.filter(|_| is_reached) {
        let request = model.with_key(model.answer(given, wanted).trusting(ca), key);
        let conversation = format!("doctor-{}", clock::now_ms());
        let request = request.header(CONVERSATION, &conversation);
        let streamed = streams(request, model).await;
        let is_answered = streamed.is_answered;
        findings.push(streamed.result);
        if is_answered {
            findings.push(recorded(hub, &conversation).await);
        }
    }
    findings
}

/// The header that says in which conversation a call is recorded.
const CONVERSATION: HeaderName = HeaderName::from_static("fanlight-conversation");

/// Whether the call is recorded in its conversation, which is read until its run is there: a call is recorded beside its passage.
async fn recorded(hub: CheckedHub<'_>, conversation: &str) -> CheckResult {
    let check = "recorded";
    let path = format!("/v1/conversations/{conversation}");
    let read = async {
        loop {
            let answer = hub.get(&path).ask().await?;
            if matches!(answer.status, 401 | 403) {
                return Err(String::from("the token may not see where it is recorded"));
            }
            if has_run(&answer.body) {
                return Ok(());
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    };
    let late = || Err(String::from("it did not come through the hub"));
    match tokio::time::timeout(RECORDED_WITHIN, read).await.unwrap_or_else(|_elapsed| late()) {
        Ok(()) => CheckResult::well(check, format!("the call is shown at {}/c/{conversation}", hub.base)),
        Err(why) => CheckResult::wrong(
            check,
            format!("the call was answered, and the hub does not show it: {why}"),
            "give the agent the hub's base URL, /proxy/NAME: `fanlight docs integrations/proxy`",
        ),
    }
}

/// How long after its answer a call may take to be shown.
const RECORDED_WITHIN: Duration = Duration::from_secs(10);

/// The time between two looks at a conversation.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Whether the view in `body` has a run.
fn has_run(body: &str) -> bool {
    let view: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
    let runs = view.get("runs").and_then(serde_json::Value::as_object);
    runs.is_some_and(|runs| !runs.is_empty())
}

/// The key of an upstream, and the check of it.
fn key<'a>(
    name: &str,
    model: ModelEndpoint,
    variables: &'a BTreeMap<String, String>,
) -> (Option<&'a str>, CheckResult) {
    let names = key_names(name);
    let found = names.iter().find_map(|variable| {
        let key = variables.get(variable).map(String::as_str).filter(|key| !key.is_empty())?;
        Some((key, variable))
    });
    if let Some((key, variable)) = found {
        return (Some(key), CheckResult::well("key", format!("there is one in {variable}")));
    }
    if model.is_near {
        return (
            None,
            CheckResult::well("key", "there is none, and an upstream on this machine mostly needs none"),
        );
    }
    let names = names.join(" or ");
    let (seen, mend) = (format!("there is none in {names}"), format!("set {names}, here and for the agent"));
    (None, CheckResult::wrong("key", seen, mend))
}

/// Checks that the upstream answers. Without a key, a refusal for want of one shows that it is reached.
fn reached(name: &str, answer: Result<HttpAnswer, String>, has_key: bool) -> CheckResult {
    let check = "upstream";
    let answer = match answer {
        Ok(answer) => answer,
        Err(why) => {
            return CheckResult::wrong(
                check,
                format!("{name} does not answer: {why}"),
                "see whether the base URL is right",
            );
        }
    };
    let (status, detail) = (answer.status, detail(&answer));
    match status {
        200..=299 => CheckResult::well(check, format!("{name} answers")),
        401 | 403 if has_key => CheckResult::wrong(
            check,
            format!("{name} refuses the key (status {status})"),
            "put a valid key into the environment",
        ),
        401 | 403 => CheckResult::well(check, format!("{name} is reached, and wants a key")),
        404 if detail.starts_with("unknown_upstream") => {
            CheckResult::wrong(check, detail, "name one that the hub knows, or add it to its settings")
        }
        404 | 405 => CheckResult::wrong(
            check,
            format!("{name} is reached, and has no such path (status {status})"),
            "the base path is wrong: see whether /v1 is missing or doubled, in the base URL and in the hub's settings",
        ),
        _ if detail.starts_with("upstream_") => CheckResult::wrong(
            check,
            detail,
            "see whether the hub reaches it: name, network, certificate, HTTPS_PROXY in its environment",
        ),
        _ => CheckResult::wrong(
            check,
            format!("{name} answers with status {status}: {detail}"),
            "see what the provider says of that",
        ),
    }
}

/// Requests a short answer and checks that it is streamed. Several events in one piece mean that something in
/// between buffers.
async fn streams(request: CheckRequest, model: ModelEndpoint) -> StreamCheck {
    let check = "streaming";
    let (mut pieces, mut events, mut first) = (0_u32, 0_usize, None);
    let read = in_time(async {
        let response = request.begin().await.map_err(|why| (why, "see the check of the upstream"));
        let response = match response {
            Ok(response) => response,
            Err(failed) => return Ok(Err(failed)),
        };
        let status = response.status().as_u16();
        if status != 200 {
            let why = format!("the answer has status {status}");
            return Ok(Err((why, "see whether the model is named right")));
        }
        let mut body = response.into_body();
        while let Some(piece) = next_piece(&mut body).await? {
            first.get_or_insert_with(Instant::now);
            pieces += 1;
            events += model.events(&String::from_utf8_lossy(&piece));
        }
        Ok(Ok(()))
    });
    match read.await {
        Ok(Ok(())) => {}
        Ok(Err((why, mend))) => {
            return StreamCheck { result: CheckResult::wrong(check, why, mend), is_answered: false };
        }
        Err(why) => {
            let seen = format!("it breaks off: {why}");
            let result = CheckResult::wrong(check, seen, "see what the provider says of that");
            return StreamCheck { result, is_answered: false };
        }
    }
    let took = first.map_or(0, |first: Instant| first.elapsed().as_millis());
    let result = match (events, pieces) {
        (0, _) => CheckResult::wrong(
            check,
            "the answer came as a whole",
            "the upstream does not stream: see whether `stream` is asked for and allowed",
        ),
        (2.., 1) => CheckResult::wrong(
            check,
            format!("{events} events came in one piece"),
            "something in between buffers: turn that off (nginx: proxy_buffering off), or use the upstream's own address",
        ),
        _ => CheckResult::well(check, format!("{events} events in {pieces} pieces, over {took} ms")),
    };
    StreamCheck { result, is_answered: true }
}

/// What came of the request for an answer.
struct StreamCheck {
    /// The result of the check whether it streams.
    result: CheckResult,
    /// Whether the whole answer came.
    is_answered: bool,
}

#[cfg(test)]
mod tests;
