//! Links to a conversation: what the page says of them, and what it asks the hub for. Without the browser.

use model::{ConversationId, MessageId};
use serde::{Deserialize, Serialize};

/// A link, as the hub tells it to those who may see the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SharedLink {
    /// The short name of the link.
    pub id: String,
    /// Who made it; `None` where the reader's role hides that.
    pub by: Option<String>,
    /// Whom it is for; `None` where nobody said, or where the reader's role hides that.
    #[serde(rename = "for")]
    pub audience: Option<String>,
    /// The role with which it shows the conversation; `None` if it hides nothing.
    pub role: Option<String>,
    /// When it was made, in milliseconds since 1970.
    pub created: u64,
    /// When the link ends, in milliseconds since 1970.
    pub expires: u64,
    /// How often it may still be opened; `None` for no limit.
    pub views_left: Option<u32>,
    /// What it shows if it is frozen.
    pub frozen: Option<FrozenLink>,
    /// The message that begins the one turn that a live link shows.
    pub turn: Option<String>,
    /// Whether the reader may take it back.
    #[serde(default)]
    pub revocable: bool,
}

/// What a frozen link shows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FrozenLink {
    /// The message that begins the one turn that it shows.
    pub turn: Option<String>,
}

/// The link by which the reader is here, as `GET /v1/access` tells it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ReaderLink {
    /// Who made it; `None` where the role hides that.
    pub by: Option<String>,
    /// Whom it is for; `None` where nobody said, or where the role hides that.
    #[serde(rename = "for")]
    pub audience: Option<String>,
    /// When it was made, in milliseconds since 1970.
    pub created: u64,
    /// When the link ends, in milliseconds since 1970.
    pub expires: u64,
    /// Whether it shows the conversation as it was when the link was made.
    #[serde(default)]
    pub frozen: bool,
    /// Whether it shows one turn.
    #[serde(default)]
    pub one_turn: bool,
}

/// What a new link shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// The conversation as it goes on.
    Live,
    /// The conversation as it is now.
    Frozen,
    /// One turn, as it is now.
    Turn,
    /// One turn, as it goes on.
    LiveTurn,
}

/// The body of a request for a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LinkRequest {
    /// The conversation that it opens.
    pub conversation: ConversationId,
    /// Whom it is for; `None` where nobody says.
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
    /// The role with which it shows the conversation; `None` for that of whoever makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The time for which the link lives, in seconds.
    pub expires_s: u64,
    /// How often it may be opened; `None` for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub views: Option<u32>,
    /// Whether it shows the conversation as it is now.
    pub frozen: bool,
    /// The message that begins the one turn that it shows; `None` for all turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<MessageId>,
}

/// Lifetimes of a new link: in seconds, and in words.
pub const LIVES: [(u64, &str); 4] =
    [(3_600, "1 hour"), (86_400, "1 day"), (7 * 86_400, "7 days"), (30 * 86_400, "30 days")];

/// How often a new link may be opened, 0 for no limit, and the words.
pub const VIEWS: [(u32, &str); 4] = [(0, "No limit"), (1, "1 view"), (10, "10 views"), (100, "100 views")];

/// The answer to a request for a link.
#[derive(Debug, Deserialize)]
struct NewLink {
    /// The path with its secret, which is told once.
    url: String,
}

/// The roles in the answer to `GET /v1/access`.
#[derive(Debug, Deserialize)]
struct Roles {
    #[serde(default)]
    roles: Vec<String>,
}

/// The answer with the links of a conversation.
#[derive(Debug, Deserialize)]
struct Links {
    shares: Vec<SharedLink>,
}

/// The path that asks the hub for the links to `conversation`.
pub fn path(conversation: &ConversationId) -> String {
    format!("/v1/shares?conversation={}", crate::search::encoded(conversation.as_str()))
}

/// Reads the links that the hub tells; none of an answer that is not understood.
pub fn read(answer: &str) -> Vec<SharedLink> {
    serde_json::from_str::<Links>(answer).map(|links| links.shares).unwrap_or_default()
}

/// The roles with which the reader may share, in the answer to `GET /v1/access`; none where there is no choice.
pub fn roles(answer: &str) -> Vec<String> {
    serde_json::from_str::<Roles>(answer).map(|told| told.roles).unwrap_or_default()
}

/// The path of the link that the hub has made; it has the secret. Fails with a sentence for the reader if the answer is not understood.
pub fn made(answer: &str) -> Result<String, String> {
    let link = serde_json::from_str::<NewLink>(answer);
    link.map(|link| link.url).map_err(|_odd| "The hub's answer could not be read.".to_owned())
}

impl LinkRequest {
    /// A request for a link to `conversation` with the defaults of the form: live, a day, no limit of views, for nobody in particular.
    pub fn live(conversation: ConversationId) -> Self {
        let (audience, role, views, turn) = (None, None, None, None);
        Self { conversation, audience, role, expires_s: 86_400, views, frozen: false, turn }
    }

    /// The request as the hub reads it.
    pub fn json(&self) -> String {
        // Texts and numbers can always be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl SharedLink {
    /// Whom it is for, in a line.
    pub fn whom(&self) -> String {
        self.audience.clone().unwrap_or_else(|| "Anyone with the link".to_owned())
    }

    /// What it shows, who made it, until when and how often. `time` writes a time for the reader.
    pub fn words(&self, time: impl Fn(u64) -> String) -> String {
        let shows = match &self.frozen {
            None if self.turn.is_some() => "One turn, live until its run ends".to_owned(),
            None => "Live".to_owned(),
            Some(FrozenLink { turn: None }) => format!("Frozen as of {}", time(self.created)),
            Some(FrozenLink { turn: Some(_) }) => format!("One turn, frozen as of {}", time(self.created)),
        };
        let role = self.role.as_ref().map(|role| format!("role {role}"));
        let by = self.by.as_ref().map(|by| format!("by {by}"));
        let left = self.views_left.map(|left| match left {
            0 => "no views left".to_owned(),
            1 => "1 view left".to_owned(),
            left => format!("{left} views left"),
        });
        let until = Some(format!("until {}", time(self.expires)));
        [Some(shows), role, by, until, left].into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }
}

/// The part of the answer to `GET /v1/access` that is about a link.
#[derive(Debug, Deserialize)]
struct AccessByLink {
    link: ReaderLink,
}

/// How many links an answer with links has, without reading them.
pub fn count(answer: &str) -> usize {
    answer.matches("\"revocable\":").count()
}

impl ReaderLink {
    /// Reads the link in the answer to `GET /v1/access`; `None` if there is none.
    pub fn read(answer: &str) -> Option<Self> {
        serde_json::from_str::<AccessByLink>(answer).ok().map(|answer| answer.link)
    }

    /// By whom and for whom it was shared, what it shows and until when. `time` writes a time for the reader.
    pub fn words(&self, time: impl Fn(u64) -> String) -> String {
        let by = self.by.as_ref().map_or_else(|| "Shared".to_owned(), |by| format!("Shared by {by}"));
        let whom = self.audience.as_ref().map(|whom| format!("{by} for {whom}"));
        let shows = match (self.frozen, self.one_turn) {
            (false, false) => "live".to_owned(),
            (false, true) => "one turn, live until its run ends".to_owned(),
            (true, false) => format!("frozen as of {}", time(self.created)),
            (true, true) => format!("one turn, frozen as of {}", time(self.created)),
        };
        let until = format!("until {}", time(self.expires));
        [whom.unwrap_or(by), shows, until, "read only".to_owned()].join(" · ")
    }
}

/// What the top bar says of so many links.
pub fn pill(links: usize) -> String {
    let ending = if links == 1 { "" } else { "s" };
    format!("Shared: {links} link{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(ms: u64) -> String {
        format!("t{ms}")
    }

    fn link(rest: &str) -> SharedLink {
        let links =
            read(&format!(r#"{{"shares":[{{"id":"k","conversation":"c","created":1,"expires":9{rest}}}]}}"#));
        links.into_iter().next().unwrap()
    }

    #[test]
    fn a_link_says_whom_it_is_for_what_it_shows_and_until_when() {
        let live = link(r#","by":"ann","for":"Bob","views_left":1,"revocable":true"#);
        assert_eq!(live.whom(), "Bob");
        assert_eq!(live.words(time), "Live · by ann · until t9 · 1 view left");
        let frozen = link(r#","frozen":{"seq":5}"#);
        assert_eq!(frozen.whom(), "Anyone with the link");
        assert_eq!(frozen.words(time), "Frozen as of t1 · until t9");
        let turn = link(r#","role":"guest","frozen":{"seq":5,"turn":"m"},"views_left":3"#);
        assert_eq!(turn.words(time), "One turn, frozen as of t1 · role guest · until t9 · 3 views left");
        let turn = link(r#","turn":"m""#);
        assert_eq!(turn.words(time), "One turn, live until its run ends · until t9");
        assert_eq!((pill(1), pill(2)), ("Shared: 1 link".to_owned(), "Shared: 2 links".to_owned()));
        assert_eq!(count(r#"{"shares":[{"id":"k","revocable":true},{"id":"l","revocable":false}]}"#), 2);
        assert_eq!(read("<html>"), Vec::new());
        assert_eq!(made(r#"{"id":"k","url":"/s/x","conversation":"c","expires":9}"#), Ok("/s/x".to_owned()));
        assert!(made("<html>").is_err());
    }

    #[test]
    fn whoever_follows_a_link_reads_by_whom_and_how_long() {
        let told = |link: &str| {
            let answer =
                format!(r#"{{"on":true,"principal":"link k","grants":[],"begins":[],"link":{link}}}"#);
            ReaderLink::read(&answer).unwrap().words(time)
        };
        let live =
            told(r#"{"by":"ann","for":"Bob","created":1,"expires":9,"frozen":false,"one_turn":false}"#);
        assert_eq!(live, "Shared by ann for Bob · live · until t9 · read only");
        let turn = told(r#"{"by":"ann","created":1,"expires":9,"frozen":false,"one_turn":true}"#);
        assert_eq!(turn, "Shared by ann · one turn, live until its run ends · until t9 · read only");
        let hidden = told(r#"{"created":1,"expires":9,"frozen":true,"one_turn":true}"#);
        assert_eq!(hidden, "Shared · one turn, frozen as of t1 · until t9 · read only");
    }

    #[test]
    fn a_request_says_what_was_chosen_and_no_more() {
        let live = LinkRequest::live(ConversationId::parse("c").unwrap());
        assert_eq!(live.json(), r#"{"conversation":"c","expires_s":86400,"frozen":false}"#);
        let turn = LinkRequest {
            audience: Some("Bob".to_owned()),
            role: Some("guest".to_owned()),
            expires_s: 60,
            views: Some(1),
            frozen: true,
            turn: Some(MessageId::new("m")),
            ..live
        };
        let want = r#"{"conversation":"c","for":"Bob","role":"guest","expires_s":60,"views":1,"frozen":true,"turn":"m"}"#;
        assert_eq!(turn.json(), want);
    }

    #[test]
    fn roles_are_told_where_there_is_a_choice() {
        assert_eq!(roles(r#"{"on":true,"roles":["guest","support"]}"#), ["guest", "support"]);
        assert_eq!((roles(r#"{"on":true}"#), roles("<html>")), (Vec::new(), Vec::new()));
    }
}
