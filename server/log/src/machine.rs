//! The machine that this program runs on.

use std::sync::LazyLock;

use compact_str::CompactString;

/// The name that the machine calls itself, as `uname -n` prints it: of a container that of the container. `None` where it has none, or
/// one that is no text, and where the system is no Unix.
pub fn name() -> Option<&'static CompactString> {
    static NAME: LazyLock<Option<CompactString>> = LazyLock::new(read);
    NAME.as_ref()
}

#[cfg(unix)]
fn read() -> Option<CompactString> {
    let system = rustix::system::uname();
    let name = system.nodename().to_str().ok().filter(|name| !name.is_empty());
    name.map(CompactString::from)
}

#[cfg(not(unix))]
fn read() -> Option<CompactString> {
    None
}
