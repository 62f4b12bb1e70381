//! Links to one conversation: whoever has the secret sees that conversation and nothing else. A link ends
//! after a time, after a number of views, or when it is revoked.
//!
//! A live link to a conversation opens it itself. A frozen one, and one to a turn, opens a copy that was made with the link, and [`FrozenShare`] says of
//! what.

use std::sync::Arc;

use compact_str::CompactString;
use model::{ConversationId, MessageId, Seq};
use serde::{Deserialize, Serialize};

use crate::denial::Denial;
use crate::grant::Grant;
use crate::pattern::Pattern;
use crate::principal::Principal;
use crate::right::Right;
use crate::roles::Roles;
use crate::secret::Hash;

/// The most links of a hub.
pub const SHARES_MAX: usize = 1_000;

/// The longest lifetime of a link, in milliseconds: thirty days.
pub(crate) const LIFE_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1000;

/// The longest note of whom a link is for, in bytes.
pub const AUDIENCE_BYTES_MAX: usize = 200;

/// What a link shows that opens a copy: a conversation as it was when the link was made, or one turn of it, as it was then or as it goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrozenShare {
    /// The conversation that was copied.
    pub of: ConversationId,
    /// The seq of the newest event that was there.
    pub seq: Seq,
    /// The message that begins the one turn that was copied; `None` for the whole conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<MessageId>,
    /// When its first event was taken, in milliseconds since 1970. It tells it from another conversation that took its name later; `None` in links of
    /// older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begins: Option<u64>,
    /// Whether the copy goes on with the turn until its runs end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub live: bool,
}

/// A link. Its secret is not stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// The hash of the secret.
    pub hash: Hash,
    /// The conversation that it opens, or its copy.
    pub conversation: ConversationId,
    /// Whom it is for, in the words of whoever made it.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub audience: Option<CompactString>,
    /// What it shows if it opens a copy; `None` for the conversation as it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<FrozenShare>,
    /// The role, which names what is hidden from viewers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<CompactString>,
    /// The name of the principal that made it.
    pub by: CompactString,
    /// When it was made, in milliseconds since 1970.
    pub created: u64,
    /// When the link ends, in milliseconds since 1970.
    pub expires: u64,
    /// How many views are left; `None` for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub views_left: Option<u32>,
}

/// What the viewers of a link are told about it. It stays the same for as long as the link holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareFacts {
    /// The name of the principal that made it.
    pub by: CompactString,
    /// Whom it is for, in the words of whoever made it.
    pub audience: Option<CompactString>,
    /// When it was made, in milliseconds since 1970.
    pub created: u64,
    /// When the link ends, in milliseconds since 1970.
    pub expires: u64,
    /// What it shows if it opens a copy.
    pub frozen: Option<FrozenShare>,
}

/// All share links of a hub.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shares {
    all: Vec<Share>,
}

/// Why a link was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ShareError {
    /// There are [`SHARES_MAX`] links.
    #[error("there are {SHARES_MAX} links already; revoke those that nobody needs")]
    Full,
    /// The link would have ended already, or last too long.
    #[error("`expires_s` must be between 1 second and 30 days")]
    Life,
    /// The link would allow no view.
    #[error("`views` must be at least 1")]
    Views,
    /// The note of whom it is for is empty, too long, or no line of text.
    #[error("`for` must be one line of 1 to {AUDIENCE_BYTES_MAX} bytes")]
    Audience,
}

impl Shares {
    /// The links of a file. Links that have expired at `now` are left out.
    pub fn of(links: Vec<Share>, now: u64) -> Self {
        let holds = |share: &Share| share.expires > now;
        let mut all: Vec<_> = links.into_iter().filter(holds).collect();
        all.truncate(SHARES_MAX);
        Self { all }
    }

    /// Adds a link at `now`. Expired links are removed. Fails for a lifetime of nothing or over thirty days,
    /// for no view, and with `Full`.
    pub fn add(&mut self, share: Share, now: u64) -> Result<(), ShareError> {
        Self::check(&share, now)?;
        self.all.retain(|share| share.expires > now);
        if self.all.len() >= SHARES_MAX {
            return Err(ShareError::Full);
        }
        self.all.push(share);
        Ok(())
    }

    /// Counts a view of the link with this hash at `now`, and returns the link. Fails with `Unknown`,
    /// `Expired` or `UnknownRole`; no view is counted then.
    pub fn follow(&mut self, hash: &Hash, now: u64, roles: &Roles) -> Result<Share, Denial> {
        let share = self.all.iter_mut().find(|share| share.hash == *hash).ok_or(Denial::Unknown)?;
        share.principal(now, roles)?;
        match &mut share.views_left {
            Some(0) => return Err(Denial::Expired),
            Some(left) => *left -= 1,
            None => {}
        }
        Ok(share.clone())
    }

    /// The link with this hash.
    pub fn find(&self, hash: &Hash) -> Option<&Share> {
        self.all.iter().find(|share| share.hash == *hash)
    }

    /// Takes over a link that was made elsewhere, in the place of what is known of it.
    pub fn put(&mut self, share: Share) {
        self.all.retain(|known| known.hash != share.hash);
        self.all.push(share);
    }

    /// Checks at `now` what is asked of a new link. Fails for a lifetime of nothing or over thirty days, for no view, and for a note that
    /// is no line of text.
    pub fn check(share: &Share, now: u64) -> Result<(), ShareError> {
        if share.expires <= now || share.expires > now.saturating_add(LIFE_MS_MAX) {
            return Err(ShareError::Life);
        }
        let is_line = |text: &CompactString| {
            !text.trim().is_empty() && text.len() <= AUDIENCE_BYTES_MAX && !text.chars().any(char::is_control)
        };
        if !share.audience.as_ref().is_none_or(is_line) {
            return Err(ShareError::Audience);
        }
        if share.views_left == Some(0) { Err(ShareError::Views) } else { Ok(()) }
    }

    /// Whether there are as many links at `now` as there may be.
    pub fn is_full(&self, now: u64) -> bool {
        self.all.iter().filter(|share| share.expires > now).count() >= SHARES_MAX
    }

    /// Revokes the link with this id, if `may` returns true for it.
    pub fn revoke(&mut self, id: &str, may: impl Fn(&Share) -> bool) -> Option<Share> {
        let place = self.all.iter().position(|share| share.id() == id && may(share))?;
        Some(self.all.remove(place))
    }

    /// All share links, the oldest first.
    pub fn all(&self) -> &[Share] {
        &self.all
    }
}

impl Share {
    /// The id by which it is revoked; it reveals nothing about the secret.
    pub fn id(&self) -> String {
        self.hash.short()
    }

    /// The name of the principal that follows it.
    pub fn name(&self) -> String {
        format!("link {}", self.id())
    }

    /// The conversation that is shared; of a link that opens a copy the one that was copied.
    pub fn subject(&self) -> &ConversationId {
        self.frozen.as_ref().map_or(&self.conversation, |frozen| &frozen.of)
    }

    /// What its viewers are told about it.
    fn facts(&self) -> ShareFacts {
        ShareFacts {
            by: self.by.clone(),
            audience: self.audience.clone(),
            created: self.created,
            expires: self.expires,
            frozen: self.frozen.clone(),
        }
    }

    /// The principal of its viewers: it may view the one conversation, without what its role hides, and nothing else.
    /// Fails if the link has expired at `now`, or if its role is not among `roles`.
    pub fn principal(&self, now: u64, roles: &Roles) -> Result<Principal, Denial> {
        if now >= self.expires {
            return Err(Denial::Expired);
        }
        let grant = Grant::new([Right::View], Pattern::exactly(self.conversation.as_str()));
        let principal = Principal::new(&self.name(), vec![grant], roles.of(self.role.as_deref())?);
        Ok(principal.by_link(Arc::new(self.facts())))
    }
}

#[cfg(test)]
mod tests;
