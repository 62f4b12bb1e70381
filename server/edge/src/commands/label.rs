//! The command `label`: an event of the hub in the conversation, with the name of who gave it.

use event_log::clock;
use hub::Publication;
use model::code::ErrorCode;
use model::event::LabelChange;
use model::frame::Durability;
use model::{ConversationId, Envelope, Event, Kind, Position, RunId};

use super::{Arc, Refusal, Shared, blocking, find};

/// Checks `change`, writes it into the conversation in the name of `who`, and waits until the log has it. Returns where the
/// conversation stood before. Fails with `bad_request` for a change that is empty or over a bound, with `unknown_conversation`, and
/// with what the hub or its log says.
pub(super) async fn write(
    shared: &Arc<Shared>,
    who: &str,
    conversation: &ConversationId,
    change: LabelChange,
) -> Result<Position, Refusal> {
    let change = change.checked();
    let mut change = change.map_err(|error| Refusal::new(ErrorCode::BadRequest, error.to_string()))?;
    change.by = shared.gate.is_on().then(|| who.into());
    let target = blocking(|| find(&shared.hub, conversation))?;
    let after = Position { epoch: target.epoch().clone(), seq: target.head() };
    if after.seq == 0 {
        let why = format!("nothing was said yet in {:?}: there is nothing to label", conversation.as_str());
        return Err(Refusal::new(ErrorCode::UnknownConversation, why));
    }
    let event = Event::new(&RunId::none(), Kind::Label(change));
    let at = clock::now_ms();
    let event = Envelope { event, seq: 0, at, producer_at: None, publisher: None, by_hub: true };
    let log = shared.hub.log();
    let level = Durability::Stored.min(log.durability());
    let publication = Publication { level, ..Publication::beside(vec![event]) };
    let appended = blocking(|| shared.fanout.publish(conversation, publication));
    let appended = appended.map_err(|error| Refusal::new(error.code(), error.to_string()))?;
    let kept = appended.kept(log, level).await;
    kept.map_err(|error| Refusal::new(error.code(), error.to_string()))?;
    Ok(after)
}
