//! Callers: a person, a program, or everyone if access control is off.

use std::sync::Arc;

use compact_str::CompactString;
use model::{ConversationId, Mask};

use crate::grant::Grant;
use crate::pattern::Pattern;
use crate::right::Right;
use crate::shares::ShareFacts;

/// A caller and its rights. Two callers with the same name, grants, role and link are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    name: CompactString,
    grants: Vec<Grant>,
    role: Option<Arc<Mask>>,
    link: Option<Arc<ShareFacts>>,
}

impl Principal {
    /// A principal with these grants. `role` is what is hidden from it.
    pub fn new(name: &str, grants: Vec<Grant>, role: Option<Arc<Mask>>) -> Self {
        Self { name: name.into(), grants, role, link: None }
    }

    /// Marks the principal as one who follows the link `link`.
    #[must_use]
    pub(crate) fn by_link(self, link: Arc<ShareFacts>) -> Self {
        Self { link: Some(link), ..self }
    }

    /// The link that it follows, if it does.
    pub fn link(&self) -> Option<&ShareFacts> {
        self.link.as_deref()
    }

    /// The principal of every caller of a hub without access control; it has all rights.
    pub fn everyone() -> Self {
        Self::new("everyone", vec![Grant::new(Right::ALL, Pattern::any())], None)
    }

    /// The name, for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The grants of this principal.
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }

    /// The name of its role, if anything is hidden from it.
    pub fn role(&self) -> Option<&str> {
        self.role.as_ref().map(|mask| mask.name())
    }

    /// What is hidden from it, where something is.
    pub fn mask(&self) -> Option<&Arc<Mask>> {
        self.role.as_ref()
    }

    /// Whether it has `right` on the conversation with this name. On the copy behind a frozen link only a grant for that very name or for
    /// everything counts: nobody chose its name, so patterns are not about it.
    pub fn may(&self, right: Right, conversation: &str) -> bool {
        let is_frozen = ConversationId::is_frozen_name(conversation);
        self.grants.iter().filter(|grant| grant.has(right)).map(Grant::pattern).any(|pattern| {
            pattern.matches(conversation) && (!is_frozen || pattern.is_any() || pattern.is_one())
        })
    }

    /// Whether it has `right` on every possible conversation, through a single grant. Several patterns that
    /// together cover all names do not count.
    pub fn may_everywhere(&self, right: Right) -> bool {
        self.grants.iter().any(|grant| grant.has(right) && grant.pattern().is_any())
    }

    /// Whether it has `right` on at least some possible conversation.
    pub fn may_somewhere(&self, right: Right) -> bool {
        self.grants.iter().any(|grant| grant.has(right))
    }
}
