//! Addresses: the conversation and the view that an address names, and the paths of the hub's API.
//!
//! ```text
//! /                          the newest conversation, as soon as there is one
//! /c/{conversation}?…        a conversation; its id is percent-encoded
//! /new                       a new conversation
//! /wall                      all conversations as tiles
//! ?view=bare                 the conversation alone
//! ?q=state:running           the filter of the list or the wall
//! ?level=All&find=word&pattern=1&timeline=168&compare=id      how it is looked at
//! &run=r&tool=t | &run=r&part=p | &message=m | &moment=ms     a place or moment in it
//! ```
//!
//! What the addresses of the operator's pages say beside their paths is in [`crate::overview::address`].

use model::{ConversationId, MessageId, PartId, Position, RunId, ToolCallId};

use crate::find::Place;
use crate::open::Level;
use crate::search;
use crate::timeline::Drawer;

/// The path of the table of runs.
pub const RUNS: &str = "/runs";

/// The path of the dashboard.
pub const DASHBOARD: &str = "/dashboard";

/// The path of the search in all conversations.
pub const SEARCH: &str = "/search";

/// The address of a search for what is typed: `/search?q=…`.
pub fn search_address(typed: &str) -> String {
    let typed = typed.trim();
    if typed.is_empty() { SEARCH.to_owned() } else { format!("{SEARCH}?q={}", search::encoded(typed)) }
}

/// What an address says besides the conversation: `?q=state:error&level=All&run=r&tool=t&find=word`. A value that is unset
/// leaves the page as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Looks {
    /// The filter of the list and the wall, as on the table of runs; never empty.
    pub filter: Option<String>,
    /// The level of detail of each turn.
    pub level: Option<Level>,
    /// The item to which the page scrolls. Of several in one address, a call comes before a part, that before
    /// a message.
    pub place: Option<Place>,
    /// The query of Find; never empty.
    pub find: Option<String>,
    /// Whether the query is a regular expression.
    pub is_pattern: bool,
    /// The height of the timeline.
    pub timeline: Option<Drawer>,
    /// The conversation that is shown beside it.
    pub compare: Option<ConversationId>,
    /// The moment of a replay, by the hub's clock, in milliseconds since 1970.
    pub moment: Option<u64>,
}

impl Looks {
    /// Parses the query of an address. What cannot be read is ignored.
    pub fn parse(query: &str) -> Self {
        let value = |name: &str| {
            let pairs = query.trim_start_matches('?').split('&').filter_map(|pair| pair.split_once('='));
            pairs.rev().find(|(key, _)| *key == name).and_then(|(_, value)| decoded(value))
        };
        let run = || value("run").map(|run| RunId::new(&run));
        let tool = || Some(Place::Tool(run()?, ToolCallId::new(&value("tool")?)));
        let part = || Some(Place::Part(run()?, PartId::new(&value("part")?)));
        let message = || Some(Place::Message(MessageId::new(&value("message")?)));
        Self {
            filter: value("q").filter(|text| !text.trim().is_empty()),
            level: value("level").and_then(|word| Level::parse(&word)),
            place: tool().or_else(part).or_else(message),
            find: value("find").filter(|word| !word.is_empty()),
            is_pattern: value("pattern").is_some(),
            timeline: value("timeline").and_then(|word| Drawer::parse(&word)),
            compare: value("compare").and_then(|name| ConversationId::parse(&name).ok()),
            moment: value("moment").and_then(|at| at.parse().ok()),
        }
    }

    /// The place of a hit that the hub found, with the query `find`, which the page then searches again.
    pub fn at(hit: &search::Hit, find: &str) -> Self {
        let run = || hit.run.as_deref().map(RunId::new);
        let place = match hit.kind.as_str() {
            "message" => Some(Place::Message(MessageId::new(&hit.item))),
            "arguments" | "result" => run().map(|run| Place::Tool(run, ToolCallId::new(&hit.item))),
            _ => run().map(|run| Place::Part(run, PartId::new(&hit.item))),
        };
        let find = Some(find.trim().to_owned()).filter(|word| !word.is_empty());
        Self { place, find, ..Self::default() }
    }

    /// The query of an address with these values; empty if all are unset.
    pub fn query(&self) -> String {
        let mut pairs = Vec::new();
        let mut say = |name: &str, value: &str| pairs.push(format!("{name}={}", search::encoded(value)));
        if let Some(filter) = &self.filter {
            say("q", filter);
        }
        if let Some(level) = self.level {
            say("level", level.word());
        }
        match &self.place {
            Some(Place::Message(message)) => say("message", message.as_str()),
            Some(Place::Part(run, part)) => {
                say("run", run.as_str());
                say("part", part.as_str());
            }
            Some(Place::Tool(run, tool)) => {
                say("run", run.as_str());
                say("tool", tool.as_str());
            }
            None => {}
        }
        if let Some(find) = &self.find {
            say("find", find);
            if self.is_pattern {
                say("pattern", "1");
            }
        }
        if let Some(drawer) = self.timeline {
            say("timeline", drawer.word());
        }
        if let Some(other) = &self.compare {
            say("compare", other.as_str());
        }
        if let Some(at) = self.moment {
            pairs.push(format!("moment={at}"));
        }
        if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
    }
}

/// The address of a conversation with a view of it.
pub fn link(conversation: &ConversationId, looks: &Looks) -> String {
    path_of(conversation) + &looks.query()
}

/// The parameters that follow the view while the reader changes it.
pub const KEPT: [&str; 5] = ["q", "level", "find", "pattern", "timeline"];

/// The parameters that name a place in the conversation; they are removed once the place is shown.
pub const PLACE: [&str; 5] = ["run", "tool", "part", "message", "moment"];

/// `query` with the parameters `names` replaced by those of `looks`. All others stay.
pub fn with_looks(query: &str, names: &[&str], looks: &Looks) -> String {
    let own = looks.query();
    let is_other = |pair: &&str| !names.contains(&pair.split_once('=').map_or(*pair, |(name, _)| name));
    let others = query.trim_start_matches('?').split('&').filter(is_other);
    let pairs = others.chain(own.trim_start_matches('?').split('&'));
    let pairs: Vec<&str> = pairs.filter(|pair| !pair.is_empty()).collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

/// The path of the wall.
pub const WALL: &str = "/wall";

/// Whether the path is that of the wall.
pub fn is_wall(path: &str) -> bool {
    path.trim_end_matches('/') == WALL
}

/// The path of a new conversation.
pub const NEW: &str = "/new";

/// Whether the path is that of a new conversation.
pub fn is_new(path: &str) -> bool {
    path.trim_end_matches('/') == NEW
}

/// The conversation in a path of the form `/c/{conversation}`; `None` if it is not a valid one. What
/// [`path_of`] wrote is read as the same conversation.
pub fn conversation_of(path: &str) -> Option<ConversationId> {
    let name = path.strip_prefix("/c/")?;
    ConversationId::parse(&decoded(name.trim_end_matches('/'))?).ok()
}

/// The path of a conversation: `/c/` and its id, in which all bytes are encoded that a path may not contain.
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

/// The hub's path of a whole result. `hash` comes from the event that refers to the result. Since a stream
/// wrote it, only letters and digits of it are kept.
pub fn result_path(conversation: &ConversationId, hash: &str) -> String {
    let name = path_of(conversation);
    let hash: String = hash.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("/v1/conversations/{}/results/{hash}", name.trim_start_matches("/c/"))
}

/// The hub's path of a conversation's view.
pub fn view_path(conversation: &ConversationId) -> String {
    format!("/v1/conversations/{}", path_of(conversation).trim_start_matches("/c/"))
}

/// The hub's path of the next `count` events of a conversation after `position`.
pub fn events_path(conversation: &ConversationId, position: &Position, count: usize) -> String {
    let name = path_of(conversation);
    let after = search::encoded(&position.to_string());
    format!("/v1/conversations/{}/events?after={after}&limit={count}", name.trim_start_matches("/c/"))
}

/// Whether the query asks for the bare page, which shows the conversation alone, for embedding.
pub fn is_bare(query: &str) -> bool {
    query.trim_start_matches('?').split('&').any(|pair| pair == "view=bare")
}

/// Decodes percent-encoded text; `None` if it is invalid or not UTF-8.
pub(crate) fn decoded(text: &str) -> Option<String> {
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
    fn a_link_says_what_is_looked_at_and_is_read_again() {
        let conversation = ConversationId::parse("a b").unwrap();
        let (run, odd) = (RunId::new("r/1"), "t&x=1#?");
        let places = [
            None,
            Some(Place::Tool(run.clone(), ToolCallId::new(odd))),
            Some(Place::Part(run, PartId::new("p"))),
            Some(Place::Message(MessageId::new("größe"))),
        ];
        for place in places {
            let looks = Looks {
                filter: Some("state:error größe".to_owned()),
                level: Some(Level::All),
                place,
                find: Some("a b&c".to_owned()),
                is_pattern: true,
                timeline: Some(Drawer::Tall),
                compare: ConversationId::parse("größe & b").ok(),
                moment: Some(1_795_300_000_123),
            };
            let link = link(&conversation, &looks);
            let (path, query) = link.split_once('?').unwrap();
            assert_eq!(conversation_of(path), Some(conversation.clone()));
            assert_eq!(Looks::parse(query), looks, "{link}");
        }
        assert_eq!(link(&conversation, &Looks::default()), "/c/a%20b");
        for nothing in ["", "?", "?level=Some", "?tool=t", "?find=", "?find=%zz&view=bare"] {
            assert_eq!(Looks::parse(nothing), Looks::default(), "{nothing}");
        }
    }

    #[test]
    fn what_is_looked_at_stands_beside_what_else_the_address_says() {
        let low = Looks { timeline: Some(Drawer::Low), ..Looks::default() };
        let kept = |query: &str, looks: &Looks| with_looks(query, &KEPT, looks);
        assert_eq!(kept("", &low), "?timeline=168");
        assert_eq!(kept("?timeline=320&compare=b&level=All", &low), "?compare=b&timeline=168");
        assert_eq!(kept("?q=x&timeline=168&find=a%20b", &Looks::default()), "");
        assert_eq!(kept("?find=a&pattern=1", &Looks::default()), "");
        let find = Looks { level: Some(Level::All), find: Some("a&b".to_owned()), ..Looks::default() };
        assert_eq!(kept("?run=r&tool=t", &find), "?run=r&tool=t&level=All&find=a%26b");
        // A place is named until it is shown.
        assert_eq!(
            with_looks("?run=r&tool=t&view=bare&find=x", &PLACE, &Looks::default()),
            "?view=bare&find=x"
        );
    }

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
        assert!(is_wall(WALL) && is_wall("/wall/") && !is_wall("/c/wall") && !is_wall("/"));
        assert!(is_bare("?a=b&view=bare") && !is_bare("?view=full"));
    }
}
