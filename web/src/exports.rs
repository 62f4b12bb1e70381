//! The forms in which a conversation can be exported.

use model::{ConversationId, MessageId};

use crate::{route, search};

/// A form in which a conversation can be exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Export {
    /// The name in addresses.
    pub name: &'static str,
    /// The title in the dialog.
    pub title: &'static str,
    /// The purpose, in a few words.
    pub hint: &'static str,
}

/// All forms, in the order of the dialog.
pub const EXPORTS: [Export; 5] = [
    Export { name: "md", title: "Markdown", hint: "to read and to paste" },
    Export { name: "html", title: "HTML", hint: "one file that looks like this page" },
    Export { name: "native", title: "Fanlight", hint: "every event; import it into any hub" },
    Export { name: "openai", title: "OpenAI messages", hint: "to continue the conversation" },
    Export { name: "anthropic", title: "Anthropic messages", hint: "to continue the conversation" },
];

/// The hub's path of the conversation exported as `export`.
pub fn path(conversation: &ConversationId, export: Export) -> String {
    let name = route::path_of(conversation);
    format!("/v1/conversations/{}/export/{}", name.trim_start_matches("/c/"), export.name)
}

/// The hub's path of the turn that begins with `message`, as Markdown.
pub fn turn_path(conversation: &ConversationId, message: &MessageId) -> String {
    let [markdown, ..] = EXPORTS;
    format!("{}?message={}", path(conversation, markdown), search::encoded(message.as_str()))
}

#[cfg(test)]
mod tests {
    //! The forms are those that the hub has.

    use super::*;

    #[test]
    fn every_form_is_one_of_the_hubs() {
        for export in EXPORTS {
            let is_known = export.name == "native" || encode::document::export::format(export.name).is_some();
            assert!(is_known, "{}", export.name);
        }
        let conversation = ConversationId::parse("a b").unwrap();
        assert_eq!(path(&conversation, EXPORTS[0]), "/v1/conversations/a%20b/export/md");
        let turn = turn_path(&conversation, &MessageId::new("m&1"));
        assert_eq!(turn, "/v1/conversations/a%20b/export/md?message=m%261");
    }
}
