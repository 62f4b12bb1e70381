//! The only place that prints: whole lines, flushed, so that progress shows even through a pipe.

use std::fmt::Display;
use std::io::Write;
use std::time::Duration;

/// One line on stdout. Printing never fails: an output that is closed is ignored.
pub(crate) fn say(line: impl Display) {
    let mut out = std::io::stdout().lock();
    // Nobody listens any more: there is nothing left to tell, and the exit code still says how it went.
    let _gone = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// One line on stderr, for what made a command fail.
pub(crate) fn complain(line: impl Display) {
    let _gone = writeln!(std::io::stderr().lock(), "{line}");
}

/// Bytes of a child, passed on as they are.
pub(crate) fn pass_on(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _gone = out.write_all(bytes).and_then(|()| out.flush());
}

/// A duration as people read it: `0.4 s`, `2 min 05 s`.
pub(crate) fn human(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    if seconds < 60 {
        format!("{:.1} s", elapsed.as_secs_f64())
    } else {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}

/// A file size as people read it.
pub(crate) fn human_bytes(bytes: usize) -> String {
    format!("{} KiB", bytes.div_ceil(1024))
}
