//! The settings of who else vouches for callers, checked: issuers of JWT, the provider of identities, trusted
//! proxies. No key is read or fetched here.

use ::access::jwt::{JWT_SKEW_S, JwtIssuer, JwtKeyKind, JwtSettings};
use ::access::oidc::{OidcClient, is_safe_url};
use ::access::{IdentityMapping, IdentityRule, Roles};
use compact_str::CompactString;
use edge::access::{GROUPS_CLAIM, JwtSource, KeySource, OidcConfig, TrustedHeaders, USER_CLAIM, USER_HEADER};
use upstream::{Api, Upstream};

use crate::args::{AccessSettings, JwtTable, OidcTable, RuleTable, ServeSettings};
use crate::command::CommandError;

/// What is wrong with a table of the settings.
fn wrong(table: &str, what: impl std::fmt::Display) -> CommandError {
    CommandError::Usage {
        what: format!("in the settings, {table}: {what}"),
        mend: String::from("`fanlight docs access` has examples that work"),
    }
}

/// The issuers of JWT.
pub(super) fn issuers(access: &AccessSettings, roles: &Roles) -> Result<Vec<JwtSource>, CommandError> {
    let of = |(number, table): (usize, &JwtTable)| {
        source(table, roles).map_err(|what| wrong(&format!("[[access.jwt]] number {number}"), what))
    };
    (1..).zip(&access.jwt).map(of).collect()
}

/// One issuer: where its keys are, and what its tokens must say. Exactly one place of keys must be given, and
/// one that is fetched must be safe from changes on the way.
fn source(table: &JwtTable, roles: &Roles) -> Result<JwtSource, String> {
    let keys = match (&table.secret_file, &table.jwks_file, &table.jwks_url) {
        (Some(secret), None, None) => KeySource::Secret(secret.clone()),
        (None, Some(file), None) => KeySource::File(file.clone()),
        (None, None, Some(url)) if is_safe_url(url) => {
            let upstream = Upstream::new("jwks", url, Api::default()).map_err(|error| error.to_string())?;
            let upstream = upstream.with_ca(table.ca.as_deref()).map_err(|error| error.to_string())?;
            KeySource::Remote(Box::new(upstream))
        }
        (None, None, Some(url)) => {
            return Err(format!(
                "jwks_url = {url:?} is neither https nor on this machine, so keys could be changed on the way"
            ));
        }
        _ => return Err(String::from("give one of secret_file, jwks_file and jwks_url: where the keys are")),
    };
    let kind = if matches!(keys, KeySource::Secret(_)) { JwtKeyKind::Secret } else { JwtKeyKind::Public };
    let settings = JwtSettings {
        issuer: table.issuer.as_str().into(),
        audiences: table.audience.all().iter().map(CompactString::from).collect(),
        algorithms: table.algorithms.clone(),
        skew_s: table.skew_s.unwrap_or(JWT_SKEW_S),
        keys: kind,
    };
    let mapping = mapping(table.name.as_deref().unwrap_or("sub"), &table.rules, roles)?;
    let issuer = JwtIssuer::new(settings, mapping).map_err(|error| error.to_string())?;
    Ok(JwtSource { issuer, keys })
}

/// The provider of identities, if there is one.
pub(super) fn provider(access: &AccessSettings, roles: &Roles) -> Result<Option<OidcConfig>, CommandError> {
    let made = access.oidc.as_ref().map(|table| oidc(table, roles));
    made.transpose().map_err(|what| wrong("[access.oidc]", what))
}

/// The provider. Its address and the hub's own must be https, or on this machine.
fn oidc(table: &OidcTable, roles: &Roles) -> Result<OidcConfig, String> {
    for (name, url) in [("issuer", &table.issuer), ("redirect", &table.redirect)] {
        if !is_safe_url(url) {
            return Err(format!("{name} = {url:?} is neither https nor on this machine"));
        }
    }
    if !table.redirect.ends_with("/login/callback") {
        return Err(format!(
            "redirect = {:?} must be the hub's own address with /login/callback",
            table.redirect
        ));
    }
    if table.client_id.is_empty() {
        return Err(String::from("client_id is empty: it is the name of the hub at the provider"));
    }
    let usual = || vec![String::from("profile"), String::from("email")];
    let mut scopes = vec![CompactString::from("openid")];
    let more = table.scopes.clone().unwrap_or_else(usual);
    scopes.extend(more.iter().filter(|scope| *scope != "openid").map(CompactString::from));
    let settings = JwtSettings {
        issuer: table.issuer.as_str().into(),
        audiences: vec![table.client_id.as_str().into()],
        algorithms: table.algorithms.clone(),
        skew_s: table.skew_s.unwrap_or(JWT_SKEW_S),
        keys: JwtKeyKind::Public,
    };
    let mapping = mapping(table.name.as_deref().unwrap_or("sub"), &table.rules, roles)?;
    let tokens = JwtIssuer::new(settings, mapping).map_err(|error| error.to_string())?;
    let client = OidcClient {
        issuer: table.issuer.as_str().into(),
        client_id: table.client_id.as_str().into(),
        redirect: table.redirect.clone(),
        scopes,
    };
    Ok(OidcConfig { client, secret: table.secret_file.clone(), ca: table.ca.clone(), tokens })
}

/// The proxies that say who sends a request, if there are any. Fails if headers or rules are set and no proxy
/// is named.
pub(super) fn trusted(
    settings: &ServeSettings,
    access: &AccessSettings,
    roles: &Roles,
) -> Result<Option<TrustedHeaders>, CommandError> {
    if settings.trusted_proxies.is_empty() {
        let is_half = !access.rules.is_empty() || settings.trusted_user_header.is_some();
        return if is_half {
            Err(wrong(
                "trusted_proxies",
                "no address of a proxy is named, so its headers would never be believed",
            ))
        } else {
            Ok(None)
        };
    }
    let proxies = settings.trusted_proxies.iter().map(|text| text.parse());
    let proxies = proxies.collect::<Result<_, _>>().map_err(|error| wrong("trusted_proxies", error))?;
    let header = |key: &str, name: &str| {
        name.parse().map_err(|_no_name| wrong(key, format!("{name:?} is not the name of a header")))
    };
    let user = settings.trusted_user_header.as_deref().unwrap_or(USER_HEADER);
    let groups = settings.trusted_groups_header.as_deref();
    let mapping = mapping(USER_CLAIM, &access.rules, roles).map_err(|what| {
        let example = format!(
            "{what}; for example [[access.rules]] claim = \"{GROUPS_CLAIM}\" value = \"ops\" grants = [\"view:*\"]"
        );
        wrong("[[access.rules]]", example)
    })?;
    Ok(Some(TrustedHeaders {
        proxies,
        user: header("trusted_user_header", user)?,
        groups: groups.map(|groups| header("trusted_groups_header", groups)).transpose()?,
        mapping,
    }))
}

/// The rules of one source of identities. `name` is the claim that names the principal.
fn mapping(name: &str, rules: &[RuleTable], roles: &Roles) -> Result<IdentityMapping, String> {
    let rules = rules.iter().map(|rule| IdentityRule {
        claim: rule.claim.as_str().into(),
        value: rule.value.as_deref().map(CompactString::from),
        grants: rule.grants.clone(),
        role: rule.role.as_deref().map(CompactString::from),
    });
    IdentityMapping::new(name, rules.collect(), roles).map_err(|error| error.to_string())
}
