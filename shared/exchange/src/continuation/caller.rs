//! Who calls: what tells one caller of a door from others who say the same.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// A caller who names no conversation. What it sends is not kept: of those who begin a run a salted hash is, by which a hub
/// that comes back tells them apart.
#[derive(Clone)]
pub struct Caller {
    door: &'static str,
    marks: Vec<u8>,
}

impl Caller {
    /// Somebody who calls at `door`.
    pub fn new(door: &'static str) -> Self {
        Self { door, marks: door.as_bytes().to_vec() }
    }

    /// The door that it calls at.
    pub fn door(&self) -> &'static str {
        self.door
    }

    /// It sends this, which others may not send.
    pub fn mark(&mut self, name: &str, value: &[u8]) {
        self.marks.push(0xff);
        self.marks.extend_from_slice(name.as_bytes());
        self.marks.push(b':');
        self.marks.extend_from_slice(value);
    }

    /// What tells it from others without telling what it sent.
    pub(super) fn sealed(&self, salt: u64) -> u64 {
        let mut hasher = Sha256::new();
        hasher.update(salt.to_be_bytes());
        hasher.update(&self.marks);
        let sealed = hasher.finalize();
        sealed.iter().take(8).fold(0, |all, byte| (all << 8) | u64::from(*byte))
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Caller({})", self.door)
    }
}
