//! What others say of a caller becomes a principal: rules by which a claim (of a JWT, of a login elsewhere, of a trusted proxy) stands for
//! grants and perhaps a role. The first rule that fits decides alone.
//!
//! ```toml
//! [[access.jwt.rules]]
//! claim = "groups"
//! value = "operators"
//! grants = ["view,control:*"]
//! ```

use compact_str::CompactString;
use serde_json::{Map, Value};

use crate::denial::Denial;
use crate::grant::Grant;
use crate::principal::Principal;
use crate::roles::Roles;

/// Most rules of one source of identities.
pub const IDENTITY_RULES_MAX: usize = 1_000;

/// Longest name of a principal that others vouch for, in bytes.
const NAME_BYTES_MAX: usize = 200;

/// Most values of one claim that are looked at.
const VALUES_MAX: usize = 1_000;

/// A rule: whoever has this value of this claim has these grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityRule {
    /// The name of the claim. With dots it may lead into objects: `realm_access.roles`.
    pub claim: CompactString,
    /// The value that it must have, or one of its values; `None` for any.
    pub value: Option<CompactString>,
    /// What its principal may do.
    pub grants: Vec<Grant>,
    /// The role, which names what is hidden from the principal.
    pub role: Option<CompactString>,
}

/// How the identities of one source become principals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityMapping {
    /// The claim with the name of the principal.
    name: CompactString,
    /// The rules, in the order in which they are tried.
    rules: Vec<IdentityRule>,
}

/// Why rules were not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// No rule, or too many.
    #[error("there are {0} rules, and there must be 1 to {IDENTITY_RULES_MAX}: without one nobody is let in")]
    Rules(usize),
    /// The rule with this number, from 1, gives nothing.
    #[error("rule {0} has no grants")]
    NoGrants(usize),
    /// A rule names a role that there is not.
    #[error("rule {0} names the role {1:?}, and there is no [access.roles.{1}]")]
    UnknownRole(usize, CompactString),
    /// A name of a claim is empty.
    #[error("a claim without a name")]
    NoClaim,
}

impl IdentityMapping {
    /// A mapping in which the claim `name` is the name of the principal. Fails for rules that give nothing or
    /// name no role, and without any.
    pub fn new(name: &str, rules: Vec<IdentityRule>, roles: &Roles) -> Result<Self, MappingError> {
        if rules.is_empty() || rules.len() > IDENTITY_RULES_MAX {
            return Err(MappingError::Rules(rules.len()));
        }
        if name.is_empty() || rules.iter().any(|rule| rule.claim.is_empty()) {
            return Err(MappingError::NoClaim);
        }
        for (number, rule) in (1..).zip(&rules) {
            if rule.grants.is_empty() {
                return Err(MappingError::NoGrants(number));
            }
            if let Some(role) = rule.role.as_ref().filter(|role| roles.find(role).is_none()) {
                return Err(MappingError::UnknownRole(number, role.clone()));
            }
        }
        Ok(Self { name: name.into(), rules })
    }

    /// The principal with these claims. Fails with `Untrusted` if it has no name of 1 to 200 bytes, with
    /// `Unmapped` if no rule is about it, with `UnknownRole` if the role of the rule is gone.
    pub fn principal(&self, claims: &Map<String, Value>, roles: &Roles) -> Result<Principal, Denial> {
        let name = claim(claims, &self.name).and_then(Value::as_str).filter(|name| is_name(name));
        let name = name.ok_or(Denial::Untrusted)?;
        let rule = self.rules.iter().find(|rule| rule.is_about(claims)).ok_or(Denial::Unmapped)?;
        Ok(Principal::new(name, rule.grants.clone(), roles.of(rule.role.as_deref())?))
    }
}

impl IdentityRule {
    /// Whether the claims have what the rule asks for.
    fn is_about(&self, claims: &Map<String, Value>) -> bool {
        let Some(found) = claim(claims, &self.claim) else { return false };
        let is_it = |text: &str| self.value.as_deref().is_none_or(|value| value == text);
        match found {
            Value::Array(many) => many.iter().take(VALUES_MAX).filter_map(Value::as_str).any(is_it),
            // A scope is words with spaces between them (RFC 8693, 4.2).
            Value::String(text) if matches!(self.claim.as_str(), "scope" | "scp") => {
                text.split(' ').take(VALUES_MAX).any(is_it)
            }
            Value::String(text) => is_it(text),
            Value::Bool(_) | Value::Number(_) => is_it(&found.to_string()),
            Value::Null | Value::Object(_) => false,
        }
    }
}

/// The claim of that name; otherwise what its parts between dots lead to. An address of mail counts only where its provider does not say
/// that nobody has checked it.
fn claim<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if name == "email"
        && claims.get("email_verified").is_some_and(|is_so| *is_so == false || *is_so == "false")
    {
        return None;
    }
    claims.get(name).or_else(|| {
        let (first, rest) = name.split_once('.')?;
        rest.split('.').try_fold(claims.get(first)?, |inside, part| inside.as_object()?.get(part))
    })
}

/// Whether a principal may have this name.
fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && name.len() <= NAME_BYTES_MAX && !name.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    //! Tests of who gets what.

    use model::Mask;
    use serde_json::json;

    use super::*;
    use crate::right::Right;

    fn rule(claim: &str, value: Option<&str>, grant: &str, role: Option<&str>) -> IdentityRule {
        IdentityRule {
            claim: claim.into(),
            value: value.map(Into::into),
            grants: vec![grant.parse().unwrap()],
            role: role.map(Into::into),
        }
    }

    fn roles() -> Roles {
        let mut roles = Roles::default();
        roles.add(Mask::new("guest", ["costs"], []).unwrap()).unwrap();
        roles
    }

    fn mapped(rules: Vec<IdentityRule>, claims: Value) -> Result<Principal, Denial> {
        let mapping = IdentityMapping::new("sub", rules, &roles()).unwrap();
        let Value::Object(claims) = claims else { unreachable!() };
        mapping.principal(&claims, &roles())
    }

    #[test]
    fn the_first_rule_that_fits_decides_alone() {
        let rules = || {
            vec![
                rule("groups", Some("guests"), "view:a*", Some("guest")),
                rule("groups", Some("ops"), "admin", None),
            ]
        };
        let both = mapped(rules(), json!({"sub":"ann","groups":["ops","guests"]})).unwrap();
        assert_eq!((both.name(), both.role()), ("ann", Some("guest")));
        assert!(!both.may(Right::Control, "a1"), "grants of two rules do not add up");
        let ops = mapped(rules(), json!({"sub":"bob","groups":["ops"]})).unwrap();
        assert!(ops.may_everywhere(Right::Admin) && ops.role().is_none());
        assert_eq!(mapped(rules(), json!({"sub":"eve","groups":["op"]})), Err(Denial::Unmapped));
        assert_eq!(mapped(rules(), json!({"sub":"eve","groups":{"ops":true}})), Err(Denial::Unmapped));
        assert_eq!(mapped(rules(), json!({"sub":"eve"})), Err(Denial::Unmapped));
    }

    #[test]
    fn claims_are_found_by_name_by_way_and_by_word() {
        let of =
            |claim: &str, value, claims| mapped(vec![rule(claim, Some(value), "view", None)], claims).is_ok();
        assert!(of("realm_access.roles", "dev", json!({"sub":"a","realm_access":{"roles":["dev"]}})));
        assert!(of("https://x.example/roles", "dev", json!({"sub":"a","https://x.example/roles":"dev"})));
        assert!(of("scope", "hub:view", json!({"sub":"a","scope":"openid hub:view"})));
        assert!(!of("scope", "hub:view", json!({"sub":"a","scope":"openid hub:viewer"})));
        assert!(
            !of("note", "hub:view", json!({"sub":"a","note":"openid hub:view"})),
            "words are for scopes alone"
        );
        assert!(
            of("level", "3", json!({"sub":"a","level":3}))
                && of("staff", "true", json!({"sub":"a","staff":true}))
        );
        assert!(mapped(vec![rule("sub", None, "view", None)], json!({"sub":"a"})).is_ok(), "any value");
    }

    #[test]
    fn mail_that_nobody_has_checked_is_nobodys() {
        let of = |claims| mapped(vec![rule("email", Some("a@b.example"), "view", None)], claims).is_ok();
        assert!(of(json!({"sub":"a","email":"a@b.example"})));
        assert!(of(json!({"sub":"a","email":"a@b.example","email_verified":true})));
        assert!(!of(json!({"sub":"a","email":"a@b.example","email_verified":false})));
        assert!(!of(json!({"sub":"a","email":"a@b.example","email_verified":"false"})));
    }

    #[test]
    fn who_has_no_name_is_not_let_in() {
        let all = || vec![rule("iss", None, "view", None)];
        for sub in [json!(null), json!(7), json!(""), json!("  "), json!("a\nb"), json!("x".repeat(201))] {
            assert_eq!(mapped(all(), json!({"iss":"i","sub":sub})), Err(Denial::Untrusted), "{sub}");
        }
    }

    #[test]
    fn rules_that_give_nothing_or_name_no_role_are_refused_by_number() {
        let new = |rules| IdentityMapping::new("sub", rules, &roles()).map(|_| ());
        assert_eq!(new(vec![]), Err(MappingError::Rules(0)));
        let good = rule("sub", None, "view", Some("guest"));
        let empty = IdentityRule { grants: vec![], ..good.clone() };
        assert_eq!(new(vec![good.clone(), empty]), Err(MappingError::NoGrants(2)));
        let other = IdentityRule { role: Some("gust".into()), ..good.clone() };
        assert_eq!(new(vec![other]), Err(MappingError::UnknownRole(1, "gust".into())));
        assert_eq!(new(vec![good; IDENTITY_RULES_MAX + 1]), Err(MappingError::Rules(IDENTITY_RULES_MAX + 1)));
    }
}
