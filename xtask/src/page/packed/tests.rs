//! What the budget counts, and that what is packed is what was there.

use std::io::Read as _;

use super::*;

fn size(path: &str, brotli: usize) -> PackedSize {
    PackedSize { path: path.to_owned(), plain: brotli, brotli, gzip: brotli }
}

#[test]
fn pages_over_their_budgets_are_refused_and_the_decoder_does_not_count() {
    let page = |wasm| [size("fanlight-0_bg.wasm", wasm), size("page-0.js", 1), size("index.html", 9)];
    assert!(weigh(&page(PAGE_BYTES_MAX - 1)).is_ok());
    let refused = weigh(&page(PAGE_BYTES_MAX)).unwrap_err().to_string();
    assert!(refused.contains("1 bytes over"), "{refused}");
    assert!(weigh(&[size("decoder-0_bg.wasm", PAGE_BYTES_MAX + 1)]).is_ok());
    let overview = |bytes| weigh(&[size("overview-0_bg.wasm", bytes), size("overview-0.js", 1)]);
    assert!(overview(OVERVIEW_BYTES_MAX - 1).is_ok());
    assert!(overview(OVERVIEW_BYTES_MAX).unwrap_err().to_string().contains("overview is 1 bytes over"));
}

#[test]
fn packed_files_hold_what_was_packed() {
    let plain = "größer ".repeat(1_000).into_bytes();
    let (mut from_brotli, mut from_gzip) = (Vec::new(), Vec::new());
    brotli::BrotliDecompress(&mut &*brotli(&plain).unwrap(), &mut from_brotli).unwrap();
    flate2::read::GzDecoder::new(&*gzip(&plain).unwrap()).read_to_end(&mut from_gzip).unwrap();
    assert_eq!((&from_brotli, &from_gzip), (&plain, &plain));
}
