//! Events that happen once: failures, and events of the agent's own.

use super::{RunFold, ViewChange, agent, loss};
use crate::anomaly::AnomalyCode;
use crate::event::{ErrorFact, Event, Kind, Unknown};
use crate::json::Json;
use crate::limits::{BOOKKEEPING_BYTES_MAX, BOOKKEEPING_PREFIX, NOTE_BYTES_MAX, RAW_BYTES_PER_RUN_MAX};
use crate::view::{Item, Note, NoteBody, RunView};

/// Adds the note of an error to the run, and counts an anomaly where the run is full.
pub(super) fn error(run: &mut RunView, scene: &mut RunFold<'_>, error: &ErrorFact) {
    loss::note_error(run, error);
    run.error = Some(error.clone());
    add(run, scene, NoteBody::Error(error.clone()));
    scene.run_changed();
}

/// An event of the agent's own.
pub(super) fn custom(run: &mut RunView, scene: &mut RunFold<'_>, name: &str, value: &Json) {
    // What is cut cannot be read back, and the hub goes on from what it reads there.
    let is_bookkeeping = name.starts_with(BOOKKEEPING_PREFIX);
    let limit = if is_bookkeeping { BOOKKEEPING_BYTES_MAX } else { NOTE_BYTES_MAX };
    add(run, scene, NoteBody::Custom { name: name.into(), value: bounded(value, limit) });
}

/// Folds a foreign event ([`Kind::Raw`](crate::event::Kind::Raw)) into the notes of the run, within the bound of their bytes.
pub(super) fn raw(run: &mut RunView, scene: &mut RunFold<'_>, name: &str, value: &Json) {
    add_raw(run, scene, name, value);
}

/// Bytes of what an event of another system or of a later version holds, as JSON; `None` for other events.
pub fn raw_bytes(kind: &Kind) -> Option<u64> {
    match kind {
        Kind::Raw { value, .. } => Some(value.as_str().len() as u64),
        Kind::Unknown(unknown) => Some(Json::of(&unknown.fields).as_str().len() as u64),
        _ => None,
    }
}

/// Leaves of such an event its beginning, as a string of which the JSON has at most [`NOTE_BYTES_MAX`] bytes, so that a view keeps it as it
/// is. Does nothing to other and to shorter events.
pub fn cut_raw(event: &mut Event) {
    let (name, value) = match &event.kind {
        Kind::Raw { name, value } => (name.clone(), value.clone()),
        Kind::Unknown(unknown) => (unknown.k.clone(), Json::of(&unknown.fields)),
        _ => return,
    };
    let (mut limit, mut cut) = (NOTE_BYTES_MAX, value);
    let text = cut.as_str().to_owned();
    while cut.as_str().len() > NOTE_BYTES_MAX {
        cut = Json::string(beginning(&text, limit));
        // Quotes need two bytes in a string.
        limit = (limit.saturating_mul(NOTE_BYTES_MAX) / cut.as_str().len().max(1)).saturating_sub(2);
    }
    if cut.as_str().len() < text.len() {
        event.kind = Kind::Raw { name, value: cut };
    }
}

/// An event of a later version.
pub(super) fn unknown(run: &mut RunView, scene: &mut RunFold<'_>, unknown: &Unknown) {
    add_raw(run, scene, &unknown.k, &Json::of(&unknown.fields));
}

/// Keeps `value` while the run's budget lasts, and says once that it is used up.
fn add_raw(run: &mut RunView, scene: &mut RunFold<'_>, name: &str, value: &Json) {
    let value = bounded(value, NOTE_BYTES_MAX);
    let before = run.raw_bytes;
    run.raw_bytes = before.saturating_add(value.as_str().len() as u64);
    if run.raw_bytes <= RAW_BYTES_PER_RUN_MAX {
        add(run, scene, NoteBody::Raw { name: name.into(), value });
    } else if before <= RAW_BYTES_PER_RUN_MAX {
        let said = || {
            format!(
                "raw events of {} over {RAW_BYTES_PER_RUN_MAX} bytes: later ones are left out",
                scene.run_id
            )
        };
        scene.anomalies.note(AnomalyCode::TooMany, said);
        (scene.changed)(ViewChange::Run(scene.run_id.clone()));
    }
}

fn add(run: &mut RunView, scene: &mut RunFold<'_>, body: NoteBody) {
    agent::ensure(run, scene);
    if scene.add(run, Item::Note(run.notes.len())) {
        run.notes.push(Note { at: scene.at, agent: scene.event.agent.clone(), body });
    }
}

/// `value`, or its beginning as a string when it is over `limit`.
fn bounded(value: &Json, limit: usize) -> Json {
    let text = value.as_str();
    if text.len() <= limit {
        return value.clone();
    }
    Json::string(beginning(text, limit))
}

/// The first `limit` bytes of `text`, or a little less so that no character is cut.
pub(super) fn beginning(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    text.get(..end).unwrap_or_default()
}
