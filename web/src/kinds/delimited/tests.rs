//! Which texts are tables, and that a table has what was written.

use proptest::prelude::*;

use super::*;

#[test]
fn regular_lines_with_names_are_a_table() {
    let table = delimited("region,net,note\nEMEA,48.50,\"late, \"\"very\"\"\nlate\"\nAPAC,-3%,\n").unwrap();
    assert_eq!(table.columns, ["region", "net", "note"]);
    assert_eq!(table.rows[0][2].text, "late, \"very\"\nlate");
    let numbers: Vec<bool> = table.rows.iter().map(|row| row[1].is_number).collect();
    assert_eq!(numbers, [true, true]);
    assert_eq!(delimited("a\tb\r\n1\t2\r\n3\t4\r\n").unwrap().rows.len(), 2);
    assert_eq!(delimited("a;b\n1,5;2\n3;4").unwrap().columns, ["a", "b"]);
}

#[test]
fn what_is_not_regular_stays_text() {
    let wide = format!("{}\n", (0..=COLUMNS_MAX).map(|n| format!("c{n}")).collect::<Vec<_>>().join(","));
    for text in [
        "a,b\n1,2",
        "a,b\n1,2\n3",
        "a,b\n1,2\n3,4,5\n",
        "a,a\n1,2\n3,4\n",
        "a,\n1,2\n3,4\n",
        "a,b\n\"1,2\n3,4\n",
        "a,b\n\"1\"x,2\n3,4\n",
        "First, it reads\nThen, it writes\nLast, it tests\n",
        "4.0K\t./a\n8.0K\t./b\n12K\t.\n",
        "one\ntwo\nthree\n",
        "",
        &wide.repeat(3),
    ] {
        assert_eq!(delimited(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn a_table_has_every_field_as_it_was_written(
        rows in proptest::collection::vec(proptest::collection::vec("[a-z,\"\n ;é]{0,6}", 3), 2..6),
        mark in proptest::sample::select(&MARKS[..]),
    ) {
        let quoted = |field: &String| format!("\"{}\"", field.replace('"', "\"\""));
        let line = |row: &Vec<String>| row.iter().map(quoted).collect::<Vec<_>>().join(&mark.to_string());
        let text = rows.iter().map(line).collect::<Vec<_>>().join("\n");
        prop_assert_eq!(super::rows(&text, mark), Some(rows));
    }

    #[test]
    fn whatever_a_tool_prints_is_taken(text in "(\"|,|\t|;|\n|\r|a|é| ){0,60}") {
        let _some = delimited(&text);
    }
}
