//! What callers had begun before the hub came back, from the runs themselves.

use event_log::ListQuery;
use model::event::Kind;
use model::view::{NoteBody, RunView};
use model::{RunId, View};

use super::{CALLER, Heard, LEFT, Trace};
use agents::HUB_STOPPED;
use hub::Hub;

/// Most conversations that are looked through, the newest of all.
const LOOKED_THROUGH_MAX: usize = 512;

/// What a caller had begun.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) trace: Trace,
    pub(super) run: RunId,
    /// When, in milliseconds since 1970.
    pub(super) at: u64,
    pub(super) heard: Heard,
}

/// All that is found, the oldest first.
pub(super) fn traces(hub: &Hub) -> Vec<Found> {
    let query = ListQuery { after: None, state: None, limit: LOOKED_THROUGH_MAX };
    let rows = hub.list(&query).map(|listed| listed.rows).unwrap_or_default();
    let mut found = Vec::new();
    for row in rows {
        let Ok(Some(conversation)) = hub.find(&row.conversation) else { continue };
        let of = |view: &View| {
            let runs = view.runs.iter().filter(|(_, run)| run.own);
            runs.flat_map(|(id, run)| begun(id, run)).collect::<Vec<_>>()
        };
        let traces = conversation.look(of).into_iter();
        found.extend(traces.filter(|found| found.trace.conversation == row.conversation));
    }
    found.sort_by_key(|found| found.at);
    found
}

/// The callers of a run. One that hung up has a part of the answer, and so has each whose connection ended with the hub.
fn begun(id: &RunId, run: &RunView) -> Vec<Found> {
    let is_cut = |body: &NoteBody| matches!(body, NoteBody::Error(error) if error.code == HUB_STOPPED);
    let was_cut = run.is_running() || run.notes.iter().any(|note| is_cut(&note.body));
    let custom = run.notes.iter().filter_map(|note| match &note.body {
        NoteBody::Custom { name, value } => Some((note.at, name.as_str(), value.as_str())),
        _ => None,
    });
    let has_left = |trace: &Trace| {
        let left = trace.left();
        custom.clone().any(|(_, name, value)| {
            name == LEFT && matches!(&left, Some(Kind::Custom { value: salt, .. }) if salt.as_str() == value)
        })
    };
    let traces = custom.clone().filter(|(_, name, _)| *name == CALLER);
    let traces = traces.filter_map(|(at, _, value)| Some((at, serde_json::from_str::<Trace>(value).ok()?)));
    let found = traces.map(|(at, trace)| {
        let heard = if was_cut || has_left(&trace) { Heard::Part } else { Heard::All };
        Found { trace, run: id.clone(), at, heard }
    });
    found.collect()
}
