//! Folders of versions of PostgreSQL, by number.

use super::newest;

#[test]
fn newest_version_is_taken_by_number_and_none_that_is_too_old() {
    let of = |names: &[&str]| newest(names.iter().map(|name| (*name).to_owned()));
    assert_eq!(of(&["15", "9", "16"]), Some(16));
    assert_eq!(of(&["14", "13"]), None);
    assert_eq!(of(&["common", "15.old"]), None);
    assert_eq!(of(&[]), None);
}
