//! `fanlight doctor`: says what is wrong when nothing shows, and how to mend it. It leaves nothing in the hub but the call that it makes
//! where a model is named, in a conversation that it tells.
//!
//! `hub`, `upstream`, `model` and `environment` make the checks; `request` sends what they ask.

use std::collections::BTreeMap;

use serde::Serialize;

use self::environment::AddressFacts;
use self::request::{CheckRequest, CheckedHub};
use super::{CommandError, ResultOutput, runtime, terminal};
use crate::args::DoctorArgs;

mod environment;
mod hub;
mod model;
mod request;
mod upstream;

/// The result of a check.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub(super) struct CheckResult {
    /// The subject of the check.
    check: &'static str,
    /// Whether it is as it should be.
    ok: bool,
    /// What the check has found.
    seen: String,
    /// How to mend it, if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    mend: Option<String>,
}

impl CheckResult {
    /// A check that found what it should.
    fn well(check: &'static str, seen: impl Into<String>) -> Self {
        Self { check, ok: true, seen: seen.into(), mend: None }
    }

    /// A check that found something else, with the remedy.
    fn wrong(check: &'static str, seen: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { check, ok: false, seen: seen.into(), mend: Some(mend.into()) }
    }

    /// The result for people: one line, and a second one with the remedy.
    fn line(&self) -> String {
        let Self { check, seen, .. } = self;
        // The text may come from elsewhere: none of its lines may look like a result.
        let (seen, mend) = (terminal::line(seen), self.mend.as_deref().map(terminal::line));
        match mend {
            None => format!("ok       {check}: {seen}"),
            Some(mend) => format!("problem  {check}: {seen}\n         {mend}"),
        }
    }
}

/// Makes all checks and prints the results. Without a hub, what needs one is left out. Fails if any check
/// found a problem.
pub(crate) fn run(args: &DoctorArgs, mut output: ResultOutput) -> Result<(), CommandError> {
    let environment: BTreeMap<String, String> = std::env::vars().collect();
    let address = args.hub.address()?;
    let base = address.to_string();
    let base = base.trim_end_matches('/');
    let checked = CheckedHub { base, token: address.token(), ca: address.ca() };
    let (mut findings, known) = runtime::one_thread()?.block_on(async {
        let mut findings = hub::look(checked).await;
        let is_hub = findings.first().is_some_and(|finding| finding.ok);
        if let Some(name) = args.upstream.as_deref().filter(|_| is_hub) {
            let asked = upstream::UpstreamProbe {
                name,
                base_url: args.base_url.as_deref(),
                model: args.model.as_deref(),
            };
            findings.extend(upstream::look(checked, &asked, &environment).await);
        }
        let mut known = AddressFacts::default();
        if is_hub {
            known.upstreams = upstream::names(checked).await;
        }
        for origin in environment::to_ask(base, &environment) {
            let there = hub::there(CheckRequest::get(format!("{origin}/metrics")).ask().await);
            known.there.insert(origin, there);
        }
        (findings, known)
    });
    findings.extend(environment::look(base, &environment, &known));
    for finding in &findings {
        let line = if args.json {
            terminal::json(serde_json::to_string(finding).unwrap_or_default())
        } else {
            finding.line()
        };
        output.line(&line)?;
    }
    match findings.iter().filter(|finding| !finding.ok).count() {
        0 => Ok(()),
        1 => Err(CommandError::new("1 problem", "it is named above, with its remedy")),
        many => {
            Err(CommandError::new(format!("{many} problems"), "they are named above, with their remedies"))
        }
    }
}
