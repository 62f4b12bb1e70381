//! An upstream of the proxy, asked through the hub as an agent would ask it.

use std::collections::BTreeMap;
use std::time::Instant;

use reqwest::{Client, RequestBuilder};
use serde_json::json;

use super::environment::misplaced;
use super::hub::detail;
use super::{Answer, Finding, ask, reason};

/// What is to be looked at.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    /// The upstream.
    pub(super) name: &'a str,
    /// Where an agent would ask it.
    pub(super) base_url: Option<&'a str>,
    /// The model that may be asked for an answer.
    pub(super) model: Option<&'a str>,
}

/// Where keys are, by upstream.
fn key_name(name: &str) -> String {
    match name {
        "gemini" => String::from("GEMINI_API_KEY"),
        name => format!("{}_API_KEY", name.to_ascii_uppercase().replace('-', "_")),
    }
}

/// All checks of an upstream, through the hub at `base`.
pub(super) async fn look(
    http: &Client,
    base: &str,
    asked: &Asked<'_>,
    variables: &BTreeMap<String, String>,
) -> Vec<Finding> {
    let name = asked.name;
    let place = if name == "anthropic" { name.to_owned() } else { format!("{name}/v1") };
    let right = format!("{base}/proxy/{place}");
    let given = asked.base_url.unwrap_or(&right).trim_end_matches('/');
    let mut findings = Vec::new();
    if let Some(rest) = given.strip_prefix(base)
        && let Some((seen, mend)) = misplaced(given, rest, base, &place)
    {
        findings.push(Finding::wrong("base url", format!("it {seen}"), format!("use {mend}")));
        return findings;
    }
    let variable = key_name(name);
    let key = variables.get(&variable).map(String::as_str).filter(|key| !key.is_empty());
    findings.push(match key {
        Some(_) => Finding::well("key", format!("there is one in {variable}")),
        None if name == "ollama" => Finding::well("key", "none is needed"),
        None => Finding::wrong(
            "key",
            format!("there is none in {variable}"),
            format!("set {variable}, here and for the agent"),
        ),
    });
    let with_key = |request: RequestBuilder| match key {
        Some(key) if name == "anthropic" => {
            request.header("x-api-key", key).header("anthropic-version", "2023-06-01")
        }
        Some(key) => request.bearer_auth(key),
        None => request,
    };
    let root = if name == "anthropic" { format!("{given}/v1") } else { given.to_owned() };
    let models = ask(with_key(http.get(format!("{root}/models")))).await;
    let reached = reached(name, models, key.is_some());
    let is_reached = reached.ok;
    findings.push(reached);
    if let Some(model) = asked.model.filter(|_| is_reached) {
        findings.push(streams(with_key(http.post(answers(name, &root))), model).await);
    }
    findings
}

/// Where answers are asked for.
fn answers(name: &str, root: &str) -> String {
    if name == "anthropic" { format!("{root}/messages") } else { format!("{root}/chat/completions") }
}

fn reached(name: &str, answer: Result<Answer, String>, has_key: bool) -> Finding {
    let check = "upstream";
    let answer = match answer {
        Ok(answer) => answer,
        Err(why) => {
            return Finding::wrong(
                check,
                format!("{name} does not answer: {why}"),
                "see whether the base URL is right",
            );
        }
    };
    let (status, detail) = (answer.status, detail(&answer));
    match status {
        200..=299 => Finding::well(check, format!("{name} answers")),
        401 | 403 if has_key => Finding::wrong(
            check,
            format!("{name} refuses the key (status {status})"),
            "put a valid key into the environment",
        ),
        401 | 403 => Finding::well(check, format!("{name} is reached, and wants a key")),
        404 if detail.starts_with("unknown_upstream") => {
            Finding::wrong(check, detail, "name one that the hub knows, or add it to its settings")
        }
        404 | 405 => Finding::wrong(
            check,
            format!("{name} is reached, and has no such path (status {status})"),
            "the base path is wrong: see whether /v1 is missing or doubled, in the base URL and in the hub's settings",
        ),
        _ if detail.starts_with("upstream_") => Finding::wrong(
            check,
            detail,
            "see whether this machine reaches it: name, network, certificate, proxy of the system",
        ),
        _ => Finding::wrong(
            check,
            format!("{name} answers with status {status}: {detail}"),
            "see what the provider says of that",
        ),
    }
}

/// Asks for a short answer and looks at how it comes.
async fn streams(request: RequestBuilder, model: &str) -> Finding {
    let check = "streaming";
    let body = json!({"model": model, "stream": true, "max_tokens": 60,
        "messages": [{"role": "user", "content": "Count from one to twenty in words."}]});
    let request = request.header("content-type", "application/json").body(body.to_string());
    let mut response = match request.send().await {
        Ok(response) => response,
        Err(error) => return Finding::wrong(check, reason(&error), "see the check of the upstream"),
    };
    let status = response.status().as_u16();
    if status != 200 {
        return Finding::wrong(
            check,
            format!("the answer has status {status}"),
            "see whether the model is named right",
        );
    }
    let (mut pieces, mut events, mut first) = (0_u32, 0_usize, None);
    loop {
        match response.chunk().await {
            Ok(Some(piece)) => {
                first.get_or_insert_with(Instant::now);
                pieces += 1;
                events += String::from_utf8_lossy(&piece).matches("data:").count();
            }
            Ok(None) => break,
            Err(error) => {
                return Finding::wrong(
                    check,
                    format!("it breaks off: {}", reason(&error)),
                    "see what the provider says of that",
                );
            }
        }
    }
    let took = first.map_or(0, |first: Instant| first.elapsed().as_millis());
    match (events, pieces) {
        (0, _) => Finding::wrong(
            check,
            "the answer came as a whole",
            "the upstream does not stream: see whether `stream` is asked for and allowed",
        ),
        (2.., 1) => Finding::wrong(
            check,
            format!("{events} events came in one piece"),
            "something in between buffers: turn that off (nginx: proxy_buffering off), or use the upstream's own address",
        ),
        _ => Finding::well(check, format!("{events} events in {pieces} pieces, over {took} ms")),
    }
}
