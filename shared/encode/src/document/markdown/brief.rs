//! Writes all steps of a run in one block that is closed once the run is over, one line for each, for a chat
//! that has room for the answer only.
//!
//! ```text
//! <details>
//! <summary>🔍 Execution Steps (2 tools)</summary>
//!
//! **💭 Thought for 2 s:** the beginning of the thinking...
//!
//! **🔧 search:** the beginning of the result...
//!
//! **🤖 Sub-agent: helper** the beginning of its task
//!
//! ↳ **🔧 read:** ✓ completed
//! </details>
//! ```
//!
//! Each line has the beginning of a text only, except texts of the model, which are whole. Files, arguments,
//! printed output beside a result, and events with a name of the agent's own are left out.

use super::super::facts;
use super::super::outline::{OutlineBlock, OutlineRun};
use super::{beginning, inline, paragraph, tame};
use model::event::{PartKind, ToolState};
use model::preview;
use model::view::ToolView;

/// Writes the block with the steps.
///
/// It is open while the run is running. Whole texts in it are tamed and beginnings of texts escaped, so none
/// of them can end the block early.
pub(super) fn put_steps(section: &OutlineRun<'_>, out: &mut String) {
    let open = if section.run.is_running() { " open" } else { "" };
    let tools = model::format::counted(section.flow.tools, "tool");
    out.push_str(&["\n<details", open, ">\n<summary>🔍 Execution Steps (", &tools, ")</summary>\n"].concat());
    put_lines(&section.steps, "", out);
    out.push_str("\n</details>\n");
}

/// Writes a line for each block. `mark` is put before each line and shows how deep the agent is.
fn put_lines(blocks: &[OutlineBlock<'_>], mark: &str, out: &mut String) {
    for block in blocks {
        match block {
            OutlineBlock::Part(part) if part.kind == PartKind::File => {}
            OutlineBlock::Part(part) => {
                let text = part.body.text.trim();
                if !text.is_empty() {
                    // The whole line is made safe at once: text that begins a block by itself does not do so
                    // after other words.
                    paragraph(&tame(&format!("{mark}**🤖 AI:** {text}")), out);
                }
            }
            OutlineBlock::Thinking(part) => {
                let text = beginning(&part.body.text);
                if !text.is_empty() {
                    paragraph(&format!("{mark}**💭 {}:** {text}", facts::thought(part)), out);
                }
            }
            OutlineBlock::Call(_, tool, _) => {
                let name = inline(&facts::tool_name(tool));
                paragraph(&format!("{mark}**🔧 {name}:** {}", outcome(tool)), out);
            }
            OutlineBlock::Agent(agent) => {
                let name = inline(&facts::agent_name(agent.id.as_str(), agent.known));
                let task = agent.known.task.as_deref().map(beginning).unwrap_or_default();
                paragraph(&format!("{mark}**🤖 Sub-agent: {name}** {task}"), out);
                put_lines(&agent.blocks, &format!("{mark}↳ "), out);
            }
            OutlineBlock::Error(error) => {
                let code = inline(&preview::one_line(&error.code));
                paragraph(&format!("{mark}**⚠ {code}:** {}", beginning(&error.message)), out);
            }
            OutlineBlock::Event(..) => {}
        }
    }
}

/// The beginning of the result of a call, or its state.
///
/// A result that begins as a command to a graph says nothing to a reader and counts as none.
fn outcome(tool: &ToolView) -> String {
    let output = facts::output(tool).filter(|output| !output.is_command());
    match (tool.state, output.map(|output| beginning(&output.text))) {
        (ToolState::Complete, Some(text)) => text,
        (ToolState::Complete, None) => "✓ completed".to_owned(),
        (ToolState::Error, Some(text)) => format!("✗ {text}"),
        (ToolState::Error, None) => "✗ failed".to_owned(),
        (state, _) => format!("{} {}", facts::sign(state), state.as_str()),
    }
}
