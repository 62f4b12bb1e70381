//! What callers had begun before the hub came back, from the runs themselves.

use shared::view::NoteBody;
use shared::{RunId, View};

use super::{CALLER, Trace};
use crate::hub::Hub;
use crate::log::ListQuery;

/// Most conversations that are looked through, the newest of all.
const LOOKED_THROUGH_MAX: usize = 512;

/// All that is found, with the runs and when they were begun; the oldest first.
pub(super) fn traces(hub: &Hub) -> Vec<(Trace, RunId, u64)> {
    let query = ListQuery { after: None, state: None, limit: LOOKED_THROUGH_MAX };
    let rows = hub.list(&query).map(|listed| listed.rows).unwrap_or_default();
    let mut found = Vec::new();
    for row in rows {
        let Ok(Some(conversation)) = hub.find(&row.conversation) else { continue };
        let of = |view: &View| {
            let runs = view.runs.iter();
            let notes = runs
                .filter(|(_, run)| run.own)
                .flat_map(|(id, run)| run.notes.iter().map(move |note| (id, note)));
            let traces = notes.filter_map(|(id, note)| {
                let NoteBody::Custom { name, value } = &note.body else { return None };
                let trace: Trace = serde_json::from_str(value.as_str()).ok().filter(|_| name == CALLER)?;
                Some((trace, id.clone(), note.at))
            });
            traces.collect::<Vec<_>>()
        };
        let traces = conversation.look(of).into_iter();
        found.extend(traces.filter(|(trace, ..)| trace.conversation == row.conversation));
    }
    found.sort_by_key(|(.., at)| *at);
    found
}
