//! What the fuzzer reached once is tried each time: the inputs in `tests/fuzz/corpus`, one in hex on each line.

use std::path::Path;

use dialects::DecodeOptions;

use crate::lawful::assert_lawful;
use crate::own::tested;
use crate::stream::decoded;

#[test]
fn i11_inputs_of_the_fuzzer_are_survived_however_they_are_cut() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/corpus");
    for dialect in tested() {
        let inputs = std::fs::read_to_string(folder.join(format!("{dialect}.txt"))).unwrap_or_default();
        assert!(!inputs.is_empty(), "{dialect} has no corpus: cargo xtask fuzz 60 {dialect}");
        for line in inputs.lines() {
            let input: Vec<u8> = line.as_bytes().chunks(2).map(byte).collect();
            let whole = decoded(dialect, DecodeOptions::default(), std::iter::once(input.as_slice()));
            let bytewise = decoded(dialect, DecodeOptions::default(), input.chunks(1));
            assert!(whole == bytewise, "{dialect}: {line} byte by byte");
            if dialect != "fanlight" {
                assert_lawful(&whole, false, line);
            }
        }
    }
}

fn byte(pair: &[u8]) -> u8 {
    u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()
}
