//! Tests of what is read from heads.

use super::*;

#[test]
fn names_of_conversations_fit_into_headers() {
    for name in ["plain", "with space", "für", "50 % 漢字"] {
        let conversation = ConversationId::parse(name).unwrap();
        let header = escaped(&conversation);
        assert!(HeaderValue::from_str(&header).is_ok(), "{header}");
        assert_eq!(target::conversation(&header).unwrap(), conversation);
    }
}
