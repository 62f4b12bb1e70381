//! The words with which documents describe runs, calls and agents, the same in each format. Texts of the view
//! are in them unchanged; the writers escape them.
//!
//! What [`preview::one_line`] has handled is one line of at most 200 characters and an ellipsis; results and
//! messages of failures are whole. Counts, durations and sizes are formatted by [`mod@format`].

use model::event::{ErrorFact, RunStatus, ToolState, Usage};
use model::flow::{CallCounts, Flow};
use model::format;
use model::preview::{self, PreviewOutput};
use model::view::{AgentView, PartView, RunView, ToolView, View};

/// The title of a document: the one that somebody gave the conversation, else that of its runs.
///
/// The title is one line; an empty one counts as none.
pub(super) fn title(view: &View, name: &str) -> String {
    let titles = [&view.label.title, &view.title].into_iter().flatten();
    let mut lines = titles.map(|title| preview::one_line(title)).filter(|title| !title.is_empty());
    lines.next().unwrap_or_else(|| name.to_owned())
}

/// Name, model, status, duration and usage of a run.
///
/// Each of them only if it is known, in this order. Name and model are texts of the view.
pub(super) fn run(run: &RunView) -> Vec<String> {
    let mut facts: Vec<String> =
        [&run.name, &run.model].into_iter().flatten().map(|it| preview::one_line(it)).collect();
    facts.retain(|fact| !fact.is_empty());
    facts.push(status(run.status).to_owned());
    facts.extend(run_took(run));
    facts.extend(run.usage.into_iter().flat_map(tokens));
    facts
}

/// The tokens that a model has read and written.
fn tokens(usage: Usage) -> [String; 2] {
    [
        format!("{} tokens in", format::count(usage.input_tokens)),
        format!("{} out", format::count(usage.output_tokens)),
    ]
}

/// The head of the block with all steps of a run.
pub(super) fn steps(flow: &Flow) -> String {
    format!("Execution steps ({})", format::counted(flow.tools, "tool"))
}

/// The number of failed calls and of sub-agents, and the duration of a run.
///
/// They are separated by ` · `; empty if there is nothing to say.
pub(super) fn steps_more(flow: &Flow, run: &RunView) -> String {
    let failed = (flow.failed > 0).then(|| format!("{} failed", flow.failed));
    let agents = (flow.agents > 0).then(|| format::counted(flow.agents, "sub-agent"));
    failed.into_iter().chain(agents).chain(run_took(run)).collect::<Vec<_>>().join(" · ")
}

/// How a run ended, if it is not complete.
pub(super) fn end(run: &RunView) -> Option<&'static str> {
    match run.status {
        RunStatus::Cancelled => Some("Cancelled"),
        RunStatus::Interrupted => Some("The stream broke off before its end"),
        RunStatus::Error => Some("The run failed"),
        RunStatus::Running => Some("Still running when this was written"),
        RunStatus::Complete => None,
    }
}

/// The failure of a run, if no note of the run has it.
pub(super) fn untold_error(run: &RunView) -> Option<&ErrorFact> {
    let is_told = |error: &&ErrorFact| {
        let tells = |note: &model::view::Note| matches!(&note.body, model::view::NoteBody::Error(told) if told == *error);
        run.notes.iter().any(tells)
    };
    run.error.as_ref().filter(|error| !is_told(error))
}

/// Whether trying again may help; empty if that is unknown.
pub(super) fn retry(error: &ErrorFact) -> String {
    match (error.retryable, error.retry_after_ms) {
        (Some(true), Some(ms)) => format!("Can be retried, after {}", format::duration(ms)),
        (Some(true), None) => "Can be retried".to_owned(),
        (Some(false), _) => "Permanent".to_owned(),
        (None, _) => String::new(),
    }
}

/// The name of a status.
pub(super) fn status(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "running",
        RunStatus::Complete => "complete",
        RunStatus::Error => "error",
        RunStatus::Cancelled => "cancelled",
        RunStatus::Interrupted => "interrupted",
    }
}

/// The head of a piece of thinking.
///
/// The publisher's figure has precedence over the time that the hub measured. Times of zero are not shown.
pub(super) fn thought(part: &PartView) -> String {
    let measured = part.ended_at.map(|end| end.saturating_sub(part.started_at));
    match part.duration_ms.or(measured).filter(|ms| *ms > 0) {
        _ if part.hidden && part.body.text.is_empty() => "Thinking is hidden by the provider".to_owned(),
        _ if part.ended_at.is_none() => "Thinking…".to_owned(),
        Some(ms) => format!("Thought for {}", format::duration(ms)),
        None => "Thought".to_owned(),
    }
}

/// The name of the tool of a call.
pub(super) fn tool_name(tool: &ToolView) -> String {
    let name = preview::one_line(&tool.name);
    if name.is_empty() { "tool".to_owned() } else { name }
}

/// The arguments of a call in one line.
///
/// While they are being written their newest piece, else the argument that says most.
pub(super) fn arguments(tool: &ToolView) -> String {
    let text = &tool.arguments.text;
    if tool.state == ToolState::Writing { preview::tail(text) } else { preview::arguments(text) }
}

/// The result of a call, or else its output; nothing if both are empty.
pub(super) fn output(tool: &ToolView) -> Option<PreviewOutput> {
    let text = &tool.output.text;
    let printed =
        || (!text.trim().is_empty()).then(|| PreviewOutput { text: text.to_string(), is_json: false });
    tool.result.as_ref().map(PreviewOutput::of).filter(|output| !output.is_empty()).or_else(printed)
}

/// The state of a call, or the kind and size of its result.
pub(super) fn state(tool: &ToolView, output: Option<&PreviewOutput>) -> String {
    match (tool.state, output) {
        (ToolState::Complete, Some(output)) => output.summary(),
        (ToolState::Complete, None) => "completed".to_owned(),
        (state, _) => state.as_str().to_owned(),
    }
}

/// The duration of a call; for one that was interrupted, at least how long it took.
///
/// An interrupted call has only the times of the hub, from its execution or else from when it was written.
pub(super) fn latency(tool: &ToolView) -> Option<String> {
    if tool.state == ToolState::Interrupted {
        let from = tool.executing_at.or(tool.pending_at)?;
        let ms = tool.ended_at?.saturating_sub(from);
        return (ms > 0).then(|| format!("≥ {}", format::duration(ms)));
    }
    tool.latency_ms().map(format::duration)
}

/// How long a call waited and ran, and how much of its result was left out.
pub(super) fn timing(tool: &ToolView) -> Vec<String> {
    let waited = tool.executing_at.zip(tool.pending_at).map(|(to, from)| to.saturating_sub(from));
    let queued =
        tool.queued_ms.or(waited).filter(|ms| *ms > 0).map(|ms| format!("queued {}", format::duration(ms)));
    let ran = latency(tool).map(|text| format!("ran {text}"));
    let cut = Some(tool.left_out()).filter(|bytes| *bytes > 0);
    let cut = cut.map(|bytes| format!("{} of the result left out", format::bytes(bytes)));
    queued.into_iter().chain(ran).chain(cut).collect()
}

/// The name of a sub-agent.
pub(super) fn agent_name(id: &str, agent: &AgentView) -> String {
    let name = agent.name.as_deref().map(preview::one_line).unwrap_or_default();
    if name.is_empty() { preview::one_line(id) } else { name }
}

/// Status, number of calls, failures, duration and usage of a sub-agent.
pub(super) fn agent(agent: &AgentView, counts: CallCounts) -> Vec<String> {
    let mut facts = vec![status(agent.status).to_owned()];
    let calls = counts.done.saturating_add(counts.failed).saturating_add(counts.open);
    if calls > 0 {
        facts.push(format::counted(calls, "tool"));
    }
    if counts.failed > 0 {
        facts.push(format!("{} failed", counts.failed));
    }
    facts.extend(took(agent.started_at, agent.ended_at));
    facts.extend(agent.usage.into_iter().flat_map(tokens));
    facts
}

/// A character for a state, for texts without icons.
pub(super) fn sign(state: ToolState) -> &'static str {
    match state {
        ToolState::Writing => "…",
        ToolState::Pending => "◷",
        ToolState::Approval => "?",
        ToolState::Executing => "◌",
        ToolState::Complete => "✓",
        ToolState::Error => "✗",
        ToolState::Cancelled => "⊘",
        ToolState::Interrupted => "⚠",
    }
}

/// The duration of a run; nothing if one of its calls took longer. The run was recorded and published at once
/// then, so its times say nothing.
fn run_took(run: &RunView) -> Option<String> {
    let longest = run.tools.values().filter_map(ToolView::latency_ms).max().unwrap_or(0);
    let is_measured = run.ended_at.is_some_and(|end| end.saturating_sub(run.started_at) >= longest);
    took(run.started_at, run.ended_at.filter(|_| is_measured))
}

/// The time between two moments in milliseconds; nothing if it has no end or took no time.
fn took(from: u64, to: Option<u64>) -> Option<String> {
    to.map(|to| to.saturating_sub(from)).filter(|ms| *ms > 0).map(format::duration)
}
