//! The commands `label` and `rate`: an event of the hub in the conversation, with the name of who gave it.

use event_log::clock;
use hub::Publication;
use model::code::ErrorCode;
use model::event::{LabelChange, Rating};
use model::frame::Durability;
use model::limits::RATINGS_MAX;
use model::{ConversationId, Envelope, Event, Kind, Position, RunId, View};

use super::{CommandExecutor, Refusal, blocking, find};

/// Checks `change`, writes it into the conversation in the name of `who`, and waits until the log has it. Returns where the
/// conversation stood before. Fails with `bad_request` for a change that is empty or over a bound, with `unknown_conversation`, with
/// `bad_request` for a rating of what is not there, or of more than may be rated, and with what the hub or its log says.
pub(super) async fn write(
    executor: &CommandExecutor,
    who: &str,
    conversation: &ConversationId,
    change: LabelChange,
) -> Result<Position, Refusal> {
    let change = change.checked();
    let mut change = change.map_err(|error| Refusal::new(ErrorCode::BadRequest, error.to_string()))?;
    change.by = executor.gate.is_on().then(|| who.into());
    let target = blocking(|| find(executor.fanout.hub(), conversation))?;
    let after = Position { epoch: target.epoch().clone(), seq: target.head() };
    if after.seq == 0 {
        let why = format!("nothing was said yet in {:?}: there is nothing to label", conversation.as_str());
        return Err(Refusal::new(ErrorCode::UnknownConversation, why));
    }
    if let Some(rating) = &change.rating {
        target.read_view(|view| is_ratable(view, rating))?;
    }
    let event = Event::new(&RunId::none(), Kind::Label(Box::new(change)));
    let at = clock::now_ms();
    let event = Envelope { event, seq: 0, at, producer_at: None, publisher: None, by_hub: true };
    let log = executor.fanout.hub().log();
    let level = Durability::Stored.min(log.durability());
    let publication = Publication { level, ..Publication::beside(vec![event]) };
    let appended = blocking(|| executor.fanout.publish(conversation, publication));
    let appended = appended.map_err(|error| Refusal::new(error.code(), error.to_string()))?;
    let kept = appended.kept(log, level).await;
    kept.map_err(|error| Refusal::new(error.code(), error.to_string()))?;
    Ok(after)
}

/// Fails unless what is rated is there, and there is room for one more rating if it is new.
fn is_ratable(view: &View, rating: &Rating) -> Result<(), Refusal> {
    let missing = match (&rating.run, &rating.message) {
        (Some(run), _) if !view.runs.contains_key(run) => Some(format!("no run is named {:?}", run.as_str())),
        (_, Some(message)) if !view.messages.contains_key(message) => {
            Some(format!("no message is named {:?}", message.as_str()))
        }
        _ => None,
    };
    if let Some(missing) = missing {
        return Err(Refusal::new(ErrorCode::BadRequest, missing));
    }
    let known = &view.label.ratings;
    if rating.good.is_some() && known.len() >= RATINGS_MAX && !known.iter().any(|it| it.is_of_same(rating)) {
        let why = format!("{RATINGS_MAX} runs and messages are rated, and no conversation has more");
        return Err(Refusal::new(ErrorCode::BadRequest, why));
    }
    Ok(())
}
