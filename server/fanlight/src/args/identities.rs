//! The settings of who else vouches for callers: `[[access.jwt]]`, `[access.oidc]` and the rules of each.

use std::path::PathBuf;

use access::Grant;
use serde::{Deserialize, Serialize};

/// The table `[[access.jwt]]`: an issuer of tokens that the hub takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JwtTable {
    /// The issuer: the claim `iss` of its tokens.
    pub(crate) issuer: String,
    /// What the claim `aud` must hold; of several one.
    pub(crate) audience: OneOrMany,
    /// The algorithms that it signs with; without them all that fit its keys.
    #[serde(default)]
    pub(crate) algorithms: Vec<String>,
    /// The file with the secret of HS256.
    pub(crate) secret_file: Option<PathBuf>,
    /// The file with its JWKS.
    pub(crate) jwks_file: Option<PathBuf>,
    /// The address of its JWKS.
    pub(crate) jwks_url: Option<String>,
    /// A PEM file with certificates that are trusted at that address.
    pub(crate) ca: Option<PathBuf>,
    /// By how many seconds its clock may differ.
    pub(crate) skew_s: Option<u64>,
    /// The claim with the name of the principal; `sub` without it.
    pub(crate) name: Option<String>,
    /// Who gets what; the first that fits decides.
    #[serde(default)]
    pub(crate) rules: Vec<RuleTable>,
}

/// The table `[access.oidc]`: where people log in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OidcTable {
    /// The address of the provider, as its tokens name it.
    pub(crate) issuer: String,
    /// The name of the hub there.
    pub(crate) client_id: String,
    /// The file with its secret there.
    pub(crate) secret_file: Option<PathBuf>,
    /// Where the provider sends browsers back to: the hub's own address with `/login/callback`.
    pub(crate) redirect: String,
    /// What is asked for besides `openid`; profile and email without it.
    pub(crate) scopes: Option<Vec<String>>,
    /// The algorithms that it signs with; without them all that fit public keys.
    #[serde(default)]
    pub(crate) algorithms: Vec<String>,
    /// A PEM file with certificates that are trusted for it.
    pub(crate) ca: Option<PathBuf>,
    /// By how many seconds its clock may differ.
    pub(crate) skew_s: Option<u64>,
    /// The claim with the name of the principal; `sub` without it.
    pub(crate) name: Option<String>,
    /// Who gets what; the first that fits decides.
    #[serde(default)]
    pub(crate) rules: Vec<RuleTable>,
}

/// A rule: whoever has this value of this claim has these grants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleTable {
    /// The claim; with dots it leads into objects.
    pub(crate) claim: String,
    /// The value; any without it.
    pub(crate) value: Option<String>,
    /// What they may do.
    pub(crate) grants: Vec<Grant>,
    /// The role that says what is hidden from them.
    pub(crate) role: Option<String>,
}

/// One text, or several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMany {
    /// One text alone.
    One(String),
    /// A list of texts.
    Many(Vec<String>),
}

impl OneOrMany {
    /// All texts, in order.
    pub(crate) fn all(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}
