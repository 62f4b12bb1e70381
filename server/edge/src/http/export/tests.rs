//! Tests of the names of files.

use super::*;

#[test]
fn names_of_files_are_plain_for_old_readers_and_exact_for_others() {
    assert_eq!(disposition("c-1.md"), "attachment; filename=\"c-1.md\"; filename*=UTF-8''c-1.md");
    assert_eq!(
        disposition("a \"ü\".md"),
        "attachment; filename=\"a____.md\"; filename*=UTF-8''a%20%22%C3%BC%22.md"
    );
    assert_eq!(disposition(".rc.md"), "attachment; filename=\"_.rc.md\"; filename*=UTF-8''.rc.md");
}
