//! Makes the folder of the built page if it does not exist, so that the hub can be built before the page.

use std::io::Write as _;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist");
    std::fs::create_dir_all(&dist)?;
    writeln!(std::io::stdout(), "cargo::rerun-if-changed=../../dist")
}
