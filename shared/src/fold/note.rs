//! Facts that happen once: failures, and events of the agent's own.

use super::{Scene, agent, loss};
use crate::event::{ErrorFact, Unknown};
use crate::json::Json;
use crate::limits::NOTE_BYTES_MAX;
use crate::view::{Item, Note, NoteBody, RunView};

/// Something failed.
pub(super) fn error(run: &mut RunView, scene: &mut Scene<'_>, error: &ErrorFact) {
    loss::note_error(run, error);
    run.error = Some(error.clone());
    add(run, scene, NoteBody::Error(error.clone()));
    scene.run_changed();
}

/// An event of the agent's own.
pub(super) fn custom(run: &mut RunView, scene: &mut Scene<'_>, name: &str, value: &Json) {
    add(run, scene, NoteBody::Custom { name: name.into(), value: bounded(value) });
}

/// A foreign event.
pub(super) fn raw(run: &mut RunView, scene: &mut Scene<'_>, name: &str, value: &Json) {
    add(run, scene, NoteBody::Raw { name: name.into(), value: bounded(value) });
}

/// An event of a later version.
pub(super) fn unknown(run: &mut RunView, scene: &mut Scene<'_>, unknown: &Unknown) {
    let value = bounded(&Json::of(&unknown.fields));
    add(run, scene, NoteBody::Raw { name: unknown.k.clone(), value });
}

fn add(run: &mut RunView, scene: &mut Scene<'_>, body: NoteBody) {
    agent::ensure(run, scene);
    if scene.add(run, Item::Note(run.notes.len())) {
        run.notes.push(Note { at: scene.at, agent: scene.event.agent.clone(), body });
    }
}

/// `value`, or its beginning as a string when it is over the limit.
fn bounded(value: &Json) -> Json {
    let text = value.as_str();
    if text.len() <= NOTE_BYTES_MAX {
        return value.clone();
    }
    Json::string(beginning(text, NOTE_BYTES_MAX))
}

/// The first `limit` bytes of `text`, or a little less so that no character is cut.
pub(super) fn beginning(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    text.get(..end).unwrap_or_default()
}
