//! The roles of a hub: which names there are, and what each hides. Tokens, links and whoever else vouches for a principal name a role;
//! a name that is none lets nobody in, so that nobody sees more than was meant.

use std::collections::BTreeMap;
use std::sync::Arc;

use compact_str::CompactString;
use model::Mask;

use crate::denial::Denial;

/// Most roles of one hub.
pub const ROLES_MAX: usize = 100;

/// All roles of a hub, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roles {
    /// The masks by name, shared with the principals that have them.
    all: BTreeMap<CompactString, Arc<Mask>>,
}

/// Why a role was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RoleError {
    /// The hub has [`ROLES_MAX`] roles already.
    #[error("there are more than {ROLES_MAX} roles")]
    Full,
}

impl Roles {
    /// Adds a role under the name of its mask, in place of one of that name.
    pub fn add(&mut self, mask: Mask) -> Result<(), RoleError> {
        if self.all.len() >= ROLES_MAX && !self.all.contains_key(mask.name()) {
            return Err(RoleError::Full);
        }
        self.all.insert(mask.name().into(), Arc::new(mask));
        Ok(())
    }

    /// What the role `name` hides.
    pub fn find(&self, name: &str) -> Option<&Arc<Mask>> {
        self.all.get(name)
    }

    /// What is hidden from whoever was given the role `named`, or none. Fails with `UnknownRole` for a name
    /// that is none.
    pub fn of(&self, named: Option<&str>) -> Result<Option<Arc<Mask>>, Denial> {
        match named {
            None => Ok(None),
            Some(name) => self.find(name).cloned().map(Some).ok_or(Denial::UnknownRole),
        }
    }

    /// The names of all roles.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all.keys().map(CompactString::as_str)
    }
}

#[cfg(test)]
mod tests {
    //! Tests of how roles are found.

    use super::*;

    fn mask(name: &str) -> Mask {
        Mask::new(name, ["costs"], []).unwrap()
    }

    #[test]
    fn a_role_that_nobody_knows_lets_nobody_in() {
        let mut roles = Roles::default();
        roles.add(mask("guest")).unwrap();
        assert_eq!(roles.of(None), Ok(None));
        assert_eq!(roles.of(Some("guest")).unwrap().unwrap().name(), "guest");
        assert_eq!(roles.of(Some("Guest")), Err(Denial::UnknownRole));
        assert_eq!(roles.of(Some("")), Err(Denial::UnknownRole));
    }

    #[test]
    fn i7_a_hub_has_a_bounded_number_of_roles() {
        let mut roles = Roles::default();
        for number in 0..ROLES_MAX {
            roles.add(mask(&format!("r{number}"))).unwrap();
        }
        assert_eq!(roles.add(mask("one more")), Err(RoleError::Full));
        assert_eq!(roles.add(mask("r1")), Ok(()), "one in place of another");
        assert_eq!(roles.names().count(), ROLES_MAX);
    }
}
