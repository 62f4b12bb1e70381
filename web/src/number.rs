//! Formats fractions in little code: the formatting of the standard library and the panic of `f64::clamp`
//! would add 17 KB to the page.

/// The scale of the digits after the point.
const PARTS: u64 = 10_000;

/// `value` for a style, with at most four digits after the point; `0` for NaN.
pub fn decimal(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "a length or a time")]
    let parts = (value * PARTS as f64).round() as i64;
    let sign = if parts < 0 { "-" } else { "" };
    let (whole, rest) = (parts.unsigned_abs() / PARTS, parts.unsigned_abs() % PARTS);
    let text = format!("{sign}{whole}.{rest:04}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `value`, at least `least` and at most `most`; `most` takes precedence.
pub fn within(value: f64, least: f64, most: f64) -> f64 {
    value.max(least).min(most)
}

#[cfg(test)]
mod tests {
    use super::{decimal, within};

    #[test]
    fn a_number_is_written_as_styles_read_it() {
        let cases = [
            (0.0, "0"),
            (26.0, "26"),
            (-0.00004, "0"),
            (0.00006, "0.0001"),
            (-12.5, "-12.5"),
            (99.999_96, "100"),
            (1_795_300_000_123.25, "1795300000123.25"),
            (f64::NAN, "0"),
        ];
        for (value, text) in cases {
            assert_eq!(decimal(value), text);
        }
    }

    #[test]
    fn a_range_that_is_none_breaks_nothing() {
        assert_eq!((within(5.0, 0.0, 3.0), within(-1.0, 0.0, 3.0), within(1.0, 0.0, -2.0)), (3.0, 0.0, -2.0));
    }
}
