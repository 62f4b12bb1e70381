//! The first token of a hub for one person: with `--access first-run` the hub makes it itself where nobody could come in, and prints it once.
//!
//! ```text
//! tokens.json has a token, or somebody else says who callers are ─▶ nothing
//! otherwise ─▶ the token `first-run` with every right, stored as a hash ─▶ its address and a line for programs on stdout
//! ```
//!
//! The token stands in the fragment of the address, which browsers send to nobody: it is in no log of a server or proxy.

use std::net::SocketAddr;

use ::access::{Grant, NewToken, Pattern, Right, Secret};
use edge::Config;
use edge::access::TokenStore;
use event_log::clock;

use crate::args::{Mode, ServeSettings};
use crate::command::{CommandError, ResultOutput};

/// The name of that token and of its principal.
const NAME: &str = "first-run";

/// The token that was made, and where its hash is stored.
pub(super) struct FirstToken {
    secret: Secret,
    store: TokenStore,
}

/// Makes the token, if the settings ask for it and nobody could come in without it: the data directory has no token, and no issuer, provider
/// or proxy says who callers are.
pub(super) fn token(settings: &ServeSettings, config: &Config) -> Result<Option<FirstToken>, CommandError> {
    let is_asked = settings.access.as_ref().is_some_and(|access| access.mode == Mode::FirstRun);
    let Some(access) = config.access.as_ref().filter(|_| is_asked) else { return Ok(None) };
    if !access.jwt.is_empty() || access.oidc.is_some() || access.trusted.is_some() {
        return Ok(None);
    }
    let new = NewToken {
        name: NAME,
        grants: vec![Grant::new([Right::Admin], Pattern::any())],
        role: None,
        upstreams: Vec::new(),
        budget: None,
        lives_ms: None,
    };
    let store = TokenStore::in_folder(&access.folder);
    let made = store.create_first(new, clock::now_ms());
    let made = made.map_err(|error| {
        CommandError::new(
            format!("the first token cannot be stored: {error}"),
            "look at the rights of that file and of its directory; --data-dir names another one",
        )
    })?;
    Ok(made.map(|secret| FirstToken { secret, store }))
}

impl FirstToken {
    /// Takes it back, since the hub does not start and nobody has seen it: the next start makes another one.
    pub(super) fn take_back(&self) {
        if let Err(error) = self.store.change(|tokens| tokens.revoke(NAME)) {
            tracing::error!(%error, "the first token was made and not shown: `fanlight token revoke {NAME}`, and start the hub again");
        }
    }
}

/// Where a browser finds the hub, without a slash at the end: under the first name of the settings, or else the address at which it listens. A hub
/// without TLS that has a name is behind a proxy, which speaks TLS at the usual port.
pub(super) fn url(settings: &ServeSettings, scheme: &str, address: SocketAddr) -> String {
    match (settings.hosts.first(), scheme) {
        (Some(name), "http") => format!("https://{name}"),
        (Some(name), _) if address.port() == 443 => format!("{scheme}://{name}"),
        (Some(name), _) => format!("{scheme}://{name}:{}", address.port()),
        (None, _) if address.ip().is_unspecified() => format!("{scheme}://localhost:{}", address.port()),
        (None, _) => format!("{scheme}://{address}"),
    }
}

/// Prints the token, which is shown this once. Where nobody reads it, the trace says how to have another one.
pub(super) fn tell(token: &FirstToken, url: &str, output: &mut ResultOutput) -> Result<(), CommandError> {
    let token = token.secret.reveal();
    let text = format!(
        "this hub had no token, so it has made one for everything, which is shown only once:\n\
         \x20   in a browser:  {url}/login#token={token}\n\
         \x20   for programs:  curl -H \"Authorization: Bearer {token}\" {url}/v1/access\n\
         \x20   for fanlight:  export FANLIGHT_TOKEN={token}\n\
         `fanlight token` lists it as {NAME}, revokes it, and makes narrower ones for others"
    );
    match output.line(&text) {
        Err(CommandError::NobodyReads) => {
            tracing::warn!(
                "the first token was made, and nobody reads where it is printed: `fanlight token revoke {NAME}`, and start the hub again"
            );
            Ok(())
        }
        told => told,
    }
}

#[cfg(test)]
mod tests {
    //! Tests of where a browser is sent.

    use super::*;

    #[test]
    fn a_browser_is_sent_to_the_name_of_the_hub_or_to_where_it_listens() {
        let none = ServeSettings::default();
        let named = ServeSettings { hosts: vec!["hub.example".to_owned()], ..ServeSettings::default() };
        for (settings, scheme, address, expected) in [
            (&none, "http", "127.0.0.1:4600", "http://127.0.0.1:4600"),
            (&none, "http", "[::1]:4600", "http://[::1]:4600"),
            (&none, "https", "0.0.0.0:443", "https://localhost:443"),
            (&named, "https", "0.0.0.0:443", "https://hub.example"),
            (&named, "https", "0.0.0.0:4600", "https://hub.example:4600"),
            (&named, "http", "127.0.0.1:4600", "https://hub.example"),
        ] {
            assert_eq!(url(settings, scheme, address.parse().unwrap()), expected);
        }
    }
}
