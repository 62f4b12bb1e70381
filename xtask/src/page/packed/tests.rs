//! What the budget counts, and that what is packed is what was there.

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
    assert_eq!(unbrotli(&brotli(&plain).unwrap()).unwrap(), plain);
    assert_eq!(gunzip(&gzip(&plain).unwrap()).unwrap(), plain);
}

#[test]
fn what_was_kept_damaged_is_made_again() {
    let folder = std::env::temp_dir().join(format!("fanlight-packed-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let plain = "größer ".repeat(1_000).into_bytes();
    for (form, name) in [(BROTLI, "a.br"), (GZIP, "a.gz")] {
        let kept = folder.join(name);
        let whole = form.kept_or_made(&kept, &plain).unwrap();
        assert_eq!(fs::read(&kept).unwrap(), whole);
        // Cut by a full disk, empty, and what was packed of something else.
        let other = (form.pack)(b"other").unwrap();
        for damaged in [whole.split_at(whole.len() / 2).0, &[], &other] {
            fs::write(&kept, damaged).unwrap();
            assert_eq!(form.kept_or_made(&kept, &plain).unwrap(), whole);
            assert_eq!(fs::read(&kept).unwrap(), whole);
        }
    }
    let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "nothing else stays: {names:?}");
    fs::remove_dir_all(&folder).unwrap();
}
