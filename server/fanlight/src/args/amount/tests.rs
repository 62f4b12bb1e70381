//! Tests of amounts.

use super::*;

#[test]
fn amounts_are_read_with_their_units() {
    let bytes = |text: &str| text.parse::<ByteSize>().map(|size| size.0);
    assert_eq!(bytes("0"), Ok(0));
    assert_eq!(bytes("10GB"), Ok(10_000_000_000));
    assert_eq!(bytes(" 16 MiB "), Ok(16 << 20));
    assert_eq!(bytes("2gib"), Ok(2 << 30));
    let ms = |text: &str| text.parse::<LengthOfTime>().map(|span| span.0.as_millis());
    assert_eq!(ms("3"), Ok(3_000));
    assert_eq!(ms("500ms"), Ok(500));
    assert_eq!(ms("15m"), Ok(900_000));
    assert_eq!(ms("30d"), Ok(30 * 86_400_000));
    for wrong in ["", "d", "-1s", "1.5h", "3 weeks", "10XB", "99999999999TB"] {
        assert!(bytes(wrong).is_err() && ms(wrong).is_err(), "{wrong}");
    }
    let error = "soon".parse::<LengthOfTime>().unwrap_err();
    assert!(error.contains("soon") && error.contains("30d"), "{error}");
}

#[test]
fn amounts_are_written_as_they_are_read() {
    for text in ["0", "1B", "10GB", "16MiB", "1GiB", "1500B"] {
        let size: ByteSize = text.parse().unwrap();
        assert_eq!(size.to_string(), text);
        assert_eq!(serde_json::from_str::<ByteSize>(&serde_json::to_string(&size).unwrap()).unwrap(), size);
    }
    for text in ["500ms", "3s", "15m", "12h", "30d"] {
        assert_eq!(text.parse::<LengthOfTime>().unwrap().to_string(), text);
    }
    assert_eq!(serde_json::from_str::<LengthOfTime>("5").unwrap(), LengthOfTime(Duration::from_secs(5)));
}
