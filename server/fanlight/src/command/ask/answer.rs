//! The text of an answer as it comes, read from the view of its run: so it goes on after the loss of the socket, and where the hub sends a
//! state in the place of events.

use std::collections::HashMap;

use model::event::{PartKind, ToolState};
use model::view::RunView;
use model::{PartId, ToolCallId};

/// What was shown of an answer.
#[derive(Debug, Default)]
pub(super) struct ShownAnswer {
    /// The number of bytes that were shown of each text.
    texts: HashMap<PartId, usize>,
    /// The calls whose wait for approval was told.
    told: Vec<ToolCallId>,
    /// Whether what was shown ends within a line.
    is_within_line: bool,
}

impl ShownAnswer {
    /// What the main agent has said since the last call. There is an empty line between two of its texts, as in the answers of the doors. Of a
    /// text that was replaced by a shorter one nothing is shown until it is longer.
    pub(super) fn more(&mut self, run: &RunView) -> String {
        let mut more = String::new();
        for (id, part) in &run.parts {
            if part.agent.is_some() || !matches!(part.kind, PartKind::Text | PartKind::Refusal) {
                continue;
            }
            let text = part.body.text.as_str();
            let known = self.texts.get(id).copied();
            let Some(new) = text.get(known.unwrap_or(0)..).filter(|new| !new.is_empty()) else { continue };
            if known.is_none() && !self.texts.is_empty() {
                more.push_str("\n\n");
            }
            more.push_str(new);
            self.texts.insert(id.clone(), text.len());
        }
        if let Some(last) = more.chars().last() {
            self.is_within_line = last != '\n';
        }
        more
    }

    /// The names of the tools whose calls wait for approval and were not told yet.
    pub(super) fn waits(&mut self, run: &RunView) -> Vec<String> {
        let mut names = Vec::new();
        for (id, tool) in &run.tools {
            if tool.state == ToolState::Approval && !self.told.contains(id) {
                self.told.push(id.clone());
                names.push(tool.name.to_string());
            }
        }
        names
    }

    /// What ends the line that was begun; nothing if none was.
    pub(super) fn end_line(&mut self) -> &'static str {
        if std::mem::take(&mut self.is_within_line) { "\n" } else { "" }
    }
}

#[cfg(test)]
mod tests {
    //! What is shown of a view that grows.

    use model::view::PartView;

    use super::*;

    #[test]
    fn each_text_is_shown_once_and_apart() {
        let mut run = RunView::default();
        let mut shown = ShownAnswer::default();
        let part = |run: &mut RunView, id: &str, text: &str| {
            let part = run.parts.entry(PartId::new(id)).or_insert_with(|| PartView {
                kind: PartKind::Text,
                agent: None,
                body: Default::default(),
                started_at: 0,
                ended_at: None,
                duration_ms: None,
                hidden: false,
                signature: None,
            });
            part.body.text = text.to_owned().into();
        };
        assert_eq!((shown.more(&run).as_str(), shown.end_line()), ("", ""));
        part(&mut run, "a", "Grö");
        assert_eq!(shown.more(&run), "Grö");
        part(&mut run, "a", "Größe");
        part(&mut run, "b", "Next.\n");
        assert_eq!((shown.more(&run).as_str(), shown.end_line()), ("ße\n\nNext.\n", ""));
        part(&mut run, "b", "Ne");
        assert_eq!(shown.more(&run), "");
        part(&mut run, "b", "Next.\nNow");
        assert_eq!((shown.more(&run).as_str(), shown.end_line()), ("Now", "\n"));
    }
}
