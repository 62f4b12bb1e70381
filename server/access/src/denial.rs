//! Why somebody is not let in, or may not do something. The words never tell whether a conversation exists.

/// Why a caller was not let in, or may not have what was asked for; its text is what the caller is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// Nothing says who calls.
    #[error(
        "this hub wants to know who calls: send a token as `Authorization: Bearer TOKEN`, or log in at /login; \
         `fanlight token create` makes one"
    )]
    Missing,
    /// More than one credential, or one that no hub gave.
    #[error("what says who calls is no token of this hub, or came twice")]
    Malformed,
    /// No token, session or link of that secret is known; it may have been revoked.
    #[error("the token is not known here, or was revoked: ask whoever runs this hub for another one")]
    Unknown,
    /// Its time is over.
    #[error("the token has expired: ask whoever runs this hub for another one")]
    Expired,
    /// Its role is none of this hub's, so nobody knows what to hide.
    #[error(
        "the token or link has a role that this hub does not have, and nobody is let in with it: whoever runs this hub writes \
         [access.roles.NAME] into fanlight.toml, or gives another token"
    )]
    UnknownRole,
    /// It is known who calls, and they may not.
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
    /// Whether another credential may help, so that the answer is 401 and 4401; else 403 and 4403.
    pub fn is_about_credentials(self) -> bool {
        !matches!(self, Self::Forbidden | Self::Hidden)
    }
}
