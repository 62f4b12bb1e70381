//! Reading the lock file.

use super::locked_version;

const LOCK: &str = r#"
[[package]]
name = "wasm-bindgen"
version = "0.2.130"
dependencies = [
 "wasm-bindgen-macro",
]

[[package]]
name = "wasm-bindgen-macro"
version = "0.2.131"
"#;

#[test]
fn locked_version_is_that_of_the_package_with_exactly_this_name() {
    assert_eq!(locked_version(LOCK, "wasm-bindgen"), Some("0.2.130"));
    assert_eq!(locked_version(LOCK, "wasm-bindgen-macro"), Some("0.2.131"));
    assert_eq!(locked_version(LOCK, "wasm"), None);
}
