//! A believable pace: tokens in bursts, a pause after a sentence, a wait before the first word.

use std::time::Duration;

/// A small generator of pseudo-random numbers. The same seed gives the same numbers.
#[derive(Debug, Clone)]
pub(super) struct DemoRandom(u64);

impl DemoRandom {
    /// A generator that never gets stuck, whatever the seed.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number from `from` up to, but not including, `to`.
    pub(super) fn roll(&mut self, from: u64, to: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        from.saturating_add(self.0 % to.saturating_sub(from).max(1))
    }

    /// `span`, changed at random by up to an eighth.
    pub(super) fn about(&mut self, span: Duration) -> Duration {
        span * u32::try_from(self.roll(875, 1125)).unwrap_or(1000) / 1000
    }
}

/// How a text is written at `rate` tokens per second: its pieces, each with the pause before it.
pub(super) fn written<'a>(text: &'a str, rate: u32, dice: &mut DemoRandom) -> Vec<(Duration, &'a str)> {
    let token = Duration::from_secs(1) / rate.max(1);
    let mut pieces = Vec::new();
    let mut rest = text;
    let mut breath = Duration::ZERO;
    while !rest.is_empty() {
        let tokens = dice.roll(1, 4);
        let mut length = 0;
        for _ in 0..tokens {
            length += token_length(rest.get(length..).unwrap_or_default());
        }
        let (piece, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        let pause = dice.about(token * u32::try_from(tokens).unwrap_or(1)) + breath;
        pieces.push((pause, piece));
        let ends_sentence = piece.trim_end().ends_with(['.', '?', ':', '!']) || piece.contains('\n');
        breath = if ends_sentence { Duration::from_millis(dice.roll(0, 160)) } else { Duration::ZERO };
        rest = after;
    }
    pieces
}

/// The length in bytes of the first token of `text`: white space and a word, or the first half of a long
/// word.
fn token_length(text: &str) -> usize {
    const LONG: usize = 8;
    let start = text.len().saturating_sub(text.trim_start().len());
    let word = text.trim_start();
    let end = word.find(char::is_whitespace).unwrap_or(word.len());
    if end <= LONG {
        return start.saturating_add(end);
    }
    let half = word.char_indices().map(|(at, _)| at).find(|at| *at >= LONG / 2).unwrap_or(end);
    start.saturating_add(half)
}

/// The wait before a model begins to answer.
pub(super) fn first_token(dice: &mut DemoRandom) -> Duration {
    Duration::from_millis(dice.roll(350, 1_100))
}

#[cfg(test)]
mod tests;
