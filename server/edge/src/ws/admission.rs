//! Who is at the other end of a socket, which frames they may send, and until when they are admitted.
//!
//! A frame that is forbidden is answered with an error and leaves the socket open. A socket is closed with
//! 4401 if its client is not or no longer known, with 4403 if it has no right that a socket has a use for.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use access::audit::{Audited, AuditedAction};
use access::{Admission, Denial, Proof, RatedAct, Right, frames};
use compact_str::CompactString;
use hub::SeenRows;
use hub::beginning::SharedRule;
use model::code::{CloseCode, ErrorCode};
use model::frame::{BearerToken, ClientFrame, ServerFrame};
use model::{ConversationId, Mask};
use tokio::time::Instant;

use super::SocketKind;
use super::connection::Connection;
use crate::access::CountedFor;
use crate::http::access::fair;
use event_log::clock;

/// So many text frames are counted at once, or fewer with many bytes.
const COUNTED_FRAMES: u16 = 16;

/// Rights that can be used over a socket; a client without any of them is closed.
const OVER_SOCKETS: [Right; 3] = [Right::View, Right::Publish, Right::Control];

/// The admission as sockets hold it. That of everyone, where access control is off, is one for all of them.
pub(super) fn shared_by_sockets(admission: Admission) -> Arc<Admission> {
    static EVERYONE: LazyLock<Arc<Admission>> = LazyLock::new(|| Arc::new(Admission::everyone()));
    if admission.proof == Proof::None { Arc::clone(&EVERYONE) } else { Arc::new(admission) }
}

/// The entry of the audit log that says that `frame` of `who` was refused.
fn refused(who: &str, frame: &ClientFrame) -> Audited {
    let refused = Audited::new(AuditedAction::Refused, who).failed(ErrorCode::Forbidden.as_str());
    match frame {
        ClientFrame::Sub { conv, .. } => refused.about(conv.as_str()).with("sub"),
        ClientFrame::Pub(publication) => refused.about(publication.conv.as_str()).with("pub"),
        ClientFrame::Command { conv, .. } => refused.about(conv.as_str()).with("command"),
        _ => refused.with("a frame of a socket"),
    }
}

/// What becomes of a client that says `hello`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Greeted {
    /// The client is let in.
    Yes,
    /// The client is not let in, and the socket is closed.
    No,
    /// The key that signed its token is being fetched.
    Later,
}

impl Connection {
    /// Admits the client by the token in its `hello`, otherwise by the request that opened the socket. If
    /// that fails, the socket is closed: with 4401, 4403, or 4008 if its principal has as many sockets as it
    /// may.
    pub(super) fn let_in(&mut self, token: Option<&BearerToken>) -> Greeted {
        if let Some(token) = token.filter(|_| self.shared.gate.is_on()) {
            match self.shared.gate.by_token(token.reveal()) {
                Ok(admission) => self.admission = Some(Arc::new(admission)),
                Err(Denial::UnknownKey) if self.shared.gate.asks_for_keys() => return Greeted::Later,
                Err(denial) => return self.turned_away(denial),
            }
        }
        let Some(admission) = &self.admission else { return self.turned_away(Denial::Missing) };
        let is_of_use = |right: &Right| match right {
            Right::Publish => admission.principal.may_publish_somewhere(),
            right => admission.principal.may_somewhere(*right),
        };
        if !OVER_SOCKETS.iter().any(is_of_use) {
            return self.turned_away(Denial::Forbidden);
        }
        let counted = self.shared.gate.counted();
        match counted.map(|counted| counted.socket(admission.principal.name())) {
            Some(None) => {
                let max = counted.map_or(0, |counted| counted.quotas.sockets_per_principal);
                self.close(CloseCode::RateLimited, &format!("this principal has {max} sockets open already"));
                return Greeted::No;
            }
            seat => self.seat = seat.flatten(),
        }
        Greeted::Yes
    }

    /// Notes in the audit log that the client views `conversation`, where views are noted. Another hub notes its own viewers.
    pub(super) fn note_view(&self, conversation: &ConversationId) {
        let is_noted = self.kind == SocketKind::Client && self.shared.gate.notes_views();
        if let Some(admission) = self.admission.as_ref().filter(|_| is_noted) {
            let viewed = Audited::new(AuditedAction::View, admission.principal.name());
            self.shared.gate.audit(viewed.about(conversation.as_str()).with("sub"));
        }
    }

    /// Lets a client go on by another token of the same principal: with the same name, grants and role, since what it follows was begun
    /// with those. If that fails, the socket is closed: with 4401, or 4403.
    pub(super) fn let_stay(&mut self, token: &BearerToken) -> Greeted {
        let fresh = match self.shared.gate.by_token(token.reveal()) {
            Ok(fresh) => fresh,
            Err(Denial::UnknownKey) if self.shared.gate.asks_for_keys() => return Greeted::Later,
            Err(denial) => return self.turned_away(denial),
        };
        let Some(before) = &self.admission else { return self.turned_away(Denial::Missing) };
        if fresh.principal == before.principal {
            self.admission = Some(Arc::new(fresh));
            return Greeted::Yes;
        }
        let refused = Audited::new(AuditedAction::Refused, before.principal.name());
        let named = format!("another hello on a socket, by the token of {}", fresh.principal.name());
        self.shared.gate.audit(refused.with(named).failed(ErrorCode::Unauthenticated.as_str()));
        let why = "this token is of somebody else, or has other grants or another role: open another socket with it";
        self.close(CloseCode::Unauthenticated, why);
        Greeted::No
    }

    /// Whether the client may publish now; otherwise it is told `too_many` for the frame with this id.
    pub(super) fn may_publish(&self, id: u64) -> bool {
        let (Some(counted), Some(admission)) = (self.shared.gate.counted(), &self.admission) else {
            return true;
        };
        // What another hub passes on was counted there.
        if self.kind == SocketKind::Hub {
            return true;
        }
        if counted.may_publish(admission.principal.name()) {
            return true;
        }
        let message = fair::too_fast(counted);
        self.queue(&ServerFrame::Error {
            sub: None,
            id: Some(id),
            code: ErrorCode::TooMany,
            message,
            expected: None,
        });
        false
    }

    /// Counts what came for the address, and for the principal once it is known, if it is at least `least` bytes. Nothing is read as long as they owe.
    pub(super) fn count_received(&mut self, least: u32) {
        // What another hub passes on was counted there.
        let Some(counted) = self.shared.gate.counted().filter(|_| self.kind == SocketKind::Client) else {
            return;
        };
        // A turn may bring more frames than bytes that are worth it.
        let least = if self.frames >= COUNTED_FRAMES { 1 } else { least };
        let Some(bytes) = self.inlet.came(least) else { return };
        let frames = std::mem::take(&mut self.frames);
        let whose = self.counted_for();
        let sent = counted.received.count(&whose, bytes.into());
        let frames = counted.act(RatedAct::Frame).traffic.count(&whose, frames.into());
        if !sent.max(frames).is_zero() {
            self.rest(Instant::now(), self.owes());
        }
    }

    /// For how long its principal or its address owes bytes or frames; zero where they owe none.
    fn owes(&self) -> Duration {
        let Some(counted) = self.shared.gate.counted() else { return Duration::ZERO };
        let whose = self.counted_for();
        let owed = [&*counted.received, &counted.act(RatedAct::Frame).traffic].map(|it| it.owes(&whose));
        owed.into_iter().flatten().map(|(owed, _)| owed).max().unwrap_or_default()
    }

    /// Counts one subscription more for the principal and the address, after those that are over were given back; the error says whose number is reached.
    pub(super) fn counts_subscription(&mut self) -> Result<(), String> {
        self.count_subscriptions();
        if let Some(counted) = self.shared.gate.counted().filter(|_| self.kind == SocketKind::Client) {
            counted.subscribe(&self.counted_for())?;
            self.subscribed += 1;
        }
        Ok(())
    }

    /// Gives subscriptions back that are over, however they ended.
    pub(super) fn count_subscriptions(&mut self) {
        let open = u16::try_from(self.subscriptions.len() + self.waiting.len()).unwrap_or(u16::MAX);
        let over = self.subscribed.saturating_sub(open);
        if over > 0
            && let Some(counted) = self.shared.gate.counted()
        {
            counted.unsubscribe(&self.counted_for(), over);
            self.subscribed -= over;
        }
    }

    /// The rule under which conversations begin for the client; `None` where none are counted.
    pub(super) fn beginner(&self) -> Option<SharedRule> {
        let counted = self.shared.gate.counted().filter(|_| self.kind == SocketKind::Client)?;
        Some(counted.beginner(self.counted_for()))
    }

    /// As [`Connection::beginner`], for frames with events of `conversation`; `None` also where something is there already, as for most of them.
    pub(super) fn beginner_of(&self, conversation: &ConversationId) -> Option<SharedRule> {
        let is_counted = self.shared.gate.counted().is_some();
        let is_there = || self.shared.hub.in_memory(conversation).is_some_and(|found| found.head() > 0);
        if is_counted && !is_there() { self.beginner() } else { None }
    }

    /// The principal and address for which what it does is counted.
    fn counted_for(&self) -> CountedFor {
        let principal = self.admission.as_ref().map(|admission| admission.principal.name());
        CountedFor::new(principal, self.address)
    }

    /// Whether nothing is read since the principal or the address owes.
    pub(super) fn is_resting(&self) -> bool {
        self.inlet.rests_until != 0
    }

    /// Until when nothing is read; `None` if the socket is read. Once that is over it is looked at again, since others with the same name or address
    /// may have sent more meanwhile.
    pub(super) fn rests_until(&mut self, now: Instant) -> Option<Instant> {
        let until = |at: u32| self.opened + Duration::from_millis(at.into());
        if self.is_resting() && until(self.inlet.rests_until) <= now {
            self.rest(now, self.owes());
        }
        self.is_resting().then(|| self.opened + Duration::from_millis(self.inlet.rests_until.into()))
    }

    /// Reads nothing for so long. A socket that is open for 49 days, which is as much as is counted here, no longer rests.
    fn rest(&mut self, now: Instant, owed: Duration) {
        // One more, so that the time is not over a moment before nothing is owed.
        let until = (now + owed).duration_since(self.opened).as_millis() + 1;
        self.inlet.rests_until = if owed.is_zero() { 0 } else { u32::try_from(until).unwrap_or_default() };
    }

    /// Closes the socket because of `denial`, and notes it in the audit log and against the address.
    fn turned_away(&mut self, denial: Denial) -> Greeted {
        let code =
            if denial.is_about_credentials() { CloseCode::Unauthenticated } else { CloseCode::Forbidden };
        let who = self.admission.as_ref().map_or("", |admission| admission.principal.name());
        let refused = Audited::new(AuditedAction::Refused, who)
            .with("hello on a socket")
            .failed(denial.code().as_str());
        self.shared.gate.audit(refused);
        if let (Some(counted), Some(address)) = (self.shared.gate.counted(), self.address)
            && denial.is_about_credentials()
            && denial != Denial::Missing
        {
            counted.failed(address);
        }
        self.close(code, &denial.to_string());
        Greeted::No
    }

    /// Whether the client may send this frame. If not, it is told so.
    pub(super) fn may_have_taken(&self, frame: &ClientFrame) -> bool {
        let Some(admission) = &self.admission else { return false };
        let (code, message) = match (frames::allowed(&admission.principal, frame), frame) {
            (Err(denial), _) => (ErrorCode::Forbidden, denial.to_string()),
            (Ok(()), ClientFrame::Pub(publication)) => {
                match frames::published(&admission.principal, publication) {
                    Ok(()) => return true,
                    Err(denial) => (denial.code(), denial.to_string()),
                }
            }
            (Ok(()), _) => return true,
        };
        self.shared.gate.audit(refused(admission.principal.name(), frame));
        let (sub, id) = match frame {
            ClientFrame::Command { command, .. } => {
                self.queue(&ServerFrame::Refused { id: command.id.clone(), code, message });
                return false;
            }
            ClientFrame::Sub { sub, .. } | ClientFrame::Watch { sub, .. } => (Some(*sub), None),
            ClientFrame::Pub(publication) => (None, Some(publication.id)),
            _ => (None, None),
        };
        self.queue(&ServerFrame::Error { sub, id, code, message, expected: None });
        false
    }

    /// The rows of the list that the client may see; `None` for all.
    pub(super) fn seen_rows(&self) -> Option<SeenRows> {
        let principal = Arc::clone(&self.admission.as_ref()?.principal);
        crate::http::access::seen_rows(principal)
    }

    /// What is hidden from the client, where something is.
    pub(super) fn mask(&self) -> Option<Arc<Mask>> {
        self.admission.as_ref()?.principal.mask().cloned()
    }

    /// The name by which other viewers know the client; none without access control, nor for another hub, which counts
    /// its own viewers.
    pub(super) fn known_as(&self) -> Option<CompactString> {
        let is_known = self.shared.gate.is_on() && self.kind == SocketKind::Client;
        self.admission.as_ref().filter(|_| is_known).map(|admission| admission.principal.name().into())
    }

    /// Closes the socket if its client is no longer admitted: revoked, logged out or expired. Otherwise
    /// returns when the admission expires, if it does.
    pub(super) fn admitted_until(&mut self, now: Instant) -> Option<Instant> {
        let admission = self.admission.as_ref()?;
        let left = admission.expires.map(|at| at.saturating_sub(clock::now_ms()));
        let changes = self.shared.gate.changes();
        if (changes != self.changes || left == Some(0))
            && let Err(denial) = self.shared.gate.still_holds(admission)
        {
            self.turned_away(denial);
            return None;
        }
        self.changes = changes;
        left.map(|left| now + Duration::from_millis(left.max(1)))
    }
}
