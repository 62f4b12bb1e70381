//! Waiting for a state, with a deadline. The only place in the tests that may let time pass.

use std::future::Future;
use std::time::Duration;

/// How long anything may take before a test fails. Generous: it is only ever used up by a failure.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// How long a program may take that loads much code before it does anything, or what takes long by design.
const PATIENCE: Duration = Duration::from_mins(3);

/// Between two looks at a state that nobody announces.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The result of `future`, which must come before [`DEADLINE`].
///
/// # Panics
/// When it does not; the message says `what` was waited for.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let result = tokio::time::timeout(DEADLINE, future).await;
    result.unwrap_or_else(|elapsed| panic!("waited {DEADLINE:?} in vain for {what}: {elapsed}"))
}

/// The result of `future`, which waits for programs that take long to start.
///
/// # Panics
/// When it does not come; the message says `what` was waited for.
pub async fn patiently<T>(what: &str, future: impl Future<Output = T>) -> T {
    let result = tokio::time::timeout(PATIENCE, future).await;
    result.unwrap_or_else(|elapsed| panic!("waited {PATIENCE:?} in vain for {what}: {elapsed}"))
}

/// Asks again and again until there is an answer.
///
/// # Panics
/// When there is none before [`DEADLINE`].
pub async fn until<T, F: Future<Output = Option<T>>>(what: &str, ask: impl FnMut() -> F) -> T {
    within(what, asking(ask)).await
}

/// Asks again and again until there is an answer, for what the hub itself does only after a long time.
///
/// # Panics
/// When there is no answer after minutes.
pub async fn patiently_until<T, F: Future<Output = Option<T>>>(what: &str, ask: impl FnMut() -> F) -> T {
    patiently(what, asking(ask)).await
}

async fn asking<T, F: Future<Output = Option<T>>>(mut ask: impl FnMut() -> F) -> T {
    loop {
        if let Some(value) = ask().await {
            return value;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Lets a load go on for a fixed time. Never stands before an assertion in place of a state.
pub async fn load_for(duration: Duration) {
    tokio::time::sleep(duration).await;
}
