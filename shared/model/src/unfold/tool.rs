//! One call: as far as it came before the end of its run, and what came after.

use compact_str::CompactString;

use super::UnfoldedEvents;
use super::text::deltas;
use crate::event::{Kind, ToolResult, ToolStart, ToolState, ToolStateChange};
use crate::ids::{RunId, ToolCallId};
use crate::view::ToolView;

/// Tells `tool`, but for what an open call does after its arguments are written: see [`go_on`]. `with_run` leaves its
/// end to that of the run.
pub(super) fn tell(run: &RunId, id: &ToolCallId, tool: &ToolView, with_run: bool, out: &mut UnfoldedEvents) {
    write(run, id, tool, out);
    if !tool.state.is_final() {
        return;
    }
    if tool.pending_at.is_some() || with_run {
        work(run, id, tool, out);
    }
    if !with_run && tool.pending_at.is_some() {
        close(run, id, tool, out);
        tell_late(run, id, tool, out);
    }
}

/// Tells what came after the end of a call.
pub(super) fn tell_late(run: &RunId, id: &ToolCallId, tool: &ToolView, out: &mut UnfoldedEvents) {
    let at = tool.ended_at.unwrap_or(tool.started_at);
    let agent = tool.agent.as_ref();
    if tool.arguments.late && tool.pending_at.is_none() {
        let args = Kind::ToolArgs { tool: id.clone(), off: None, text: CompactString::default() };
        out.push(run, agent, at, args);
    }
    if tool.output.late {
        if tool.executing_at.is_none() {
            print(run, id, tool, at, out);
        }
        if tool.executing_at.is_some() || deltas(&tool.output).is_empty() {
            let nothing = CompactString::default();
            out.push(run, agent, at, Kind::ToolOutput { tool: id.clone(), off: None, text: nothing });
        }
    }
    if tool.question.is_some() && !is_asked(tool) && tool.executing_at.is_none() {
        let ask = Kind::ApprovalRequest { tool: id.clone(), text: tool.question.clone() };
        out.push(run, agent, at, ask);
    }
}

/// Tells what a call that is open does since its arguments are written.
pub(super) fn go_on(run: &RunId, id: &ToolCallId, tool: &ToolView, out: &mut UnfoldedEvents) {
    work(run, id, tool, out);
}

/// Tells how the model wrote the call: its start, its arguments, and that they are whole.
fn write(run: &RunId, id: &ToolCallId, tool: &ToolView, out: &mut UnfoldedEvents) {
    let agent = tool.agent.as_ref();
    let start = ToolStart {
        tool: id.clone(),
        name: tool.name.clone(),
        server: tool.server,
        given_id: tool.given_id.clone(),
    };
    out.push(run, agent, tool.started_at, Kind::ToolStart(start));
    for (off, text) in deltas(&tool.arguments) {
        let args = Kind::ToolArgs { tool: id.clone(), off: Some(off), text };
        out.push(run, agent, tool.started_at, args);
    }
    let Some(at) = tool.pending_at else { return };
    out.push(run, agent, at, Kind::ToolCall { tool: id.clone(), name: None, arguments: None });
    if tool.arguments.late {
        let args = Kind::ToolArgs { tool: id.clone(), off: None, text: CompactString::default() };
        out.push(run, agent, at, args);
    }
}

/// What happens to a call that is written, up to its end.
fn work(run: &RunId, id: &ToolCallId, tool: &ToolView, out: &mut UnfoldedEvents) {
    let agent = tool.agent.as_ref();
    let at = tool.pending_at.unwrap_or(tool.started_at);
    let timed = tool.queued_ms.is_some() || tool.exec_ms.is_some();
    let change = |state| {
        let (queued_ms, exec_ms) = (tool.queued_ms, tool.exec_ms);
        Kind::ToolState(ToolStateChange { tool: id.clone(), state, queued_ms, exec_ms })
    };
    if is_asked(tool) {
        let at = tool.asked_at.unwrap_or(at);
        let ask = Kind::ApprovalRequest { tool: id.clone(), text: tool.question.clone() };
        out.push(run, agent, at, ask);
        // One that waits for its turn was agreed to, also where older views do not say so.
        if tool.approved || tool.state == ToolState::Pending {
            let answer = Kind::ApprovalAnswer { tool: id.clone(), approved: true, text: None };
            out.push(run, agent, at, answer);
        }
    }
    if let Some(at) = tool.executing_at {
        out.push(run, agent, at, change(ToolState::Executing));
        if tool.question.is_some() && !is_asked(tool) {
            // The question changes nothing any more.
            let ask = Kind::ApprovalRequest { tool: id.clone(), text: tool.question.clone() };
            out.push(run, agent, at, ask);
        }
        print(run, id, tool, at, out);
    } else if tool.approved && tool.state == ToolState::Approval {
        // It waits again, as a state said after the answer.
        out.push(run, agent, tool.asked_at.unwrap_or(at), change(ToolState::Approval));
    } else if timed && tool.result.is_none() {
        // Changes nothing but the times.
        out.push(run, agent, at, change(ToolState::Writing));
    }
}

/// Whether a person was asked before the end of a call; a view of an older version does not say when.
fn is_asked(tool: &ToolView) -> bool {
    let may_be = tool.question.is_some() && tool.state == ToolState::Pending;
    tool.asked_at.is_some()
        || tool.pending_at.is_some() && (may_be || tool.approved || tool.state == ToolState::Approval)
}

/// Tells the output of a call.
fn print(run: &RunId, id: &ToolCallId, tool: &ToolView, at: u64, out: &mut UnfoldedEvents) {
    for (off, text) in deltas(&tool.output) {
        let output = Kind::ToolOutput { tool: id.clone(), off: Some(off), text };
        out.push(run, tool.agent.as_ref(), at, output);
    }
}

/// Tells how a call ended: declined, with a result, or in a state without one.
fn close(run: &RunId, id: &ToolCallId, tool: &ToolView, out: &mut UnfoldedEvents) {
    let at = tool.ended_at.unwrap_or(tool.started_at);
    let (queued_ms, exec_ms) = (tool.queued_ms, tool.exec_ms);
    if tool.rejected {
        let answer = Kind::ApprovalAnswer { tool: id.clone(), approved: false, text: None };
        out.push(run, tool.agent.as_ref(), at, answer);
    }
    let kind = match &tool.result {
        None if tool.rejected => return,
        Some(output) => Kind::ToolResult(ToolResult {
            tool: id.clone(),
            output: output.clone(),
            is_error: tool.is_error,
            queued_ms,
            exec_ms,
            files: tool.files.clone(),
            embeds: tool.embeds.clone(),
            reference: tool.result_ref.clone(),
        }),
        None => Kind::ToolState(ToolStateChange { tool: id.clone(), state: tool.state, queued_ms, exec_ms }),
    };
    out.push(run, tool.agent.as_ref(), at, kind);
}
