//! How long a client waits before it connects again.

/// Shortest wait after a failure, in milliseconds.
pub const FIRST_MS: u64 = 500;

/// Longest wait, in milliseconds.
pub const LONGEST_MS: u64 = 30_000;

/// The wait before attempt `attempt` (from 1), in milliseconds: doubling from [`FIRST_MS`] to [`LONGEST_MS`], of which
/// a random part between a half and the whole is taken, so that a thousand viewers do not come back at once.
/// `random` is any random number.
pub fn wait_ms(attempt: u32, random: u64) -> u64 {
    let exponent = attempt.saturating_sub(1).min(16);
    let whole = FIRST_MS.saturating_mul(1_u64 << exponent).min(LONGEST_MS);
    let half = whole / 2;
    half.saturating_add(random % half.saturating_add(1))
}

/// The wait that a hub asked for with `bye`, in milliseconds, with up to the same again at random.
pub fn asked_ms(retry_ms: u64, random: u64) -> u64 {
    let retry_ms = retry_ms.min(LONGEST_MS);
    retry_ms.saturating_add(random % retry_ms.saturating_add(1))
}

#[cfg(test)]
mod tests {
    //! Tests of the bounds.

    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_stay_within_bounds() {
        for attempt in 1..40 {
            for random in [0, 1, 77, u64::MAX] {
                let wait = wait_ms(attempt, random);
                assert!((FIRST_MS / 2..=LONGEST_MS).contains(&wait), "{attempt} {random} {wait}");
            }
        }
        assert_eq!(wait_ms(1, 0), 250);
        assert_eq!(wait_ms(30, 15_000), LONGEST_MS);
    }
}
