//! What a route requires of its caller.

use crate::denial::Denial;
use crate::principal::Principal;
use crate::right::Right;

/// What a route, a frame or a command requires of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing: the route reveals nothing, or it is used to log in.
    Nothing,
    /// The caller must be known, and needs no right.
    Known,
    /// The caller needs these rights on the conversation in the path. For `publish` a grant suffices that is about some publisher ids or
    /// kinds: the handler must check what comes, by [`Principal::publishes`].
    OnNamed(&'static [Right]),
    /// The caller needs this right on at least one conversation. The route must show and accept only conversations on which
    /// the principal has it.
    OnSome(Right),
    /// The caller needs these rights on every conversation, because the route cannot separate what it shows or accepts by
    /// conversation.
    OnAll(&'static [Right]),
    /// Nothing yet: on a socket the first frame has the credential.
    Greeting,
}

/// What a door tells of conversations, as far as roles are about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    /// Nothing that a role can hide.
    Nothing,
    /// What conversations hold, but for what the role of the caller hides: its handler applies the mask.
    Masked,
    /// What conversations hold, all of it: whoever has a role is refused.
    Everything,
}

impl Shows {
    /// Whether `principal` may be served at all: a door that cannot leave out what is hidden serves nobody from whom something is.
    pub fn serves(self, principal: &Principal) -> Result<(), Denial> {
        if self == Self::Everything && principal.mask().is_some() { Err(Denial::Hidden) } else { Ok(()) }
    }
}

/// Whether `principal` has some use of `right` on the conversation.
fn may(principal: &Principal, right: Right, conversation: &str) -> bool {
    match right {
        Right::Publish => principal.may_publish_some(conversation),
        right => principal.may(right, conversation),
    }
}

impl Need {
    /// Whether unknown callers are admitted.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Nothing | Self::Greeting)
    }

    /// Checks that `principal` fulfils the need. `conversation` is the one in the path, if it names one.
    pub fn met_by(self, principal: &Principal, conversation: Option<&str>) -> Result<(), Denial> {
        let is_met = match self {
            Self::Nothing | Self::Known | Self::Greeting => true,
            Self::OnNamed(rights) => conversation
                .is_some_and(|conversation| rights.iter().all(|right| may(principal, *right, conversation))),
            Self::OnSome(right) => principal.may_somewhere(right),
            Self::OnAll(rights) => rights.iter().all(|right| principal.may_everywhere(*right)),
        };
        if is_met { Ok(()) } else { Err(Denial::Forbidden) }
    }
}
