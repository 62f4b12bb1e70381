//! Durations on the page, and their texts.

use crate::format;

/// A duration on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// No duration is shown.
    None,
    /// Over; the duration in milliseconds.
    Took(u64),
    /// Growing since the first value, by the hub's clock; shown from the second value on, both in
    /// milliseconds.
    Since(u64, u64),
    /// At least this long, in milliseconds; the end is unknown.
    AtLeast(u64),
}

impl Span {
    /// From `started_at` to `ended_at`, by the hub's clock; [`Span::None`] if a recording has no times.
    pub fn of(started_at: u64, ended_at: Option<u64>) -> Self {
        match ended_at {
            _ if started_at == 0 => Self::None,
            Some(end) => Self::Took(end.saturating_sub(started_at)),
            None => Self::Since(started_at, 0),
        }
    }

    /// The span if no publisher has spoken since `silent_since`: it grew at least until then.
    #[must_use]
    pub fn known_until(self, silent_since: Option<u64>) -> Self {
        match (self, silent_since) {
            (Self::Since(from, shown_after), Some(at)) => {
                let ms = at.saturating_sub(from);
                if ms < shown_after { Self::None } else { Self::AtLeast(ms) }
            }
            (span, _) => span,
        }
    }
}

/// The text of a growing duration of `ms`, empty below `shown_after`. Unless `is_sure`, it says "at least".
pub fn growing(ms: u64, shown_after: u64, is_sure: bool) -> String {
    let sure = if is_sure { "" } else { "≥ " };
    if ms < shown_after { String::new() } else { format!("{sure}{}", format::clock(ms)) }
}

/// The text of a duration that does not grow.
pub fn told(span: Span) -> String {
    match span {
        Span::None | Span::Since(..) => String::new(),
        Span::Took(ms) => format::duration(ms),
        Span::AtLeast(ms) => format!("≥ {}", format::duration(ms)),
    }
}

#[cfg(test)]
mod tests {
    //! Tests of what is known of times.

    use super::*;

    #[test]
    fn a_time_that_nobody_speaks_for_stands_still_and_says_so() {
        let grows = Span::Since(1_000, 2_000);
        assert_eq!(grows.known_until(None), grows);
        assert_eq!(told(grows.known_until(Some(42_000))), "≥ 41 s");
        assert_eq!(grows.known_until(Some(2_500)), Span::None, "too short to be shown");
        assert_eq!(grows.known_until(Some(500)), Span::None);
        assert_eq!(Span::Took(7).known_until(Some(9)), Span::Took(7), "what is over is known");
    }

    #[test]
    fn times_without_a_beginning_are_not_shown() {
        assert_eq!((Span::of(0, Some(5)), Span::of(2, Some(5))), (Span::None, Span::Took(3)));
        assert_eq!(
            (growing(1_999, 2_000, true), growing(4_000, 2_000, false).starts_with("≥ ")),
            (String::new(), true)
        );
    }
}
