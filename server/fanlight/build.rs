//! Makes the folder of the built page if it does not exist, so that the hub can be built before the page.

use std::io::Write as _;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist");
    std::fs::create_dir_all(&dist)?;
    // A debug build reads the page when it runs, so a new page compiles nothing.
    let is_inside = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let watched = if is_inside { "../../dist" } else { "build.rs" };
    writeln!(std::io::stdout(), "cargo::rerun-if-changed={watched}")
}
