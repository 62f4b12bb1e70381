//! Recordings of others, held against what the vendors' own libraries make of the same bytes.
//!
//! The recordings and the program that compares are not part of the tree but beside it, in `../shared`. A
//! difference that is known must still be there: one that is gone is reported too, so that the list stays
//! true.

use std::path::Path;

use super::{StepOutcome, TestCounts};
use crate::failure::{CommandFailure, CommandResult};
use crate::process::run;
use crate::workspace::{Workspace, in_ci};

/// Where this project and a vendor's library differ, and why the library is wrong. `docs/dialects/README.md` has the
/// proof of each.
const KNOWN: [&str; 1] =
    ["ag-ui/namastexlabs-agui-benchmark__langgraph-anthropic_thinking_20260206-043108.sse"];

/// Folds every recording with the hub that the tests start and compares. Left out where there are no recordings; with
/// `CI=true` that is a failure.
pub(super) fn recordings(ws: &Workspace, _: &mut TestCounts) -> CommandResult<StepOutcome> {
    let traces = ws.path("../shared/traces");
    if !traces.is_dir() {
        let why = format!("there is no {}", traces.display());
        return if in_ci() { Err(CommandFailure::new(why)) } else { Ok(StepOutcome::LeftOut(why)) };
    }
    let report = ws.target().join("recordings.json");
    let mut check = ws.command("python3");
    check.arg("../shared/tools/check_traces.py").arg(ws.debug_hub()).arg("../shared/traces");
    check.args(["--expected", "../shared/traces/expected", "--report"]).arg(&report);
    // Its own verdict knows of no exceptions: the report decides.
    let verdict = run(&mut check);
    let differing = differing(&report)?;
    let surprises: Vec<_> = differing.iter().filter(|file| !KNOWN.contains(&file.as_str())).collect();
    if let Some(first) = surprises.first() {
        return Err(CommandFailure::new(format!("{} recordings differ, first {first}", surprises.len())));
    }
    if let Some(gone) = KNOWN.iter().find(|known| !differing.iter().any(|file| file == *known)) {
        return Err(CommandFailure::new(format!(
            "{gone} is equal now: take it off the list of known differences"
        )));
    }
    if differing.is_empty() { verdict.map(|()| StepOutcome::Done) } else { Ok(StepOutcome::Done) }
}

/// The files of the report that are not equal to what was expected. The report is read line by line: each
/// entry says its `file` before its `state`.
fn differing(report: &Path) -> CommandResult<Vec<String>> {
    let text = std::fs::read_to_string(report).map_err(CommandFailure::io("reading the report"))?;
    let value = |line: &str, name: &str| {
        let rest = line.trim().strip_prefix(&format!("\"{name}\": \""))?;
        Some(rest.trim_end_matches(',').trim_end_matches('"').to_owned())
    };
    let mut file = String::new();
    let mut differing = Vec::new();
    for line in text.lines() {
        if let Some(name) = value(line, "file") {
            file = name;
        }
        if value(line, "state").is_some_and(|state| state != "equal" && state != "unchecked") {
            differing.push(file.clone());
        }
    }
    Ok(differing)
}
