//! What a door needs of whoever comes to it.

use crate::denial::Denial;
use crate::principal::Principal;
use crate::right::Right;

/// What a route, frame or command wants of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing: it tells nobody anything, or it is where one logs in.
    Nothing,
    /// To be known, and nothing more.
    Known,
    /// These rights on the conversation that the path names.
    OnNamed(&'static [Right]),
    /// This right on some conversation; the door shows and takes what the principal has it on, and nothing else.
    OnSome(Right),
    /// These rights on every conversation: what the door tells or takes cannot be told apart by conversation.
    OnAll(&'static [Right]),
    /// Nothing yet: the socket asks who it is in its first frame.
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

impl Need {
    /// Whether nobody has to be known for it.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Nothing | Self::Greeting)
    }

    /// Whether `principal` has what it takes, where the path names `conversation`.
    pub fn met_by(self, principal: &Principal, conversation: Option<&str>) -> Result<(), Denial> {
        let is_met = match self {
            Self::Nothing | Self::Known | Self::Greeting => true,
            Self::OnNamed(rights) => conversation
                .is_some_and(|conversation| rights.iter().all(|right| principal.may(*right, conversation))),
            Self::OnSome(right) => principal.may_somewhere(right),
            Self::OnAll(rights) => rights.iter().all(|right| principal.may_everywhere(*right)),
        };
        if is_met { Ok(()) } else { Err(Denial::Forbidden) }
    }
}
