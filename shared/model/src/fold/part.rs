//! Events about streamed texts.

use super::{RunFold, agent};
use crate::anomaly::AnomalyCode;
use crate::event::{PartEnd, PartKind};
use crate::ids::PartId;
use crate::limits::SIGNATURE_BYTES_MAX;
use crate::view::{DeltaOddities, Item, PartView, RunView, Streamed};

/// Folds the start of a part into its run.
pub(super) fn start(run: &mut RunView, scene: &mut RunFold<'_>, id: &PartId, kind: PartKind) {
    if run.parts.contains_key(id) {
        scene.note(AnomalyCode::PartStartedTwice, || id.to_string());
        return;
    }
    create(run, scene, id, kind);
}

fn create(run: &mut RunView, scene: &mut RunFold<'_>, id: &PartId, kind: PartKind) {
    agent::ensure(run, scene);
    if !scene.add(run, Item::Part(id.clone())) {
        return;
    }
    let part = PartView {
        kind,
        agent: scene.event.agent.clone(),
        body: Streamed::default(),
        started_at: scene.at,
        ended_at: None,
        duration_ms: None,
        hidden: false,
        signature: None,
    };
    run.parts.insert(id.clone(), part);
    run.open.insert(Item::Part(id.clone()));
}

/// The part `id`, made when it is not there. Nothing when the run is full.
fn find<'a>(run: &'a mut RunView, scene: &mut RunFold<'_>, id: &PartId) -> Option<&'a mut PartView> {
    if !run.parts.contains_key(id) {
        if !run.full {
            scene.note(AnomalyCode::PartWithoutStart, || id.to_string());
        }
        create(run, scene, id, PartKind::Text);
    }
    run.parts.get_mut(id)
}

/// Appends a delta to a part, and begins the part where no start was seen.
pub(super) fn delta(run: &mut RunView, scene: &mut RunFold<'_>, id: &PartId, off: Option<u64>, text: &str) {
    let Some(part) = find(run, scene, id) else { return };
    if part.ended_at.is_some() && !part.body.late {
        part.body.late = true;
        scene.note(AnomalyCode::AfterPartEnd, || id.to_string());
    }
    let odd = part.body.push(off, text);
    note_oddities(scene, odd, id.as_str());
    scene.item_changed(Item::Part(id.clone()));
}

/// Notes what was odd about a delta of `id`.
pub(super) fn note_oddities(scene: &mut RunFold<'_>, odd: DeltaOddities, id: &str) {
    if odd.hole {
        scene.note(AnomalyCode::DeltaHole, || id.to_owned());
    }
    if odd.overlap {
        scene.note(AnomalyCode::DeltaOverlap, || id.to_owned());
    }
}

/// Notes, when `body` is final, that it went over the limit. Not at the delta that crossed it: where that one stands
/// among other oddities depends on how deltas were joined.
pub(super) fn note_cut(scene: &mut RunFold<'_>, cut: u64, id: &str) {
    if cut > 0 {
        scene.note(AnomalyCode::TooLarge, || format!("{id}: {cut} bytes over the limit"));
    }
}

/// The text is another one.
pub(super) fn replace(run: &mut RunView, scene: &mut RunFold<'_>, id: &PartId, text: &str) {
    let Some(part) = find(run, scene, id) else { return };
    part.body = Streamed::whole(text);
    scene.item_changed(Item::Part(id.clone()));
}

/// The text is whole.
pub(super) fn end(run: &mut RunView, scene: &mut RunFold<'_>, end: &PartEnd) {
    let id = &end.part;
    let Some(part) = find(run, scene, id) else { return };
    part.ended_at.get_or_insert(scene.at);
    part.duration_ms = end.duration_ms.or(part.duration_ms);
    part.hidden |= end.hidden;
    let signature = end.signature.as_ref();
    if let Some(signature) = signature.filter(|signature| signature.len() <= SIGNATURE_BYTES_MAX) {
        part.signature = Some(signature.clone());
    } else if let Some(signature) = signature {
        let bytes = signature.len();
        scene.note(AnomalyCode::TooLarge, || format!("{id}: a signature of {bytes} bytes"));
    }
    let wrong_len = end.len.is_some_and(|len| len != part.body.len);
    let wrong_hash = end.hash.as_ref().is_some_and(|hash| *hash != part.body.hash_hex());
    if wrong_len || wrong_hash {
        scene.note(AnomalyCode::PartMismatch, || id.to_string());
    }
    note_cut(scene, part.body.cut, id.as_str());
    run.open.swap_remove(&Item::Part(id.clone()));
    scene.item_changed(Item::Part(id.clone()));
}
