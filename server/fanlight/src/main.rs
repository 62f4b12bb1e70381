//! The binary `fanlight`: the library of the same name with the allocator and the files of the page.

use std::process::ExitCode;

mod page;

/// Thousands of viewers need many small, short-lived buffers on many threads, and an export needs megabytes
/// for a moment. This allocator is good at both, and returns freed memory to the system
/// (docs/decisions/0037).
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    fanlight::run(page::files())
}
