//! The one place that reads the time of day, and the source of names that must not repeat.
//!
//! Times are for people and for the order of lists; how long something took is measured with `Instant`.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use compact_str::CompactString;

/// The time of day in milliseconds since 1970. It may go back when somebody sets the system's clock; 0 before 1970.
pub fn now_ms() -> u64 {
    #[cfg(any(test, feature = "testkit"))]
    if let Some(now) = MADE_UP.get() {
        return now;
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(any(test, feature = "testkit"))]
thread_local! {
    /// The time that a test chose for this thread; `None` where it did not.
    static MADE_UP: std::cell::Cell<Option<u64>> = const { std::cell::Cell::new(None) };
}

/// Sets the time that [`now_ms`] returns on this thread, in milliseconds since 1970, until the thread ends.
#[cfg(any(test, feature = "testkit"))]
pub fn travel(now: u64) {
    MADE_UP.set(Some(now));
}

/// A short name that no other call gives, in this process or another: time, a count and 64 random bits,
/// hashed. Epochs are named with it.
pub fn fresh_name() -> CompactString {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    // `RandomState` is seeded by the operating system; a generator of its own would be one more dependency.
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(now_ms());
    hasher.write_u64(COUNT.fetch_add(1, Ordering::Relaxed));
    base36(hasher.finish())
}

/// A random number, to spread in time what would otherwise happen at once. Not for secrets.
pub fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// `number` in base 36, at most 13 digits.
fn base36(mut number: u64) -> CompactString {
    let mut text = CompactString::default();
    while number > 0 || text.is_empty() {
        let digit = u32::try_from(number % 36).unwrap_or_default();
        text.push(char::from_digit(digit, 36).unwrap_or('0'));
        number /= 36;
    }
    text
}
