//! Which conversation an address names, and the address of a conversation.

use shared::ConversationId;

/// The conversation that the path names: `/c/{conversation}`.
pub fn conversation_of(path: &str) -> Option<ConversationId> {
    let name = path.strip_prefix("/c/")?;
    ConversationId::parse(&decoded(name.trim_end_matches('/'))?).ok()
}

/// The path of a conversation.
pub fn path_of(conversation: &ConversationId) -> String {
    let mut path = String::from("/c/");
    for byte in conversation.as_str().bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:@!$&'()*+,;=".contains(&byte) {
            path.push(char::from(byte));
        } else {
            path.extend(["%", &format!("{byte:02X}")]);
        }
    }
    path
}

/// Where the hub has the whole of a result.
pub fn result_path(conversation: &ConversationId, hash: &str) -> String {
    let name = path_of(conversation);
    let hash: String = hash.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("/v1/conversations/{}/results/{hash}", name.trim_start_matches("/c/"))
}

/// Whether the query asks for the conversation alone.
pub fn is_bare(query: &str) -> bool {
    query.trim_start_matches('?').split('&').any(|pair| pair == "view=bare")
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit =
            || rest.next().and_then(|c| char::from(c).to_digit(16)).and_then(|d| u8::try_from(d).ok());
        bytes.push(digit()?.checked_mul(16)?.checked_add(digit()?)?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    //! Tests of addresses.

    use super::*;

    #[test]
    fn a_path_names_a_conversation_and_back() {
        for name in ["demo", "a b", "größe/%".replace('/', "-").as_str(), "漢字 🙂", "x?y#z", "100%"] {
            let id = ConversationId::parse(name).unwrap();
            let path = path_of(&id);
            assert!(path.is_ascii() && !path.contains(['?', '#', ' ']), "{path}");
            let result = result_path(&id, "7e0e/..");
            let name = path.strip_prefix("/c/").unwrap();
            assert_eq!(result, format!("/v1/conversations/{name}/results/7e0e"));
            assert_eq!(conversation_of(&path), Some(id), "{path}");
        }
        for path in ["/", "/c/", "/c/%", "/c/%zz", "/c/%ff", "/d/x", "/c/a%2Fb"] {
            assert_eq!(conversation_of(path), None, "{path}");
        }
        assert!(is_bare("?a=b&view=bare") && !is_bare("?view=full"));
    }
}
