//! The session cookie of a browser that logged in.
//!
//! Over TLS its name begins with `__Host-`, so that no other host and no plain connection can set it. Without
//! TLS, on the local machine, the name cannot have that prefix.

use crate::denial::Denial;
use crate::secret::{Secret, SecretKind};

/// Whether a request arrived over TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// Over TLS, at the hub or at a named proxy.
    Secure,
    /// Over plain HTTP, without TLS.
    Plain,
}

impl Channel {
    /// The name of the session cookie.
    pub fn cookie(self) -> &'static str {
        match self {
            Self::Secure => "__Host-fanlight",
            Self::Plain => "fanlight",
        }
    }

    /// The name of the cookie of a login at a provider that has begun.
    fn login_cookie(self) -> &'static str {
        match self {
            Self::Secure => "__Host-fanlight-login",
            Self::Plain => "fanlight-login",
        }
    }

    /// The attributes of the cookie.
    fn attributes(self) -> &'static str {
        match self {
            Self::Secure => "Path=/; HttpOnly; SameSite=Strict; Secure",
            Self::Plain => "Path=/; HttpOnly; SameSite=Strict",
        }
    }
}

/// The session secret in the `Cookie` headers of a request; `None` without one. Fails with `Malformed` for a
/// value that is no secret, and for two cookies of the name: one may have been set by somebody else.
pub fn session<'a>(
    headers: impl Iterator<Item = &'a str>,
    channel: Channel,
) -> Result<Option<Secret>, Denial> {
    named(headers, channel.cookie(), SecretKind::Session)
}

/// The state of a login at a provider that this browser has begun, in the same way.
pub fn login<'a>(headers: impl Iterator<Item = &'a str>, channel: Channel) -> Result<Option<Secret>, Denial> {
    named(headers, channel.login_cookie(), SecretKind::Login)
}

/// The secret in the one cookie of that name.
fn named<'a>(
    headers: impl Iterator<Item = &'a str>,
    cookie: &str,
    kind: SecretKind,
) -> Result<Option<Secret>, Denial> {
    let pairs = headers.flat_map(|header| header.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter(|(name, _)| *name == cookie).map(|(_, value)| value);
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => Secret::parse(kind, value).map(Some).ok_or(Denial::Malformed),
        (Some(_), Some(_)) => Err(Denial::Malformed),
    }
}

/// The `Set-Cookie` value that remembers the state of a login for `lives_s` seconds; 0 removes it. The browser comes back from the
/// provider, so it must send the cookie with a link from elsewhere.
pub fn set_login(state: &Secret, channel: Channel, lives_s: u64) -> String {
    let attributes = channel.attributes().replace("SameSite=Strict", "SameSite=Lax");
    format!("{}={}; Max-Age={lives_s}; {attributes}", channel.login_cookie(), state.reveal())
}

/// The `Set-Cookie` value that logs a browser in for `lives_s` seconds.
pub fn set(secret: &Secret, channel: Channel, lives_s: u64) -> String {
    format!("{}={}; Max-Age={lives_s}; {}", channel.cookie(), secret.reveal(), channel.attributes())
}

/// The `Set-Cookie` value that removes the cookie.
pub fn clear(channel: Channel) -> String {
    format!("{}=; Max-Age=0; {}", channel.cookie(), channel.attributes())
}

#[cfg(test)]
mod tests {
    //! Tests of which cookies count.

    use super::*;

    #[test]
    fn the_cookie_that_was_set_is_found_among_others() {
        let secret = Secret::mint(SecretKind::Session, &[1; 32]);
        for channel in [Channel::Secure, Channel::Plain] {
            let set = set(&secret, channel, 60);
            assert!(set.contains("HttpOnly; SameSite=Strict") && set.contains("Max-Age=60"), "{set}");
            assert_eq!(set.contains("Secure"), channel == Channel::Secure, "{set}");
            let pair = set.split(';').next().unwrap();
            let headers = ["theme=dark; other=1", pair];
            assert_eq!(session(headers.into_iter(), channel), Ok(Some(secret.clone())));
            assert!(clear(channel).starts_with(&format!("{}=;", channel.cookie())));
        }
    }

    #[test]
    fn a_cookie_of_the_other_channel_one_that_comes_twice_and_nonsense_do_not_count() {
        let secret = Secret::mint(SecretKind::Session, &[1; 32]);
        let plain = format!("fanlight={}", secret.reveal());
        assert_eq!(session([plain.as_str()].into_iter(), Channel::Secure), Ok(None));
        let twice = format!("{plain}; {plain}");
        assert_eq!(session([twice.as_str()].into_iter(), Channel::Plain), Err(Denial::Malformed));
        assert_eq!(session(["fanlight=x"].into_iter(), Channel::Plain), Err(Denial::Malformed));
        assert_eq!(session(std::iter::empty(), Channel::Plain), Ok(None));
    }
}
