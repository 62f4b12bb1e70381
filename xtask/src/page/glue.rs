//! The script that wasm-bindgen writes and the names by which its program imports from it, made smaller before they travel.
//!
//! ```text
//! before  __wbg_close_5ee9c5fe4e8754a4     after  __wbg_close_0000000000000000
//! ```
//!
//! A number that is mostly zeros compresses to nothing, a hash does not; a page has hundreds of such names.

use std::collections::BTreeMap;

/// How the names begin that wasm-bindgen gives to what a program imports.
const IMPORT: &[u8] = b"__wbg_";

/// How many hexadecimal digits such a name ends with: a hash, which no compression makes smaller.
const HASH: usize = 16;

/// Numbers the imports of one name instead of their hashes, in the script and in the program. The names keep their length, so that
/// nothing else in the program moves.
pub(super) fn number_imports(script: &str, wasm: &[u8]) -> (String, Vec<u8>) {
    let mut counts = BTreeMap::<&[u8], usize>::new();
    let mut numbered = BTreeMap::new();
    for name in names(script.as_bytes()) {
        let Some((base, hash)) = name.len().checked_sub(HASH).and_then(|at| name.split_at_checked(at)) else {
            continue;
        };
        let is_hash =
            base.len() > IMPORT.len() && hash.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        if is_hash && !numbered.contains_key(name) {
            let count = counts.entry(base).or_default();
            numbered.insert(name, [base, format!("{count:016x}").as_bytes()].concat());
            *count = count.saturating_add(1);
        }
    }
    let script = renamed(script.as_bytes(), &numbered);
    (String::from_utf8_lossy(&script).into_owned(), renamed(wasm, &numbered))
}

/// Everything in `bytes` that begins as an import is named, in order.
fn names(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let at = rest.windows(IMPORT.len()).position(|window| window == IMPORT)?;
        let (_, from) = rest.split_at_checked(at)?;
        let end = from.iter().position(|byte| !is_of_name(*byte)).unwrap_or(from.len());
        let (name, behind) = from.split_at_checked(end)?;
        rest = behind;
        Some(name)
    })
}

/// Whether a byte belongs to a name.
fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// `bytes` with other names.
fn renamed(bytes: &[u8], others: &BTreeMap<&[u8], Vec<u8>>) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    for name in names(bytes) {
        let at = rest.windows(name.len()).position(|window| window == name).unwrap_or(0);
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, &[]));
        out.extend_from_slice(before);
        out.extend_from_slice(others.get(name).map_or(name, Vec::as_slice));
        rest = from.get(name.len()..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    out
}

/// The script without its comments and the spaces before its lines. One with a text of several lines stays as it is.
pub(super) fn without_comments(script: String) -> String {
    if script.lines().any(|line| line.matches('`').count() % 2 == 1) {
        return script;
    }
    let mut kept = Vec::new();
    let mut is_comment = false;
    for line in script.lines().map(str::trim) {
        is_comment |= line.starts_with("/**");
        if !is_comment && !line.is_empty() && !line.starts_with("//") {
            kept.push(line);
        }
        is_comment &= !line.ends_with("*/");
    }
    kept.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_numbered_in_the_script_and_in_the_program() {
        let script =
            "__wbg_close_5ee9c5fe4e8754a4: f, __wbg_close_bf94aa7e38b9a94b: g, __wbg_get_imports, __wbg_ptr";
        let wasm = b"\x1c__wbg_close_bf94aa7e38b9a94b\0__wbg_close_5ee9c5fe4e8754a4\0__wbg_free\0\xff";
        let (script, wasm) = number_imports(script, wasm);
        assert_eq!(
            script,
            "__wbg_close_0000000000000000: f, __wbg_close_0000000000000001: g, __wbg_get_imports, __wbg_ptr"
        );
        assert_eq!(wasm, b"\x1c__wbg_close_0000000000000001\0__wbg_close_0000000000000000\0__wbg_free\0\xff");
    }

    #[test]
    fn comments_go_and_texts_stay() {
        let script = "class A {\n    /**\n     * @returns {any}\n     */\n    b() {\n        // why\n        return '/** c */';\n    }\n}\n";
        assert_eq!(without_comments(script.to_owned()), "class A {\nb() {\nreturn '/** c */';\n}\n}\n");
        let text = "const a = `\n    // kept\n`;\n";
        assert_eq!(without_comments(text.to_owned()), text);
    }
}
