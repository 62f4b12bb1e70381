//! Why a caller is not admitted or may not do something. The texts never reveal whether a conversation
//! exists.

use model::code::ErrorCode;

/// Why a caller is not admitted or may not do what they asked for. The text is sent to the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// The request has no credential.
    #[error(
        "this hub requires authentication: send a token as `Authorization: Bearer TOKEN`, or log in at /login; \
         `fanlight token create` makes one"
    )]
    Missing,
    /// The request has several credentials, or one that is not in the form of this hub.
    #[error("that is not a token of this hub, or there are several: check that all of one was copied")]
    Malformed,
    /// No token, session or link has this secret; it may have been revoked.
    #[error("the token is unknown or was revoked: ask the operator of this hub for another one")]
    Unknown,
    /// The credential has expired.
    #[error("the token has expired: ask the operator of this hub for another one")]
    Expired,
    /// Somebody else signed it, or for somebody else, or in another way; which of these is not told.
    #[error(
        "the token was not signed for this hub by somebody whom it trusts: its issuer, audience, algorithm, signature or one of its \
         times is not as it must be"
    )]
    Untrusted,
    /// The key that signed the token is not among those of its issuer.
    #[error(
        "the key that signed the token is not among those of its issuer, or they could not be fetched yet: try again in a moment"
    )]
    UnknownKey,
    /// The token is not valid yet.
    #[error("the token is not valid yet, or the clocks of its issuer and of this hub differ")]
    NotYet,
    /// Who it is was proven, and no rule of the hub is about them.
    #[error("this hub knows who you are, and none of its rules lets you in: ask its operator for a grant")]
    Unmapped,
    /// The header with a name came from somewhere else than a trusted proxy, or more than once.
    #[error(
        "the request says in a header who sends it, and comes from no proxy whom this hub believes that, or says it twice"
    )]
    ForgedIdentity,
    /// The role of the token or link is not one of this hub's, so nobody knows what to hide.
    #[error(
        "the token or link has a role that this hub does not have, and nobody is let in with it: whoever runs this hub writes \
         [access.roles.NAME] into fanlight.toml, or gives another token"
    )]
    UnknownRole,
    /// The caller is known and has no grant for this.
    #[error("this principal has no grant for that")]
    Forbidden,
    /// What the hubs of a log know together cannot be asked for.
    #[error(
        "the database that the hubs share does not answer, so nobody can say whether that holds: try again in a moment"
    )]
    Unavailable,
    /// The principal has the right, but its role hides parts that the answer cannot be given without.
    #[error(
        "the role of this principal hides parts of conversations, and what was asked for is not given without them: \
         ask with a token that has no role"
    )]
    Hidden,
}

impl Denial {
    /// Whether another credential may help. The answer is then 401 (close code 4401), otherwise 403 (4403), or 503 where nothing is known.
    pub fn is_about_credentials(self) -> bool {
        !matches!(self, Self::Forbidden | Self::Hidden | Self::Unavailable)
    }

    /// The code that goes with it on the wire.
    pub fn code(self) -> ErrorCode {
        match self {
            Self::Unavailable => ErrorCode::LogUnavailable,
            denial if denial.is_about_credentials() => ErrorCode::Unauthenticated,
            _ => ErrorCode::Forbidden,
        }
    }
}
