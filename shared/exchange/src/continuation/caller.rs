//! The caller of a door: what distinguishes it from others who say the same.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// A caller who names no conversation. What it sends is not stored; a salted hash of it is, for each run that
/// it begins, by which a restarted hub recognizes it.
#[derive(Clone)]
pub struct Caller {
    door: &'static str,
    marks: Vec<u8>,
}

impl Caller {
    /// A caller at `door` that has sent nothing yet.
    pub fn new(door: &'static str) -> Self {
        Self { door, marks: door.as_bytes().to_vec() }
    }

    /// The door at which it calls.
    pub fn door(&self) -> &'static str {
        self.door
    }

    /// Adds something that the caller sends and that distinguishes it from others.
    pub fn mark(&mut self, name: &str, value: &[u8]) {
        self.marks.push(0xff);
        self.marks.extend_from_slice(name.as_bytes());
        self.marks.push(b':');
        self.marks.extend_from_slice(value);
    }

    /// A hash that is the same for each request of the caller, by which callers are spread over hubs. It is not to be
    /// stored: somebody who guesses what was sent could tell it from the hash.
    pub fn print(&self) -> u64 {
        self.sealed(0)
    }

    /// A salted hash that distinguishes the caller without revealing what it sent.
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
