//! Tests of the bounds on names.

use super::*;

#[test]
fn a_long_id_is_shortened_and_stays_unique() {
    let a = "é".repeat(200);
    let b = format!("{a}x");
    let (short_a, short_b) = (PartId::new(&a), PartId::new(&b));
    assert!(short_a.as_str().len() <= ID_BYTES_MAX);
    assert_ne!(short_a, short_b);
    assert_eq!(short_a, PartId::new(&a));
}

#[test]
fn a_conversation_name_is_checked() {
    assert!(ConversationId::parse("team/alpha").is_err());
    assert_eq!(ConversationId::parse(""), Err(ConversationIdError::Empty));
    assert_eq!(ConversationId::parse(".."), Err(ConversationIdError::Forbidden('.')));
    assert_eq!(ConversationId::parse("a\nb"), Err(ConversationIdError::Forbidden('\n')));
    let long = "c".repeat(CONVERSATION_ID_BYTES_MAX + 1);
    assert_eq!(ConversationId::parse(&long), Err(ConversationIdError::TooLong(long.len())));
    assert_eq!(ConversationId::parse("demo: Zürich 7").unwrap().as_str(), "demo: Zürich 7");
}
