//! Makes sure that the folder of the built page is there, so that the hub builds before the page does.

use std::io::Write as _;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist");
    std::fs::create_dir_all(&dist)?;
    writeln!(std::io::stdout(), "cargo::rerun-if-changed=../../dist")
}
