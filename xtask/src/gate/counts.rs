//! Adding up what the test binaries say about themselves.

/// Tests that passed and failed so far.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TestCounts {
    /// Tests that passed.
    pub(crate) passed: u64,
    /// Tests that failed.
    pub(crate) failed: u64,
}

impl TestCounts {
    /// Takes one line of output; only the closing line of a test binary counts.
    pub(crate) fn see(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else { return };
        self.passed += number_before(result, " passed").unwrap_or(0);
        self.failed += number_before(result, " failed").unwrap_or(0);
    }
}

/// The number that stands before `word`.
fn number_before(text: &str, word: &str) -> Option<u64> {
    let (before, _) = text.split_once(word)?;
    before.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests;
