//! The settings of access control and TLS for `fanlight serve`.

use ::access::{NewToken, Roles, Tokens};
use edge::TlsFiles;
use edge::access::{AccessConfig, random};
use event_log::clock;
use model::Mask;

use super::identities::{issuers, provider, trusted};
use crate::args::{AccessSettings, ServeSettings};
use crate::command::CommandError;

/// The grant of the demo.
const DEMO_GRANT: &str = "publish:*";

/// The configuration of access control; `None` if it is off. Fails for an address of a proxy that stands for
/// any, for roles and rules that do not fit, and for a trusted proxy without access control.
pub(super) fn wanted(settings: &ServeSettings) -> Result<Option<AccessConfig>, CommandError> {
    let Some(access) = &settings.access else {
        let is_named = !settings.trusted_proxies.is_empty() || settings.trusted_user_header.is_some();
        return if is_named { Err(without_access()) } else { Ok(None) };
    };
    if let Some(any) = access.proxies.iter().find(|address| address.is_unspecified()) {
        return Err(CommandError::Usage {
            what: format!("{any} is not the address of a proxy"),
            mend: String::from(
                "name each proxy in front of the hub by its own address: proxies = [\"10.0.0.2\"]",
            ),
        });
    }
    let roles = roles(access)?;
    Ok(Some(AccessConfig {
        folder: settings.data_dir.clone(),
        own: Tokens::default(),
        proxies: access.proxies.clone(),
        jwt: issuers(access, &roles)?,
        trusted: trusted(settings, access, &roles)?,
        oidc: provider(access, &roles)?,
        quotas: access.limits.quotas(),
        audit_views: access.audit_views,
        roles,
    }))
}

/// The error for a hub that would be told who its callers are and let everybody do everything.
fn without_access() -> CommandError {
    CommandError::Usage {
        what: String::from(
            "a trusted proxy is named, and without access control it makes no difference who somebody is",
        ),
        mend: String::from("add --access tokens, and rules for its users: `fanlight docs access`"),
    }
}

/// Fails if the hub holds a key and has no access control, since then there is nobody to whom it could be lent.
pub(super) fn keys_are_for_tokens(settings: &ServeSettings) -> Result<(), CommandError> {
    match settings.upstreams.iter().find(|(_, upstream)| upstream.has_key()) {
        Some((name, _)) if settings.access.is_none() => Err(CommandError::Usage {
            what: format!(
                "the hub has a key for the upstream {name:?}, and without access control it is lent to nobody"
            ),
            mend: String::from(
                "add --access tokens, and make tokens with --upstream: `fanlight docs integrations/proxy`",
            ),
        }),
        _ => Ok(()),
    }
}

/// What roles hide. Fails for a word that hides nothing and for two roles of one name.
fn roles(settings: &AccessSettings) -> Result<Roles, CommandError> {
    let wrong = |name: &str, error: String| CommandError::Usage {
        what: format!("[access.roles.{name}] of the settings is no role: {error}"),
        mend: String::from("write for example hide = [\"thinking\", \"costs\"] or hide_tools = [\"read_*\"]"),
    };
    let mut roles = Roles::default();
    for (name, role) in &settings.roles {
        let words = role.hide.iter().map(String::as_str);
        let mask = Mask::new(name, words, role.hide_tools.iter().map(String::as_str));
        let mask = mask.map_err(|error| wrong(name, error.to_string()))?;
        roles.add(mask).map_err(|error| wrong(name, error.to_string()))?;
    }
    Ok(roles)
}

/// The files for TLS, if set.
pub(super) fn tls(settings: &ServeSettings) -> Result<Option<TlsFiles>, CommandError> {
    match (&settings.tls_cert, &settings.tls_key) {
        (None, None) => Ok(None),
        (Some(cert), Some(key)) => Ok(Some(TlsFiles { cert: cert.clone(), key: key.clone() })),
        _ => Err(CommandError::Usage {
            what: String::from("a certificate without its key, or a key without its certificate"),
            mend: String::from("give both: --tls-cert FILE --tls-key FILE"),
        }),
    }
}

/// The error for a hub that others could reach without protection, with the command that is right.
pub(super) fn reached(settings: &ServeSettings) -> CommandError {
    let listen = settings.listen;
    let (why, mend) = if settings.access.is_none() {
        (
            "there is no access control",
            format!(
                "fanlight serve --listen {listen} --access tokens --tls-cert cert.pem --tls-key key.pem --host NAME; with --access \
                 first-run the hub makes the first token itself; or listen on 127.0.0.1"
            ),
        )
    } else {
        (
            "everybody on the way could read along",
            format!(
                "add --tls-cert cert.pem --tls-key key.pem, or name the proxy in front of the hub in fanlight.toml, [access] \
                 proxies = [\"ADDRESS\"]; then whoever else comes to {listen} without TLS is turned away"
            ),
        )
    };
    CommandError::Usage { what: format!("{listen} can be reached from other machines, and {why}"), mend }
}

/// Makes a token for the demo, which exists only in this process.
pub(super) fn demo_token(access: &mut AccessConfig) -> Result<String, CommandError> {
    let secret = ::access::Secret::mint(::access::SecretKind::Token, &random());
    let wrong = |error: String| CommandError::new(error, "leave --demo out");
    let grant = DEMO_GRANT.parse().map_err(|error: ::access::GrantError| wrong(error.to_string()))?;
    let new = NewToken {
        name: "demo of this hub",
        grants: vec![grant],
        role: None,
        upstreams: Vec::new(),
        budget: None,
        lives_ms: None,
    };
    let made = access.own.create(new, secret.hash(), clock::now_ms());
    made.map_err(|error| wrong(error.to_string()))?;
    Ok(secret.reveal().to_owned())
}
