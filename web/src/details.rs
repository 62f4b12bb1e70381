//! The facts of the Details tab, in words, under headings.
//!
//! ```text
//! Conversation   name, position (epoch:seq), started, last event, how much it contains, what fills the context
//! <a run>        id, state, agent, model, dialect, started, duration, finish reason, tokens, cost, error
//! Earlier        how many runs are not listed
//! Warnings       how many anomalies, and the first ones
//! Connection     since when it is lost, and the notices of reconnections
//! ```
//!
//! A fact without a value is left out. Nothing here knows the browser; the formatting of times is an
//! argument.

use model::anomaly::{Anomalies, AnomalyCode};
use model::event::Usage;
use model::view::{RunView, TopItem, View};
use model::{RunId, Seq};

use crate::context::ContextFill;
use crate::fleet::status_word;
use crate::link::Status;
use crate::model::Model;
use crate::{format, preview};

/// The most runs that are listed: the newest, which come first.
const RUNS_MAX: usize = 20;

/// The most agents of a run whose models are listed.
const AGENTS_MAX: usize = 64;

/// The name of a fact, and the fact; several lines if it has a line feed.
pub type Fact = (&'static str, String);

/// A heading, and the facts under it.
pub type Section = (String, Vec<Fact>);

/// The facts of `model`. `name` is the title of the conversation or recording; `now` is the moment that the
/// page shows, in milliseconds since 1970; `time` formats such a moment.
pub fn sections(model: &Model, name: String, now: u64, time: fn(u64) -> String) -> Vec<Section> {
    let view = model.view();
    let first = match view.items.first() {
        Some(TopItem::Message(id)) => view.messages.get(id).map(|message| message.at),
        Some(TopItem::Run(id)) => view.runs.get(id).map(|run| run.started_at),
        None => None,
    };
    // A replay ends with its moment.
    let last = if model.replay().is_some() { Some(now) } else { model.event_at() };
    let life = model.position().map(|position| position.epoch.to_string());
    let mut sections = vec![(
        "Conversation".to_owned(),
        told([
            ("name", Some(name)),
            ("position", Some(place(life, view.seq, model.head()))),
            ("started", moment(first, time)),
            ("last event", moment(last, time)),
            ("contains", Some(extent(view))),
            ("context", ContextFill::of(view).words()),
        ]),
    )];
    for (id, run) in view.runs.iter().rev().take(RUNS_MAX) {
        let title = run.title.as_deref().or(run.name.as_deref()).unwrap_or("Run");
        sections.push((preview::one_line(title), facts(id, run, now, time)));
    }
    let earlier = view.runs.len().saturating_sub(RUNS_MAX);
    if earlier > 0 {
        let words = format!("not listed here: {}", format::counted(earlier, "earlier run"));
        sections.push(("Earlier".to_owned(), vec![("runs", words)]));
    }
    sections.push(("Warnings".to_owned(), warnings(&view.anomalies)));
    sections
}

/// The facts about the connection; `None` for a recording. The model keeps a limited number of reconnections,
/// and those of this page only; if it has none, the text says so.
pub fn link(model: &Model, status: &Status, time: fn(u64) -> String) -> Option<Section> {
    model.conversation()?;
    let away = match status {
        Status::Reconnecting { since, .. } => Some(format!("away since {}", time(*since))),
        Status::Offline | Status::Ended { .. } => Some("away".to_owned()),
        Status::Connecting | Status::Up | Status::Silent(_) => None,
    };
    let marks = model.marked().into_iter().map(str::to_owned);
    let words = away.into_iter().chain(marks).collect::<Vec<_>>().join("\n");
    let words = if words.is_empty() { "no reconnection so far".to_owned() } else { words };
    Some(("Connection".to_owned(), vec![("link", words)]))
}

/// The facts that have a value.
fn told<const N: usize>(facts: [(&'static str, Option<String>); N]) -> Vec<Fact> {
    let said = facts.into_iter().filter_map(|(name, fact)| Some((name, fact?)));
    said.filter(|(_, fact)| !fact.is_empty()).collect()
}

/// A moment, formatted; `None` for 0, which recordings without times have.
fn moment(at: Option<u64>, time: fn(u64) -> String) -> Option<String> {
    at.filter(|at| *at > 0).map(time)
}

/// The position `epoch:seq`, with the hub's newest event if the page is behind it.
fn place(life: Option<String>, seq: Seq, head: Seq) -> String {
    let at = life.map_or_else(|| format::grouped(seq), |life| format!("{life}:{seq}"));
    if head > seq { format!("{at}, the newest is {head}") } else { at }
}

/// How many runs and messages the view holds.
fn extent(view: &View) -> String {
    let (runs, messages) = (view.runs.len(), view.messages.len());
    format!("{} · {}", format::counted(runs, "run"), format::counted(messages, "message"))
}

/// The facts of a run. It lasts until `now` while it runs, and "at least" until it stalled. Texts of the
/// stream are cut to one line.
fn facts(id: &RunId, run: &RunView, now: u64, time: fn(u64) -> String) -> Vec<Fact> {
    let stalled = run.stalled_at.filter(|_| run.is_running());
    let state = if stalled.is_some() { "stalled" } else { status_word(run.status) };
    let lasted = |end: u64| end.saturating_sub(run.started_at);
    let lasted = match (run.started_at, run.ended_at, stalled) {
        (0, ..) => None,
        (_, Some(end), _) => Some(format::duration(lasted(end))),
        (_, None, Some(at)) => Some(format!("≥ {}", format::duration(lasted(at)))),
        (_, None, None) => Some(format::clock(lasted(now))),
    };
    let error = run.error.as_ref();
    told([
        ("run", Some(id.to_string())),
        ("state", Some(state.to_owned())),
        ("agent", run.name.as_deref().map(preview::one_line)),
        ("model", Some(models(run))),
        ("host", run.host.as_deref().map(preview::one_line)),
        ("dialect", run.dialect.as_deref().map(preview::one_line)),
        ("started", moment(Some(run.started_at), time)),
        ("duration", lasted),
        ("finish reason", run.finish_reason.as_deref().map(preview::one_line)),
        ("tokens", run.usage.as_ref().map(tokens)),
        ("cost", run.usage.and_then(|usage| usage.cost).map(format::cost)),
        ("error", error.map(|error| preview::one_line(&format!("{}: {}", error.code, error.message)))),
    ])
}

/// The models of the run and of its agents, each once.
fn models(run: &RunView) -> String {
    let mut names: Vec<String> = Vec::new();
    let of_agents = run.agents.values().take(AGENTS_MAX).filter_map(|agent| agent.model.as_deref());
    for name in run.model.as_deref().into_iter().chain(of_agents).map(preview::one_line) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// Token counts, in words. Reasoning and cached tokens only if there are any.
fn tokens(usage: &Usage) -> String {
    let counts = [
        (usage.input_tokens, "in"),
        (usage.output_tokens, "out"),
        (usage.reasoning_tokens, "reasoning"),
        (usage.cached_tokens, "cached"),
    ];
    let counts = counts.into_iter().enumerate().filter(|(at, (n, _))| *at < 2 || *n > 0);
    let words = counts.map(|(_, (n, what))| format!("{} {what}", format::grouped(n)));
    words.collect::<Vec<_>>().join(" · ")
}

/// The anomalies of the stream, which readers know as warnings: how many, and the first ones in full.
fn warnings(noted: &Anomalies) -> Vec<Fact> {
    let first = noted.first.iter().map(|it| (warning_word(it.code), preview::one_line(&it.detail)));
    let words = match noted.total.saturating_sub(noted.first.len() as u64) {
        _ if noted.total == 0 => "none: the stream kept to its format".to_owned(),
        0 => format::grouped(noted.total),
        _ => format!("{}, of which the first are here", format::grouped(noted.total)),
    };
    std::iter::once(("total", words)).chain(first).collect()
}

/// The kind of an anomaly, in words.
fn warning_word(code: AnomalyCode) -> &'static str {
    match code {
        AnomalyCode::Malformed => "broken input",
        AnomalyCode::WrongDialect => "of another dialect",
        AnomalyCode::RunWithoutStart => "run without a start",
        AnomalyCode::AfterRunEnd => "after the run's end",
        AnomalyCode::PartWithoutStart => "text without a start",
        AnomalyCode::PartStartedTwice => "text began twice",
        AnomalyCode::AfterPartEnd => "after the text's end",
        AnomalyCode::DeltaHole => "bytes are missing",
        AnomalyCode::DeltaOverlap => "bytes came twice",
        AnomalyCode::PartMismatch => "text does not match its hash",
        AnomalyCode::ToolWithoutStart => "call without a start",
        AnomalyCode::AfterToolEnd => "after the call's end",
        AnomalyCode::BadArguments => "arguments are not JSON",
        AnomalyCode::AgentWithoutStart => "agent without a start",
        AnomalyCode::TooLarge => "too large",
        AnomalyCode::TooMany => "too many",
        AnomalyCode::Truncated => "stream broke off",
        AnomalyCode::CopyLost => "recording lost",
        AnomalyCode::Repeated => "repetitions left out",
    }
}

#[cfg(test)]
mod tests;
