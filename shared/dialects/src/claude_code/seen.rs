//! What was received before: resumed transcripts repeat their earlier lines.

use std::collections::HashSet;

use model::print::Fingerprint;

/// Most lines that are remembered, twice: those of now and those of before.
const REMEMBERED_MAX: usize = 32 << 10;

/// Remembers the newest lines by their hash (SHA-256, since texts of others are compared), in bounded memory
/// (I7). The older half is forgotten at once when the newer one is full.
#[derive(Debug, Default)]
pub(crate) struct SeenLines {
    /// The newest lines, at most [`REMEMBERED_MAX`].
    now: HashSet<u64>,
    /// The lines before them.
    before: HashSet<u64>,
}

impl SeenLines {
    /// Whether the same pieces were received before. They are remembered.
    pub(crate) fn again(&mut self, pieces: &[&str]) -> bool {
        let hash = Fingerprint::of(pieces);
        if self.now.contains(&hash) || self.before.contains(&hash) {
            return true;
        }
        if self.now.len() >= REMEMBERED_MAX {
            self.before = std::mem::take(&mut self.now);
        }
        self.now.insert(hash);
        false
    }
}

#[cfg(test)]
mod tests {
    //! Tests of what is told again.

    use super::*;

    #[test]
    fn a_line_that_was_made_to_look_like_another_one_is_not_taken_for_it() {
        let mut seen = SeenLines::default();
        // Both have the same FNV-1a 64.
        assert!(!seen.again(&["user", "8yn0iYCKYHlIj4-BwPqk"]));
        assert!(!seen.again(&["8yn0iYCKYHlIj4-BwPqk"]) && !seen.again(&["GReLUrM4wMqfg9yzV3KQ"]));
        assert!(seen.again(&["8yn0iYCKYHlIj4-BwPqk"]));
    }
}
