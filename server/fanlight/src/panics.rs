//! What is said of a panic. Without this the standard library writes the message to stderr as it is, and the message may hold what the hub was
//! working on.
//!
//! ```text
//! panic on any thread ─▶ hook ─▶ one record of the trace: thread, place, message ─▶ telemetry, which puts marks in the place of secrets
//!                                 └ where the trace has no errors ─▶ one line on stderr, with the same marks
//! ```

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{PanicHookInfo, set_hook};
use std::thread;

use crate::command::complain;

/// From now on panics of this process are said in the trace, and nowhere else. Call it once the trace has begun.
pub(crate) fn say_in_the_trace() {
    set_hook(Box::new(say));
}

/// Says one panic. It must not panic itself: that would end the process.
fn say(panic: &PanicHookInfo<'_>) {
    let current = thread::current();
    let thread = current.name().unwrap_or("without a name");
    let said = panic.payload_as_str().unwrap_or("nothing that can be shown");
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    if !tracing::enabled!(tracing::Level::ERROR) {
        return complain(&format!("the thread {thread} panicked at {place}: {said}"));
    }
    // Names of functions and files, if RUST_BACKTRACE asks for them.
    let trace = Backtrace::capture();
    let trace = (trace.status() == BacktraceStatus::Captured).then(|| trace.to_string());
    tracing::error!(thread, place, said, trace, "a thread panicked");
}

#[cfg(test)]
mod tests;
