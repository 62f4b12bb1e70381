//! Whoever calls: a person, a program, or everybody where access control is off.

use std::sync::Arc;

use compact_str::CompactString;
use model::Mask;

use crate::grant::Grant;
use crate::pattern::Pattern;
use crate::right::Right;

/// Whoever calls, with what they may do. Two with the same name, grants and role may do the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    name: CompactString,
    grants: Vec<Grant>,
    role: Option<Arc<Mask>>,
}

impl Principal {
    /// `name` with `grants`; `role` is what is hidden from it.
    pub fn new(name: &str, grants: Vec<Grant>, role: Option<Arc<Mask>>) -> Self {
        Self { name: name.into(), grants, role }
    }

    /// Whoever calls a hub without access control.
    pub fn everyone() -> Self {
        Self::new("everyone", vec![Grant::new(Right::ALL, Pattern::any())], None)
    }

    /// Its name, for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it may do.
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }

    /// The name of its role, where something is hidden from it.
    pub fn role(&self) -> Option<&str> {
        self.role.as_ref().map(|mask| mask.name())
    }

    /// What is hidden from it, where something is.
    pub fn mask(&self) -> Option<&Arc<Mask>> {
        self.role.as_ref()
    }

    /// Whether it has `right` on the conversation of that name.
    pub fn may(&self, right: Right, conversation: &str) -> bool {
        self.grants.iter().any(|grant| grant.has(right) && grant.pattern().matches(conversation))
    }

    /// Whether it has `right` on every conversation that there may be, by one grant. Several patterns that cover all names together
    /// do not count.
    pub fn may_everywhere(&self, right: Right) -> bool {
        self.grants.iter().any(|grant| grant.has(right) && grant.pattern().is_any())
    }

    /// Whether it has `right` on some conversation that there may be.
    pub fn may_somewhere(&self, right: Right) -> bool {
        self.grants.iter().any(|grant| grant.has(right))
    }
}
