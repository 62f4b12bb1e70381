//! Times in the spellings that streams have.

use proptest::prelude::*;

use super::ForeignField;

fn time(json: &str) -> Option<u64> {
    ForeignField::parse(json).unwrap().time()
}

#[test]
fn times_are_read_in_each_spelling() {
    assert_eq!(time(r#""1970-01-01T00:00:00Z""#), Some(0));
    assert_eq!(time(r#""2000-02-29T12:30:15.5Z""#), Some(951_827_415_500));
    assert_eq!(time(r#""2000-03-01t00:00:00z""#), Some(951_868_800_000));
    assert_eq!(time(r#""2026-08-04T19:58:15.115854Z""#), Some(1_785_873_495_115));
    assert_eq!(time(r#""2026-08-04 21:58:15.115+02:00""#), Some(1_785_873_495_115));
    assert_eq!(time(r#""2026-08-04T14:28:15.115-0530""#), Some(1_785_873_495_115));
    assert_eq!(time(r#""2026-08-04T19:58""#), Some(1_785_873_480_000));
    assert_eq!(time("1785873495"), Some(1_785_873_495_000));
    assert_eq!(time("1785873495.25"), Some(1_785_873_495_250));
    assert_eq!(time("1785873495115"), Some(1_785_873_495_115));
}

#[test]
fn what_is_no_time_is_none() {
    for json in [
        "null",
        "{}",
        "-5",
        r#""""#,
        r#""soon""#,
        r#""1969-12-31T23:59:59Z""#,
        r#""2026-13-01T00:00:00Z""#,
        r#""2026-08-04T25:00:00Z""#,
        r#""2026-08-04T10:00:00.xZ""#,
        r#""1970-01-01T00:00:00+05:00""#,
        r#""éééééééééé""#,
    ] {
        assert_eq!(time(json), None, "{json}");
    }
}

proptest! {
    /// A small `z` is read the long way.
    #[test]
    fn the_usual_spelling_is_read_as_any_other(text in "[12][09][0267][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\\.[0-9]{0,7})?") {
        prop_assert_eq!(time(&format!("\"{text}Z\"")), time(&format!("\"{text}z\"")));
    }
}
