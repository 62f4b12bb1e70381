//! The page, which is part of this binary: `dist/`, as `cargo xtask build` has made it. A debug build reads the files from there instead.

use edge::PageFiles;
use rust_embed::RustEmbed;

/// The files of the built page.
#[derive(RustEmbed)]
#[folder = "../../dist"]
struct Dist;

/// The files, for the hub to serve.
pub(crate) fn files() -> PageFiles {
    PageFiles::of::<Dist>()
}
