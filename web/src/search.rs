//! The search in all conversations: its path, and the hub's answer.
//!
//! ```text
//! GET /v1/search?limit=30&q=…
//! {"hits":[{"conversation":"c","kind":"result","run":"r","item":"t","name":"sql","at":5,
//!           "snippet":"größe EMEA rose","marks":[[8,12]]}],"partial":false}
//! ```
//!
//! Fields that are missing are read as empty; a hit without a conversation or a kind is left out.

use serde_json::Value;

/// The most hits that are requested.
const HITS: usize = 30;

/// A hit in a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Hit {
    /// The id of the conversation.
    pub conversation: String,
    /// The kind of the text: `message`, `text`, `thinking`, `arguments` or `result`.
    pub kind: String,
    /// The run, unless the hit is in a message.
    pub run: Option<String>,
    /// The id of the part, the call or the message.
    pub item: String,
    /// The name of the tool, or the role of the message.
    pub name: String,
    /// The time of the event, in milliseconds since 1970.
    pub at: u64,
    /// The text around the hit, in pieces; every second piece is a match.
    pub pieces: Vec<String>,
}

/// The path that searches for `query`.
pub fn path(query: &str) -> String {
    format!("/v1/search?limit={HITS}&q={}", encoded(query.trim()))
}

/// Percent-encodes a text for use in a query.
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.extend(["%", &format!("{byte:02X}")]);
        }
    }
    out
}

/// The hits in the hub's answer; empty if it cannot be read.
pub fn hits(answer: &str) -> Vec<Hit> {
    let Ok(answer) = serde_json::from_str::<Value>(answer) else { return Vec::new() };
    let hits = answer.get("hits").and_then(Value::as_array);
    hits.map(|hits| hits.iter().filter_map(hit).collect()).unwrap_or_default()
}

/// A remark for the reader if the search was stopped early.
pub fn remark(answer: &str) -> Option<&'static str> {
    let answer = serde_json::from_str::<Value>(answer).ok()?;
    let is_partial = answer.get("partial")?.as_bool()?;
    is_partial.then_some("The search was stopped after 2 s: older matches may be missing.")
}

/// A hit of the hub's answer.
fn hit(value: &Value) -> Option<Hit> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let snippet = text("snippet").unwrap_or_default();
    let marks = value.get("marks").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    Some(Hit {
        conversation: text("conversation")?,
        kind: text("kind")?,
        run: text("run"),
        item: text("item").unwrap_or_default(),
        name: text("name").unwrap_or_default(),
        at: value.get("at").and_then(Value::as_u64).unwrap_or(0),
        pieces: pieces(&snippet, marks),
    })
}

/// Splits `text` at its marks, which are pairs of byte offsets. Marks that do not fall between characters, or
/// go back, are left out; all of the text is kept.
fn pieces(text: &str, marks: &[Value]) -> Vec<String> {
    let number = |mark: &Value, at: usize| usize::try_from(mark.get(at)?.as_u64()?).ok();
    let (mut pieces, mut from) = (Vec::new(), 0);
    for mark in marks {
        let (Some(start), Some(end)) = (number(mark, 0), number(mark, 1)) else { continue };
        if let (Some(before), Some(word)) = (text.get(from..start), text.get(start..end)) {
            pieces.extend([before.to_owned(), word.to_owned()]);
            from = end;
        }
    }
    pieces.push(text.get(from..).unwrap_or_default().to_owned());
    pieces
}

/// The hub's refusal of a request, for the reader: the `detail` of its answer, or the status if it has none. A second line has the
/// address of the help about its code: [`help_of`].
pub fn refusal(status: u16, answer: &str) -> String {
    let problem = serde_json::from_str::<Value>(answer).unwrap_or_default();
    let text = |name: &str| problem.get(name).and_then(Value::as_str);
    let Some(why) = text("detail") else { return format!("The hub answered {status}.") };
    with_help(format!("The hub says: {why}"), text("code").unwrap_or_default())
}

/// How the address of the help about a code begins.
const HELP: &str = "\n/help/protocol#code-";

/// `why` with the address of the help about `code`.
pub fn with_help(why: String, code: &str) -> String {
    why + HELP + code
}

/// A refusal for the reader, and the address of the help about its code if it has one.
pub fn help_of(why: &str) -> (&str, Option<&str>) {
    let at = why.rfind(HELP).unwrap_or(why.len());
    (why.get(..at).unwrap_or(why), why.get(at.saturating_add(1)..).filter(|help| !help.is_empty()))
}

#[cfg(test)]
mod tests {
    //! The answers of the hub.

    use super::*;

    #[test]
    fn a_hit_comes_in_pieces_of_which_every_second_is_the_word() {
        let answer = r#"{"hits":[{"id":3,"conversation":"a b","run":"r","kind":"result","item":"t","name":"sql","seq":4,
            "at":5,"snippet":"größe EMEA rose","marks":[[8,12]]}],"next":3}"#;
        let [hit] = &hits(answer)[..] else { panic!("{answer}") };
        assert_eq!(hit.pieces, ["größe ", "EMEA", " rose"]);
        assert_eq!((hit.conversation.as_str(), hit.run.as_deref(), hit.at), ("a b", Some("r"), 5));
        assert_eq!(hits("{}"), []);
        assert_eq!(hits("no json"), []);
    }

    #[test]
    fn an_answer_that_is_only_a_part_is_said_to_be_one() {
        let said = "The search was stopped after 2 s: older matches may be missing.";
        assert_eq!(remark(r#"{"hits":[],"next":3,"partial":true}"#), Some(said));
        assert_eq!(remark(r#"{"hits":[],"next":3,"partial":false}"#), None);
        assert_eq!(remark(r#"{"hits":[],"next":3}"#), None);
        assert_eq!(model::limits::SEARCH_MS, 2_000);
    }

    #[test]
    fn marks_that_do_not_fit_lose_nothing_of_the_text() {
        let marks: Vec<Value> = serde_json::from_str(r#"[[1,99],["x"]]"#).unwrap();
        assert_eq!(pieces("größe", &marks).concat(), "größe");
    }

    #[test]
    fn the_hub_says_itself_why_it_does_not_search() {
        let said = r#"{"code":"bad_request","status":400,"detail":"the log in memory is not searched"}"#;
        let why = refusal(400, said);
        let read = "The hub says: the log in memory is not searched";
        assert_eq!(help_of(&why), (read, Some("/help/protocol#code-bad_request")));
        assert_eq!(refusal(502, "<html>"), "The hub answered 502.");
        assert_eq!(help_of("The hub answered 502."), ("The hub answered 502.", None));
    }

    #[test]
    fn a_query_of_any_text_stays_one_value() {
        assert_eq!(path(" a&b=ö "), "/v1/search?limit=30&q=a%26b%3D%C3%B6");
    }
}
