//! Why a caller is not admitted or may not do something. The texts never reveal whether a conversation
//! exists.

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
    #[error("the credential is not a token of this hub, or there is more than one")]
    Malformed,
    /// No token, session or link has this secret; it may have been revoked.
    #[error("the token is unknown or was revoked: ask the operator of this hub for another one")]
    Unknown,
    /// The credential has expired.
    #[error("the token has expired: ask the operator of this hub for another one")]
    Expired,
    /// Its role is none of this hub's, so nobody knows what to hide.
    #[error(
        "the token or link has a role that this hub does not have, and nobody is let in with it: whoever runs this hub writes \
         [access.roles.NAME] into fanlight.toml, or gives another token"
    )]
    UnknownRole,
    /// The caller is known and has no grant for this.
    #[error("this principal has no grant for that")]
    Forbidden,
    /// They may, but for what their role hides, and the answer cannot be given without that.
    #[error(
        "the role of this principal hides parts of conversations, and what was asked for is not given without them: \
         ask with a token that has no role"
    )]
    Hidden,
}

impl Denial {
    /// Whether another credential may help. The answer is then 401 (close code 4401), otherwise 403 (4403).
    pub fn is_about_credentials(self) -> bool {
        !matches!(self, Self::Forbidden | Self::Hidden)
    }
}
