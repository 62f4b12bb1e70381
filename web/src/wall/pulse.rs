//! How fast a conversation writes: bytes in steps of [`STEP_MS`], of the last minute, and the line that is drawn of them.
//!
//! Rows of the list say how much was written so far (`written`); the differences of one row to the next are what is
//! added here. Nobody counts tokens while they stream, so tokens are estimated.
//!
//! ```text
//! rows ── written: 120, 480, 900 … ──▶ take ──▶ steps [0 0 90 105 …]  ──▶ sparkline  M0 14L4 9L8 3…
//! ```

/// The length of one step, in milliseconds. Rows come twice a second at most.
const STEP_MS: u64 = 2_000;

/// The number of steps that are kept: a minute.
const STEPS: usize = 30;

/// How many bytes of text are counted as one token, about as in English prose.
const TOKEN_BYTES: u64 = 4;

/// The least height of the scale of a sparkline, in tokens per second: a stream that trickles is drawn low.
const SCALE_LEAST: u64 = 20;

/// The bytes that one conversation wrote in each of the last `STEPS` steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulse {
    /// The oldest step first.
    steps: [u64; STEPS],
    /// The number of the newest step since 1970.
    newest: u64,
    /// How much had been written when it was last said.
    written: u64,
}

impl Pulse {
    /// Nothing was seen of it before: what it had written by then counts for no step.
    pub fn begin(at: u64, written: u64) -> Self {
        Self { steps: [0; STEPS], newest: at / STEP_MS, written }
    }

    /// Notes that `written` bytes had been written at `at`, in milliseconds since 1970 by the hub's clock. Fewer bytes than
    /// before are those of a new run.
    pub fn take(&mut self, at: u64, written: u64) {
        self.advance(at);
        let more = if written >= self.written { written - self.written } else { written };
        self.written = written;
        if let Some(step) = self.steps.last_mut() {
            *step = step.saturating_add(more);
        }
    }

    /// Lets time pass until `at`. A clock that goes back changes nothing.
    fn advance(&mut self, at: u64) {
        let newest = at / STEP_MS;
        let passed = usize::try_from(newest.saturating_sub(self.newest)).unwrap_or(STEPS).min(STEPS);
        self.steps.rotate_left(passed % STEPS);
        let kept = STEPS.saturating_sub(passed);
        self.steps.iter_mut().skip(kept).for_each(|step| *step = 0);
        self.newest = self.newest.max(newest);
    }

    /// A copy in which time has passed until `now`.
    #[must_use]
    pub fn at(&self, now: u64) -> Self {
        let mut later = self.clone();
        later.advance(now);
        later
    }

    /// The tokens per second at `now`, estimated: of the step that goes on and the two before it. Rows come
    /// every half second, so that fewer steps would be uneven.
    pub fn rate(&self, now: u64) -> u64 {
        let later = self.at(now);
        let bytes = later.steps.iter().rev().take(3).fold(0, |sum: u64, step| sum.saturating_add(*step));
        let ms = 2 * STEP_MS + now % STEP_MS;
        bytes.saturating_mul(1_000) / ms / TOKEN_BYTES
    }

    /// The bytes of the last minute before `now`.
    pub fn recent(&self, now: u64) -> u64 {
        self.at(now).steps.iter().fold(0, |sum: u64, step| sum.saturating_add(*step))
    }

    /// The SVG path of the last minute before `now`, in a box of `width` and `height`. Empty if nothing was written.
    pub fn sparkline(&self, now: u64, width: u64, height: u64) -> String {
        let later = self.at(now);
        let most = later.steps.iter().copied().max().unwrap_or(0);
        if most == 0 {
            return String::new();
        }
        let scale = most.max(SCALE_LEAST * TOKEN_BYTES * STEP_MS / 1_000);
        let mut path = String::new();
        for (number, step) in later.steps.iter().enumerate() {
            let x = width.saturating_mul(number as u64) / (STEPS as u64 - 1);
            let y = height.saturating_sub(step.saturating_mul(height) / scale);
            path.push(if number == 0 { 'M' } else { 'L' });
            path.push_str(&x.to_string());
            path.push(' ');
            path.push_str(&y.to_string());
        }
        path
    }
}

#[cfg(test)]
mod tests {
    //! Tests of what is counted, and when.

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_steady_stream_has_its_rate_and_one_that_ends_has_none() {
        let mut pulse = Pulse::begin(100_000, 5_000);
        for n in 1..=20_u64 {
            pulse.take(100_000 + n * 500, 5_000 + n * 80);
        }
        let rate = pulse.rate(110_000);
        assert!((36..=45).contains(&rate), "{rate}; 160 bytes a second");
        assert_eq!(pulse.rate(120_000), 0);
        assert_eq!(pulse.recent(110_000), 1_600, "what was there at first does not count");
        assert_eq!(pulse.recent(200_000), 0);
        assert!(pulse.sparkline(110_000, 60, 14).starts_with("M0 14L"));
        assert_eq!(pulse.sparkline(200_000, 60, 14), "");
    }

    #[test]
    fn a_new_run_begins_at_nothing() {
        let mut pulse = Pulse::begin(0, 900);
        pulse.take(100, 40);
        assert_eq!(pulse.recent(100), 40);
    }

    proptest! {
        #[test]
        fn within_a_minute_nothing_is_lost_and_nothing_added(
            told in proptest::collection::vec((0..1_500_u64, 0..10_000_u64), 1..40), from in 0..u64::from(u32::MAX),
        ) {
            let (mut at, mut written) = (from, 7);
            let mut pulse = Pulse::begin(at, written);
            for (later, more) in &told {
                at += later;
                written += more;
                pulse.take(at, written);
            }
            let all: u64 = told.iter().map(|(_, more)| more).sum();
            if at / STEP_MS - from / STEP_MS < STEPS as u64 {
                prop_assert_eq!(pulse.recent(at), all);
            }
            prop_assert!(pulse.recent(at) <= all);
            prop_assert!(pulse.rate(at) <= all / 16 + 1);
            prop_assert_eq!(pulse.recent(at + STEP_MS * STEPS as u64), 0);
        }

        #[test]
        fn a_line_stays_in_its_box(told in proptest::collection::vec((0..5_000_u64, 0..u64::MAX / 64), 1..40)) {
            let mut pulse = Pulse::begin(0, 0);
            let mut at = 0;
            for (later, written) in told {
                at += later;
                pulse.take(at, written);
            }
            let path = pulse.sparkline(at, 60, 14);
            let numbers = path.split(['M', 'L', ' ']).filter(|it| !it.is_empty());
            for (number, place) in numbers.map(|it| it.parse::<u64>().unwrap()).enumerate() {
                let most = if number % 2 == 0 { 60 } else { 14 };
                prop_assert!(place <= most);
            }
        }
    }
}
