//! Events about tool calls. States only go forward; what comes after the end is an anomaly.
//!
//! ```text
//! tool.start, tool.args     tool.call    approval.request      tool.state, tool.output
//!    writing ─────────────▶ pending ───▶ approval ──answer──▶ pending ─▶ executing ─▶ complete, error   tool.result
//!                                           └─ declined ─▶ cancelled             └─▶ interrupted        run.end
//! ```
//!
//! Any state may be skipped. Each function takes one kind of event, never fails, and costs the same however
//! long the run is (I3).

use super::{RunFold, agent, note, part};
use crate::anomaly::AnomalyCode;
use crate::event::{ToolResult, ToolStart, ToolState, ToolStateChange};
use crate::ids::ToolCallId;
use crate::json::Json;
use crate::limits::RESULT_BYTES_MAX;
use crate::view::{Item, RunView, Streamed, ToolView};

/// The model begins to write a call. A second start only adds what was missing.
pub(super) fn start(run: &mut RunView, scene: &mut RunFold<'_>, start: &ToolStart) {
    if let Some(tool) = run.tools.get_mut(&start.tool) {
        if tool.name.is_empty() {
            tool.name.clone_from(&start.name);
        }
        tool.server |= start.server;
        scene.item_changed(Item::Tool(start.tool.clone()));
        return;
    }
    create(run, scene, &start.tool);
    if let Some(tool) = run.tools.get_mut(&start.tool) {
        tool.name.clone_from(&start.name);
        tool.server = start.server;
        tool.given_id.clone_from(&start.given_id);
    }
}

/// Adds the call to the run, unless the run is full.
fn create(run: &mut RunView, scene: &mut RunFold<'_>, id: &ToolCallId) {
    agent::ensure(run, scene);
    if !scene.add(run, Item::Tool(id.clone())) {
        return;
    }
    let tool = ToolView { agent: scene.event.agent.clone(), started_at: scene.at, ..ToolView::default() };
    run.tools.insert(id.clone(), tool);
    run.open.insert(Item::Tool(id.clone()));
}

/// The call `id`, made when it is not there. Nothing when the run is full.
fn find<'a>(run: &'a mut RunView, scene: &mut RunFold<'_>, id: &ToolCallId) -> Option<&'a mut ToolView> {
    if !run.tools.contains_key(id) {
        if !run.full {
            scene.note(AnomalyCode::ToolWithoutStart, || id.to_string());
        }
        create(run, scene, id);
    }
    run.tools.get_mut(id)
}

/// More of the arguments. `off` is where they stand in all arguments, in bytes; what is known already is not
/// added again.
pub(super) fn args(
    run: &mut RunView,
    scene: &mut RunFold<'_>,
    id: &ToolCallId,
    off: Option<u64>,
    text: &str,
) {
    let Some(tool) = find(run, scene, id) else { return };
    if tool.state != ToolState::Writing && !tool.arguments.late {
        tool.arguments.late = true;
        scene.note(AnomalyCode::AfterToolEnd, || id.to_string());
    }
    let odd = tool.arguments.push(off, text);
    part::note_oddities(scene, odd, id.as_str());
    scene.item_changed(Item::Tool(id.clone()));
}

/// A call is written. Many dialects begin with this, so a call that is not there yet is no oddity.
/// `arguments` replace those that came in pieces; `None` says that these are whole.
pub(super) fn call(
    run: &mut RunView,
    scene: &mut RunFold<'_>,
    id: &ToolCallId,
    name: Option<&str>,
    arguments: Option<&str>,
) {
    if !run.tools.contains_key(id) {
        create(run, scene, id);
    }
    let Some(tool) = run.tools.get_mut(id) else { return };
    if let Some(name) = name.filter(|name| !name.is_empty()) {
        tool.name = name.into();
    }
    if let Some(arguments) = arguments {
        tool.arguments = Streamed::whole(arguments);
    }
    part::note_cut(scene, tool.arguments.cut, id.as_str());
    if tool.state == ToolState::Writing {
        tool.state = ToolState::Pending;
        tool.pending_at = Some(scene.at);
    }
    scene.item_changed(Item::Tool(id.clone()));
}

/// A call changes its state. A state before the present one changes nothing but the times.
pub(super) fn state(run: &mut RunView, scene: &mut RunFold<'_>, change: &ToolStateChange) {
    let id = &change.tool;
    let Some(tool) = find(run, scene, id) else { return };
    if tool.state.is_final() {
        scene.note(AnomalyCode::AfterToolEnd, || id.to_string());
        return;
    }
    tool.queued_ms = change.queued_ms.or(tool.queued_ms);
    tool.exec_ms = change.exec_ms.or(tool.exec_ms);
    if change.state > tool.state {
        advance(tool, change.state, scene.at);
    }
    if tool.state.is_final() {
        run.open.swap_remove(&Item::Tool(id.clone()));
    }
    scene.item_changed(Item::Tool(id.clone()));
}

/// Moves `tool` on to `state` and stamps the times that this settles.
fn advance(tool: &mut ToolView, state: ToolState, at: u64) {
    tool.state = state;
    if state >= ToolState::Pending {
        tool.pending_at.get_or_insert(at);
    }
    if state == ToolState::Approval {
        tool.asked_at = Some(at);
    }
    if state == ToolState::Executing {
        tool.executing_at.get_or_insert(at);
    }
    if state.is_final() {
        tool.ended_at = Some(at);
    }
    tool.is_error |= state == ToolState::Error;
}

/// More of what a call has printed: so it runs, whether or not anybody said so.
pub(super) fn output(
    run: &mut RunView,
    scene: &mut RunFold<'_>,
    id: &ToolCallId,
    off: Option<u64>,
    text: &str,
) {
    let at = scene.at;
    let Some(tool) = find(run, scene, id) else { return };
    if tool.state.is_final() && !tool.output.late {
        tool.output.late = true;
        scene.note(AnomalyCode::AfterToolEnd, || id.to_string());
    } else if tool.state < ToolState::Executing {
        advance(tool, ToolState::Executing, at);
    }
    let odd = tool.output.push(off, text);
    part::note_oddities(scene, odd, id.as_str());
    scene.item_changed(Item::Tool(id.clone()));
}

/// What a call gave back. A call that was given up (interrupted) and answers after all is complete after all;
/// one that was told as complete and then as failed has failed, as servers of Agno tell it. Of a result over
/// [`RESULT_BYTES_MAX`] the beginning is kept, as text.
pub(super) fn result(run: &mut RunView, scene: &mut RunFold<'_>, result: &ToolResult) {
    let id = &result.tool;
    let Some(tool) = find(run, scene, id) else { return };
    let is_corrected = tool.state == ToolState::Complete && result.is_error;
    // Who ends a call may learn later what it gave back.
    let is_without = tool.state == ToolState::Complete && tool.result.is_none();
    if tool.state.is_final() && tool.state != ToolState::Interrupted && !is_corrected && !is_without {
        scene.note(AnomalyCode::AfterToolEnd, || id.to_string());
    }
    if result.output.as_str().len() <= RESULT_BYTES_MAX {
        tool.result = Some(result.output.clone());
        tool.result_cut = 0;
    } else {
        let text = result.output.to_text();
        let kept = note::beginning(&text, RESULT_BYTES_MAX);
        tool.result = Some(Json::string(kept));
        tool.result_cut = text.len().saturating_sub(kept.len()) as u64;
        scene.note(AnomalyCode::TooLarge, || id.to_string());
    }
    tool.result_ref.clone_from(&result.reference);
    // Of a result that was over the limit when it came, not even the whole is kept beside the event.
    let over = result.reference.as_ref().and_then(|it| it.bytes.checked_sub(RESULT_BYTES_MAX as u64));
    if let Some(cut) = over.filter(|cut| *cut > 0) {
        tool.result_cut = cut;
        scene.note(AnomalyCode::TooLarge, || format!("{id}: {cut} bytes over the limit"));
    }
    part::note_cut(scene, tool.output.cut, id.as_str());
    tool.queued_ms = result.queued_ms.or(tool.queued_ms);
    tool.exec_ms = result.exec_ms.or(tool.exec_ms);
    tool.files = result.files.clone().or(tool.files.take());
    tool.embeds = result.embeds.clone().or(tool.embeds.take());
    tool.is_error = result.is_error;
    advance(tool, if result.is_error { ToolState::Error } else { ToolState::Complete }, scene.at);
    run.open.swap_remove(&Item::Tool(id.clone()));
    scene.item_changed(Item::Tool(id.clone()));
}

/// A call waits for a person.
pub(super) fn ask(run: &mut RunView, scene: &mut RunFold<'_>, id: &ToolCallId, question: Option<&str>) {
    let Some(tool) = find(run, scene, id) else { return };
    tool.question = question.map(str::to_owned);
    if tool.state < ToolState::Approval {
        tool.approved = false;
        advance(tool, ToolState::Approval, scene.at);
    } else if tool.state.is_final() {
        scene.note(AnomalyCode::AfterToolEnd, || id.to_string());
    }
    scene.item_changed(Item::Tool(id.clone()));
}

/// The person has answered. Consent puts the call back in the queue: nobody has said yet that it runs.
pub(super) fn answer(run: &mut RunView, scene: &mut RunFold<'_>, id: &ToolCallId, approved: bool) {
    let at = scene.at;
    let Some(tool) = find(run, scene, id) else { return };
    if tool.state.is_final() {
        scene.note(AnomalyCode::AfterToolEnd, || id.to_string());
    } else if approved {
        if tool.state == ToolState::Approval {
            tool.state = ToolState::Pending;
            tool.approved = true;
        }
    } else {
        tool.rejected = true;
        advance(tool, ToolState::Cancelled, at);
        run.open.swap_remove(&Item::Tool(id.clone()));
    }
    scene.item_changed(Item::Tool(id.clone()));
}
