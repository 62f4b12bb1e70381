//! What the reader may do, as the hub tells it, and the words for what they may not. Without the browser.

use model::ConversationId;
use serde::Deserialize;

/// What a reader can do in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReaderAction {
    /// Write to an agent.
    Say,
    /// Stop a run of an agent.
    Stop,
    /// Consent to a call.
    Approve,
    /// Refuse to let a call be executed.
    Reject,
    /// Let a run go on that broke off.
    Retry,
    /// Change title, pin, archive, tags, note.
    Label,
    /// Copy the conversation up to a place, perhaps with another message.
    Fork,
    /// Save the conversation as a file.
    Export,
    /// Delete the conversation.
    Delete,
    /// Share a link to the conversation.
    Share,
}

impl ReaderAction {
    /// The word in the hub's answer.
    fn word(self) -> &'static str {
        match self {
            Self::Say => "say",
            Self::Stop => "stop",
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Retry => "retry",
            Self::Label => "label",
            Self::Fork => "fork",
            Self::Export => "export",
            Self::Delete => "delete",
            // Who may have it as a file may pass it on.
            Self::Share => "export",
        }
    }
}

/// The answer to `GET /v1/access`, as far as the page needs it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Access {
    /// Whether access control is on; without it everybody may do everything.
    on: bool,
    /// The caller's grants, as the settings write them.
    #[serde(default)]
    grants: Vec<String>,
    /// Beginnings of names under which the reader may begin conversations.
    #[serde(default)]
    begins: Vec<String>,
    /// What they may do in the conversation that was asked about.
    #[serde(default)]
    may: Vec<String>,
    /// Their role, which hides parts of conversations.
    #[serde(default)]
    role: Option<String>,
    /// The answer, for whoever is here by a link. What the link is, is read where it is drawn, since few readers need it.
    #[serde(skip)]
    about_link: Option<String>,
}

/// The path that asks the hub what the reader may do in `conversation`, or in none.
pub fn path(conversation: Option<&ConversationId>) -> String {
    let name = conversation.map(|id| format!("?conversation={}", crate::search::encoded(id.as_str())));
    format!("/v1/access{}", name.unwrap_or_default())
}

impl Access {
    /// Reads the answer of the hub; `None` for one that is not understood.
    pub fn read(answer: &str) -> Option<Self> {
        let access: Self = serde_json::from_str(answer).ok()?;
        // In a text of JSON the quotes would be escaped, and nothing else in the answer has fields of its own.
        let is_by_link = answer.contains(r#""link":{"#);
        Some(Self { about_link: is_by_link.then(|| answer.to_owned()), ..access })
    }

    /// Whether access control is off, so that the answer is the same for every conversation.
    pub fn is_open(&self) -> bool {
        !self.on
    }

    /// The answer of the hub, for whoever is here by a link; it has what the link is.
    pub fn answer_about_link(&self) -> Option<&str> {
        self.about_link.as_deref()
    }

    /// Whether the hub tells the reader of links to the conversation that was asked about. Without access control there are none.
    pub fn may_see_links(&self) -> bool {
        self.on && self.about_link.is_none()
    }

    /// Whether the reader may do that in the conversation that was asked about.
    pub fn may(&self, action: ReaderAction) -> bool {
        if action == ReaderAction::Share && !self.may_see_links() {
            return false;
        }
        !self.on || self.may.iter().any(|word| word == action.word())
    }

    /// Whether one of the grants has `right`, wherever that is.
    pub fn has_somewhere(&self, right: &str) -> bool {
        let has = |grant: &String| {
            let rights = grant.split(':').next().unwrap_or_default();
            rights.split(',').any(|word| word.trim() == right || word.trim() == "admin")
        };
        !self.on || self.grants.iter().any(has)
    }

    /// What the name of a new conversation must begin with; `None` if the reader may begin none.
    pub fn beginning(&self) -> Option<&str> {
        let any = self.begins.iter().find(|begin| begin.is_empty());
        if self.on { any.or_else(|| self.begins.first()).map(String::as_str) } else { Some("") }
    }

    /// Why the reader may not do that in the conversation that was asked about; `None` if they may.
    pub fn why_not(&self, action: ReaderAction) -> Option<&'static str> {
        if self.may(action) {
            return None;
        }
        // Everybody who may control may label; what is missing then is missing for another reason.
        let controls = self.may(ReaderAction::Label);
        Some(match action {
            _ if self.about_link.is_some() => "This was shared with you, read only.",
            ReaderAction::Approve if controls => {
                "Your role hides what calls are given, so you cannot approve them. You can reject them."
            }
            ReaderAction::Fork if controls && self.role.is_some() => {
                "Your role hides parts of conversations, so you cannot fork them."
            }
            ReaderAction::Fork if controls => {
                "Forking takes the grant “control” on every conversation, since the copy has a new name."
            }
            ReaderAction::Export => {
                "You may watch, not export: your token or link lacks the grant “export” for this conversation."
            }
            ReaderAction::Delete => "Only those who administer the hub may delete conversations.",
            _ => "You may only watch: your token or link lacks the grant “control” for this conversation.",
        })
    }
}

/// Why the reader may begin no conversation.
pub const NO_BEGINNING: &str = "You may only watch: your token or link lacks the grants “view” and “control” for the names of new conversations.";

#[cfg(test)]
mod tests {
    use super::*;

    fn access(answer: &str) -> Access {
        Access::read(answer).expect("an answer")
    }

    #[test]
    fn without_access_control_everything_is_offered() {
        let access = access(r#"{"on":false,"principal":"everyone","grants":["admin:*"],"begins":[""]}"#);
        assert!(access.is_open() && access.may(ReaderAction::Delete) && access.has_somewhere("control"));
        assert_eq!((access.beginning(), access.why_not(ReaderAction::Say)), (Some(""), None));
    }

    #[test]
    fn who_may_watch_is_told_which_grant_is_missing() {
        let access = access(r#"{"on":true,"principal":"v","grants":["view:*"],"begins":[],"may":[]}"#);
        assert!(
            !access.may(ReaderAction::Say)
                && !access.has_somewhere("control")
                && access.has_somewhere("view")
        );
        assert_eq!(access.beginning(), None);
        for action in [
            ReaderAction::Say,
            ReaderAction::Stop,
            ReaderAction::Approve,
            ReaderAction::Reject,
            ReaderAction::Retry,
            ReaderAction::Label,
            ReaderAction::Fork,
        ] {
            assert!(access.why_not(action).unwrap().contains("“control”"), "{action:?}");
        }
        assert!(access.why_not(ReaderAction::Export).unwrap().contains("“export”"));
        assert!(access.why_not(ReaderAction::Delete).unwrap().contains("administer"));
    }

    #[test]
    fn who_controls_is_told_what_else_is_in_the_way() {
        let say = r#"["say","stop","reject","retry","label"]"#;
        let role = access(&format!(
            r#"{{"on":true,"role":"g","grants":["view,control"],"begins":["t-"],"may":{say}}}"#
        ));
        assert!(role.why_not(ReaderAction::Approve).unwrap().contains("reject"));
        assert!(role.why_not(ReaderAction::Fork).unwrap().contains("role"));
        assert_eq!((role.why_not(ReaderAction::Say), role.beginning()), (None, Some("t-")));
        let narrow = access(&format!(r#"{{"on":true,"grants":["view,control:a"],"may":{say}}}"#));
        assert!(narrow.why_not(ReaderAction::Fork).unwrap().contains("every conversation"));
    }

    #[test]
    fn whoever_came_by_a_link_reads_that_it_is_to_read_and_shares_nothing() {
        let link = r#""link":{"by":"ann","created":1,"expires":2,"frozen":true,"one_turn":false}"#;
        let guest =
            access(&format!(r#"{{"on":true,"grants":["view:c"],"begins":[],"may":["export"],{link}}}"#));
        assert!(!guest.may(ReaderAction::Share) && !guest.may_see_links());
        assert_eq!(guest.why_not(ReaderAction::Say), Some("This was shared with you, read only."));
        let ann = access(r#"{"on":true,"grants":["view,export:c"],"begins":[],"may":["export"]}"#);
        assert!(ann.may(ReaderAction::Share) && ann.may_see_links());
        let open = access(r#"{"on":false,"principal":"everyone","grants":["admin:*"],"begins":[""]}"#);
        assert!(!open.may(ReaderAction::Share), "nobody needs a link where everybody sees everything");
    }

    #[test]
    fn any_name_is_taken_before_one_with_a_beginning() {
        let access = access(r#"{"on":true,"grants":[],"begins":["a-",""]}"#);
        assert_eq!(access.beginning(), Some(""));
    }

    #[test]
    fn an_answer_that_is_none_is_not_understood() {
        assert_eq!(Access::read("<html>"), None);
    }

    #[test]
    fn the_name_is_written_into_the_path_as_paths_are() {
        let name = ConversationId::parse("a b&c").unwrap();
        assert_eq!(path(Some(&name)), "/v1/access?conversation=a%20b%26c");
        assert_eq!(path(None), "/v1/access");
    }
}
