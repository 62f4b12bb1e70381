//! Links to one conversation: whoever has the secret sees that conversation and nothing else. A link ends
//! after a time, after a number of views, or when it is revoked.

use compact_str::CompactString;
use model::ConversationId;
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

/// A link. Its secret is not stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// The hash of the secret.
    pub hash: Hash,
    /// The conversation that it shows.
    pub conversation: ConversationId,
    /// The role, which names what is hidden from viewers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<CompactString>,
    /// The name of the principal that made it.
    pub by: CompactString,
    /// When it was made, in milliseconds since 1970.
    pub created: u64,
    /// When it ends, in milliseconds since 1970.
    pub expires: u64,
    /// How many views are left; `None` for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub views_left: Option<u32>,
}

/// All links of a hub.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shares {
    all: Vec<Share>,
}

/// Why a link was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ShareError {
    /// There are [`SHARES_MAX`] links.
    #[error("there are {SHARES_MAX} links already; take back those that nobody needs")]
    Full,
    /// It would have ended already, or last too long.
    #[error("expires_s is from 1 second to 30 days")]
    Life,
    /// It would allow no view.
    #[error("views is 1 or more")]
    Views,
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

    /// Checks at `now` what is asked of a new link. Fails for a lifetime of nothing or over thirty days, and for no view.
    pub fn check(share: &Share, now: u64) -> Result<(), ShareError> {
        if share.expires <= now || share.expires > now.saturating_add(LIFE_MS_MAX) {
            return Err(ShareError::Life);
        }
        if share.views_left == Some(0) { Err(ShareError::Views) } else { Ok(()) }
    }

    /// Revokes the link with this id, if `may` returns true for it.
    pub fn revoke(&mut self, id: &str, may: impl Fn(&Share) -> bool) -> Option<Share> {
        let place = self.all.iter().position(|share| share.id() == id && may(share))?;
        Some(self.all.remove(place))
    }

    /// All links, the oldest first.
    pub fn all(&self) -> &[Share] {
        &self.all
    }
}

impl Share {
    /// The id by which it is revoked; it reveals nothing about the secret.
    pub fn id(&self) -> String {
        self.hash.short()
    }

    /// The principal of its viewers: it may view the one conversation, without what its role hides, and nothing else.
    /// Fails if the link has expired at `now`, or if its role is not among `roles`.
    pub fn principal(&self, now: u64, roles: &Roles) -> Result<Principal, Denial> {
        if now >= self.expires {
            return Err(Denial::Expired);
        }
        let grant = Grant::new([Right::View], Pattern::exactly(self.conversation.as_str()));
        Ok(Principal::new(&format!("link {}", self.id()), vec![grant], roles.of(self.role.as_deref())?))
    }
}

#[cfg(test)]
mod tests {
    //! Tests of what a link shows, how often and for how long.

    use super::*;
    use crate::secret::{Secret, SecretKind};

    fn share(number: u8, views_left: Option<u32>) -> Share {
        Share {
            hash: Secret::mint(SecretKind::Share, &[number; 32]).hash(),
            conversation: "a*b".parse().unwrap(),
            role: None,
            by: "ann".into(),
            created: 0,
            expires: 100,
            views_left,
        }
    }

    #[test]
    fn a_link_shows_its_conversation_and_nothing_else() {
        let principal = share(1, None).principal(0, &Roles::default()).unwrap();
        assert!(principal.may(Right::View, "a*b"));
        assert!(!principal.may(Right::View, "aXb"), "a star in a name is no pattern");
        assert!(Right::ALL.into_iter().filter(|it| *it != Right::View).all(|it| !principal.may(it, "a*b")));
        assert!(!principal.may_everywhere(Right::View));
    }

    #[test]
    fn a_link_ends_by_its_views_by_its_time_and_when_it_is_taken_back() {
        let mut shares = Shares::default();
        shares.add(share(1, Some(2)), 0).unwrap();
        let hash = share(1, None).hash;
        assert!(
            shares.follow(&hash, 0, &Roles::default()).is_ok()
                && shares.follow(&hash, 99, &Roles::default()).is_ok()
        );
        assert_eq!(shares.follow(&hash, 0, &Roles::default()), Err(Denial::Expired), "its views are used up");
        shares.add(share(2, None), 0).unwrap();
        let hash = share(2, None).hash;
        assert_eq!(shares.follow(&hash, 100, &Roles::default()), Err(Denial::Expired), "its time is over");
        assert!(shares.revoke(&hash.short(), |_| false).is_none(), "whoever may not does not");
        assert!(shares.revoke(&hash.short(), |_| true).is_some());
        assert_eq!(shares.follow(&hash, 0, &Roles::default()), Err(Denial::Unknown));
    }

    #[test]
    fn a_link_with_a_role_that_nobody_knows_shows_nothing_and_loses_no_view() {
        let hidden = Share { role: Some("guest".into()), ..share(1, Some(1)) };
        let mut shares = Shares::of(vec![hidden.clone()], 0);
        assert_eq!(shares.follow(&hidden.hash, 0, &Roles::default()), Err(Denial::UnknownRole));
        let mut roles = Roles::default();
        roles.add(model::Mask::new("guest", ["results"], []).unwrap()).unwrap();
        let followed = shares.follow(&hidden.hash, 0, &roles).unwrap();
        assert_eq!(followed.principal(0, &roles).unwrap().role(), Some("guest"));
    }

    #[test]
    fn a_link_that_would_never_end_or_never_show_is_not_made() {
        let mut shares = Shares::default();
        assert_eq!(shares.add(share(1, Some(0)), 0), Err(ShareError::Views));
        assert_eq!(shares.add(share(1, None), 100), Err(ShareError::Life));
        assert_eq!(
            shares.add(Share { expires: LIFE_MS_MAX + 1, ..share(1, None) }, 0),
            Err(ShareError::Life)
        );
        for _ in 0..SHARES_MAX {
            shares.add(share(1, None), 0).unwrap();
        }
        assert_eq!(shares.add(share(1, None), 0), Err(ShareError::Full));
        assert_eq!(
            shares.add(Share { expires: 300, ..share(1, None) }, 200),
            Ok(()),
            "what is over makes room"
        );
    }
}
