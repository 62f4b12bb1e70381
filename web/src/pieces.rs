//! The pieces of a conversation in the order of their events: messages, and the sections of runs between
//! them.

use model::flow::{ConversationSection, turns};
use model::view::{Item, RunView, TopItem, View};
use model::{MessageId, RunId};

/// A piece of a conversation, identified by properties that never change.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Piece {
    /// A message of the history.
    Message(MessageId),
    /// The part of a run between two messages.
    Section {
        /// The id of the run.
        run: RunId,
        /// The index of the section's first item.
        from: usize,
    },
}

impl Piece {
    /// The item to which the piece belongs.
    pub fn item(&self) -> TopItem {
        match self {
            Self::Message(id) => TopItem::Message(id.clone()),
            Self::Section { run, .. } => TopItem::Run(run.clone()),
        }
    }
}

/// The pieces of `view`, in order.
pub fn pieces(view: &View) -> Vec<Piece> {
    let turns = turns(view).into_iter().map(|turn| match turn {
        ConversationSection::Message(id, _) => Piece::Message(id.clone()),
        ConversationSection::Run(stretch) => {
            Piece::Section { run: stretch.id.clone(), from: stretch.items.start }
        }
    });
    turns.collect()
}

/// The index of the piece that contains the last of `items` of the run `id`; without items, of the run's
/// first piece.
pub fn piece_of(pieces: &[Piece], id: &RunId, run: &RunView, items: &[Item]) -> Option<usize> {
    // For an item of a sub-agent, `items` names the sub-agents that contain it; the last is an item of the
    // run itself.
    let at = items.last().and_then(|item| run.items.iter().position(|it| it == item)).unwrap_or(0);
    let of_run = |piece: &Piece| match piece {
        Piece::Section { run, from } if run == id => Some(*from),
        _ => None,
    };
    let held = pieces.iter().rposition(|piece| of_run(piece).is_some_and(|from| from <= at));
    held.or_else(|| pieces.iter().position(|piece| of_run(piece).is_some()))
}

#[cfg(test)]
mod tests {
    //! Tests of the order.

    use model::Envelope;
    use model::fold::fold;

    use super::*;

    #[test]
    fn a_question_that_comes_after_its_run_began_stands_above_the_answer() {
        let lines = [
            r#"{"k":"run.start","run":"r"}"#,
            r#"{"k":"message","message":"m1","role":"user","text":"question"}"#,
            r#"{"k":"tool.call","run":"r","tool":"t","name":"ls","arguments":"{}"}"#,
            r#"{"k":"message","message":"m2","role":"user","text":"more"}"#,
            r#"{"k":"part.start","run":"r","part":"p","kind":"text"}"#,
        ];
        let mut view = View::default();
        for (seq, line) in (1..).zip(lines) {
            let mut envelope = Envelope::parse(line).unwrap();
            (envelope.seq, envelope.at) = (seq, seq);
            fold(&mut view, &envelope, &mut |_| {});
        }
        let id = RunId::new("r");
        let message = |name| Piece::Message(MessageId::new(name));
        let stretch = |from| Piece::Section { run: id.clone(), from };
        let pieces = pieces(&view);
        assert_eq!(pieces, [message("m1"), stretch(0), message("m2"), stretch(1)]);
        let of = |items: &[Item]| piece_of(&pieces, &id, &view.runs[0], items);
        assert_eq!(of(&[Item::Tool("t".into())]), Some(1));
        assert_eq!(of(&[Item::Part("p".into())]), Some(3));
        assert_eq!(of(&[]), Some(1));
    }
}
