//! How many refusals are written: whoever is refused may try as often as they like, and must not fill the disk or push others out of the
//! log by that.

/// Most refusals that are written in one minute. The rest is counted.
pub const REFUSALS_PER_MINUTE_MAX: u32 = 60;

/// One minute, in milliseconds.
const MINUTE_MS: u64 = 60_000;

/// What of this minute is used up. Owned by whoever writes the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RefusalBudget {
    /// When the minute began, in milliseconds since 1970.
    began: u64,
    /// How many refusals of this minute were written.
    written: u32,
    /// The number of refusals that were not written.
    left_out: u64,
}

impl RefusalBudget {
    /// Whether a refusal at `now` is written. Once a minute is over, also how many of it were not.
    pub fn take(&mut self, now: u64) -> (bool, Option<u64>) {
        let mut left_out = None;
        // A clock that was set back begins another minute too.
        if now.abs_diff(self.began) >= MINUTE_MS {
            left_out = Some(self.left_out).filter(|count| *count > 0);
            *self = Self { began: now, ..Self::default() };
        }
        let is_written = self.written < REFUSALS_PER_MINUTE_MAX;
        if is_written {
            self.written = self.written.saturating_add(1);
        } else {
            self.left_out = self.left_out.saturating_add(1);
        }
        (is_written, left_out)
    }
}

#[cfg(test)]
mod tests {
    //! Tests of the budget.

    use super::*;

    #[test]
    fn i7_refusals_are_written_up_to_a_number_in_each_minute_and_the_rest_is_counted() {
        let mut budget = RefusalBudget::default();
        let begin = 10 * MINUTE_MS;
        let written = (0..1_000).filter(|step| budget.take(begin + step).0).count();
        assert_eq!(written, REFUSALS_PER_MINUTE_MAX as usize);
        assert_eq!(
            budget.take(begin + MINUTE_MS),
            (true, Some(940)),
            "the next minute tells of the one before"
        );
        assert_eq!(budget.take(begin + MINUTE_MS + 1), (true, None));
    }
}
