//! Adding up what the test binaries say about themselves, and keeping what they say of tests that failed.

/// How many lines are kept of what one failed test has said, from its panic on.
const LINES_MAX: usize = 12;

/// Tests that passed and failed so far.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TestCounts {
    /// The number of tests that passed.
    pub(crate) passed: u64,
    /// The number of tests that failed.
    pub(crate) failed: u64,
    /// What the failed tests have said, in the order in which their binaries ran.
    pub(crate) failures: Vec<Failure>,
    /// Whether the lines that come belong to the last failure.
    is_in_failure: bool,
    /// Tests that have run for over a minute and have not ended.
    slow: Vec<String>,
}

/// A test that failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The name of the test in its binary.
    pub(crate) name: String,
    /// The first [`LINES_MAX`] lines of its panic; empty if it did not panic.
    pub(crate) lines: Vec<String>,
}

impl TestCounts {
    /// Takes one line of output, or `None` for a silence after which the running binary is killed. Only the
    /// closing line of a test binary counts, and the tests that ran when it was killed.
    pub(crate) fn see(&mut self, line: Option<&str>) {
        match line {
            Some(line) => self.see_line(line),
            None => self.give_up(),
        }
    }

    /// Counts the tests that run as failed; one without a name if the binary named none.
    fn give_up(&mut self) {
        let names = std::mem::take(&mut self.slow);
        let names = if names.is_empty() { vec!["a test without a name".to_owned()] } else { names };
        self.failed += names.len() as u64;
        let lines = vec!["it did not end, and was killed".to_owned()];
        self.failures.extend(names.into_iter().map(|name| Failure { name, lines: lines.clone() }));
    }

    /// Takes one line of the output.
    fn see_line(&mut self, line: &str) {
        if let Some(test) = line.strip_prefix("test ") {
            if let Some(name) = test.strip_suffix(" has been running for over 60 seconds") {
                self.slow.push(name.to_owned());
            } else if let Some((name, _)) = test.split_once(" ... ") {
                self.slow.retain(|slow| slow != name);
            }
        }
        if let Some(result) = line.strip_prefix("test result: ") {
            self.passed += number_before(result, " passed").unwrap_or(0);
            self.failed += number_before(result, " failed").unwrap_or(0);
        }
        let name = line.strip_prefix("---- ").and_then(|line| line.strip_suffix(" stdout ----"));
        if let Some(name) = name {
            self.is_in_failure = true;
            self.failures.push(Failure { name: name.to_owned(), lines: Vec::new() });
        } else if line == "failures:" || line.starts_with("test result: ") {
            self.is_in_failure = false;
        } else if self.is_in_failure
            && let Some(Failure { lines, .. }) = self.failures.last_mut()
            && lines.len() < LINES_MAX
            && (!lines.is_empty() || line.contains(" panicked at "))
        {
            lines.push(line.to_owned());
        }
    }
}

/// The number that stands before `word`.
fn number_before(text: &str, word: &str) -> Option<u64> {
    let (before, _) = text.split_once(word)?;
    before.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests;
