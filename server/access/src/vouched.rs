//! Callers for whom somebody else vouches: an issuer of JWT, a provider at which they logged in, a trusted proxy.

use std::sync::Arc;

use crate::principal::Principal;
use crate::secret::Hash;

/// A caller for whom somebody else vouches, until when, and with which key where it is signed. It holds what
/// the other said at that moment: later changes there count when the caller comes again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vouched {
    /// The principal that the caller is.
    pub(crate) principal: Arc<Principal>,
    /// When it is over, in milliseconds since 1970.
    pub(crate) expires: u64,
    /// The key that signed it: when the issuer takes it back, it counts no longer.
    pub(crate) key: Option<Hash>,
}

impl Vouched {
    /// Somebody whose word needs no signature: it came over a connection that is trusted.
    pub fn new(principal: Principal, expires: u64) -> Self {
        Self { principal: Arc::new(principal), expires, key: None }
    }

    /// A caller whose token `key` has signed.
    pub(crate) fn signed(principal: Principal, expires: u64, key: Hash) -> Self {
        Self { principal: Arc::new(principal), expires, key: Some(key) }
    }
}
