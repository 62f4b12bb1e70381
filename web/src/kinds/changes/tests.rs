//! A diff tells both texts.

use proptest::prelude::*;

use super::*;

/// The lines that are not of the kind `without`, without their marks.
fn side(lines: &[Line], without: Change) -> String {
    let kept = lines.iter().filter(|line| line.change != without);
    kept.map(|line| line.text.get(1..).unwrap()).collect::<Vec<_>>().join("\n")
}

#[test]
fn one_changed_line_is_removed_and_added_between_what_is_the_same() {
    let lines = changes("fn main() {\n    old();\n}\n", "fn main() {\n    new();\n    more();\n}\n");
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(texts, [" fn main() {", "-    old();", "+    new();", "+    more();", " }", " "]);
    assert_eq!(counts(&lines), (2, 1));
    let texts =
        |old: &str, new: &str| changes(old, new).into_iter().map(|line| line.text).collect::<Vec<_>>();
    assert_eq!(texts("", "a"), ["+a"], "an empty text has no line");
    assert_eq!(texts("a", ""), ["-a"]);
    assert!(texts("", "").is_empty());
}

#[test]
fn long_texts_without_a_line_in_common_are_replaced_whole() {
    let text = |word: &str| (0..1000).map(|n| format!("{word} {n}")).collect::<Vec<_>>().join("\n");
    let lines = changes(&text("old"), &text("new"));
    assert_eq!(counts(&lines), (1000, 1000));
    assert_eq!((side(&lines, Change::Added), side(&lines, Change::Removed)), (text("old"), text("new")));
}

#[test]
fn unchanged_lines_far_from_a_change_are_counted() {
    let old: Vec<String> = (0..40).map(|n| n.to_string()).collect();
    let mut new = old.clone();
    new[20] = "changed".to_owned();
    let lines = changes(&old.join("\n"), &new.join("\n"));
    let folded = folded(&lines);
    let texts: Vec<&str> = folded.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "⋯ 17 unchanged lines",
            " 17",
            " 18",
            " 19",
            "-20",
            "+changed",
            " 21",
            " 22",
            " 23",
            "⋯ 16 unchanged lines"
        ]
    );
}

proptest! {
    #[test]
    fn what_is_not_added_is_the_old_text_and_what_is_not_removed_the_new_one(
        old in proptest::collection::vec("[ab]{0,2}", 0..12),
        new in proptest::collection::vec("[ab]{0,2}", 0..12),
    ) {
        let (old, new) = (old.join("\n"), new.join("\n"));
        let lines = changes(&old, &new);
        prop_assert_eq!(side(&lines, Change::Added), old.as_str());
        prop_assert_eq!(side(&lines, Change::Removed), new.as_str());
        prop_assert_eq!(old == new, counts(&lines) == (0, 0));
        let folded = folded(&lines);
        prop_assert_eq!(counts(&folded), counts(&lines), "changes stay");
    }
}
