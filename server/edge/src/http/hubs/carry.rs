//! Events that this hub has found out for conversations of other hubs: carried to their owners as requests, one after the
//! other, so that they keep their order. What no owner takes is lost, and logged.

use std::time::Duration;

use access::Principal;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Method, header};
use hub::Publication;
use model::limits::EVENTS_PER_PUBLISH_MAX;
use model::{ConversationId, Envelope};
use tokio::task::JoinHandle;

use super::pass::{PassOutcome, escaped, to_owner};
use crate::http::OwnerRoute;
use crate::peers::Ownership;
use crate::sharing::{EventsForOwner, OpenRequest};

/// Most publications that are taken at once; those of one conversation go in one request.
const AT_ONCE: usize = 256;

/// Most bytes of memory of publications that are joined. As JSON they take up to six times as much, where each letter is escaped, which is
/// below what a body of events may have (`EVENTS_BODY_BYTES_MAX`).
const JOINED_BYTES_MAX: usize = 2 << 20;

/// How long one request may take, so that an owner that does not answer holds up the others for no longer.
const SENT_WITHIN: Duration = Duration::from_secs(30);

/// How long what is left may take when the hub stops.
const LAST: Duration = Duration::from_secs(2);

/// Starts the task that carries; `None` for a hub that shares its log with nobody.
pub(crate) fn start(route: OwnerRoute) -> Option<JoinHandle<()>> {
    let mut carried = route.ownership.peers.as_ref()?.to_carry.lock().take()?;
    Some(tokio::spawn(async move {
        let mut some = Vec::with_capacity(AT_ONCE);
        while carried.recv_many(&mut some, AT_ONCE).await > 0 {
            for (joint, count) in joined(some.drain(..)) {
                let EventsForOwner { conversation, events, bytes } = joint;
                if tokio::time::timeout(SENT_WITHIN, send(&route, &conversation, events)).await.is_err() {
                    tracing::warn!(%conversation, "events for a conversation of another hub may be lost: it did not answer");
                }
                if let Some(peers) = &route.ownership.peers {
                    peers.arrived(&conversation, count, bytes);
                }
            }
        }
    }))
}

/// Takes nothing more, and waits until what was taken has arrived, for [`LAST`] at most.
pub(crate) async fn finish(ownership: &Ownership, carrying: Option<JoinHandle<()>>) {
    let (Some(peers), Some(carrying)) = (&ownership.peers, carrying) else { return };
    drop(peers.carried.lock().take());
    let abort = carrying.abort_handle();
    if tokio::time::timeout(LAST, carrying).await.is_err() {
        tracing::warn!("events for conversations of other hubs were lost: they did not take them in time");
        abort.abort();
    }
}

/// Joins neighbours of one conversation, and counts them.
fn joined(some: impl Iterator<Item = EventsForOwner>) -> Vec<(EventsForOwner, usize)> {
    let mut all: Vec<(EventsForOwner, usize)> = Vec::new();
    for next in some {
        match all.last_mut() {
            Some((last, count))
                if last.conversation == next.conversation
                    && last.events.len() + next.events.len() <= EVENTS_PER_PUBLISH_MAX
                    && last.bytes + next.bytes <= JOINED_BYTES_MAX =>
            {
                last.events.extend(next.events);
                last.bytes += next.bytes;
                *count += 1;
            }
            _ => all.push((next, 1)),
        }
    }
    all
}

/// Has the owner append `events`; this hub, if it has become the owner.
async fn send(route: &OwnerRoute, conversation: &ConversationId, events: Vec<Envelope>) {
    // If it is this hub's, nobody moves it before the events are appended.
    let _open = OpenRequest::begin(&route.ownership.moves, conversation);
    let why = match request(conversation, &events) {
        Ok(request) => {
            match to_owner(route, conversation, &Principal::everyone(), request.into_parts()).await {
                Ok(PassOutcome::There(answer)) if answer.status().is_success() => return,
                Ok(PassOutcome::There(answer)) => answer.status().to_string(),
                Ok(PassOutcome::Here(..)) => {
                    match route.ownership.fanout.publish(conversation, Publication::of(events)) {
                        Ok(_) => return,
                        Err(error) => error.to_string(),
                    }
                }
                Err(problem) => problem.told().1,
            }
        }
        Err(why) => why,
    };
    tracing::warn!(%conversation, why, "events for a conversation of another hub were lost");
}

/// The request that publishes `events`.
fn request(conversation: &ConversationId, events: &[Envelope]) -> Result<Request, String> {
    let json = serde_json::to_vec(events).map_err(|error| error.to_string())?;
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("/v1/conversations/{}/events", escaped(conversation)))
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::CONTENT_LENGTH, json.len())
        .body(Body::from(json));
    request.map_err(|error| error.to_string())
}
