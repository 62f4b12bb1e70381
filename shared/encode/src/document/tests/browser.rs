//! A document as a browser reads it: each element and each attribute must be one of those that documents are made of.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

/// Elements, and the attributes that each may have besides `class`.
const ALLOWED: &[(&str, &[&str])] = &[
    ("html", &["lang"]),
    ("head", &[]),
    ("meta", &["charset", "name", "content", "http-equiv"]),
    ("title", &[]),
    ("style", &[]),
    ("body", &[]),
    ("svg", &["aria-hidden", "width", "height"]),
    ("symbol", &["id", "viewbox"]),
    ("circle", &["cx", "cy", "r", "stroke-dasharray"]),
    ("path", &["d"]),
    ("use", &["href"]),
    ("header", &[]),
    ("main", &[]),
    ("section", &[]),
    ("div", &[]),
    ("span", &[]),
    ("p", &[]),
    ("pre", &[]),
    ("details", &["open", "data-state"]),
    ("summary", &[]),
    ("img", &["alt", "src"]),
    ("a", &["rel", "href"]),
    ("h1", &[]),
    ("h3", &[]),
    ("h4", &[]),
    ("h5", &[]),
    ("h6", &[]),
    ("ul", &[]),
    ("ol", &["start"]),
    ("li", &[]),
    ("blockquote", &[]),
    ("em", &[]),
    ("strong", &[]),
    ("del", &[]),
    ("code", &[]),
    ("br", &[]),
    ("hr", &[]),
    ("table", &[]),
    ("tr", &[]),
    ("td", &[]),
    ("th", &[]),
];

/// Elements without an end.
const VOID: [&str; 4] = ["meta", "img", "br", "hr"];

/// Asserts that `html` holds nothing but what is allowed, well nested, and that nothing in it can run or load.
pub(super) fn check(html: &str) {
    let sink = Reader { open: RefCell::default() };
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let input = BufferQueue::default();
    // The text between the tags of the style is not read as a browser's parser would switch for it.
    let (head, rest) = html.split_once("<style>").unwrap();
    let (_, rest) = rest.split_once("</style>").unwrap();
    input.push_back(StrTendril::from_slice(head));
    input.push_back(StrTendril::from_slice(rest));
    drop(tokenizer.feed(&input));
    tokenizer.end();
    assert!(tokenizer.sink.open.borrow().is_empty(), "left open: {:?}", tokenizer.sink.open.borrow());
}

struct Reader {
    open: RefCell<Vec<String>>,
}

impl TokenSink for Reader {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(tag) => self.tag(&tag),
            Token::CommentToken(text) => panic!("a comment: {text}"),
            Token::ParseError(error) => panic!("not well formed: {error}"),
            Token::NullCharacterToken => panic!("a null character"),
            Token::DoctypeToken(_) | Token::CharacterTokens(_) | Token::EOFToken => {}
        }
        TokenSinkResult::Continue
    }
}

impl Reader {
    fn tag(&self, tag: &Tag) {
        let name = tag.name.to_string();
        let Some((_, attributes)) = ALLOWED.iter().find(|(allowed, _)| *allowed == name) else {
            panic!("no such element: {tag:?}")
        };
        if tag.kind == TagKind::EndTag {
            assert_eq!(self.open.borrow_mut().pop(), Some(name), "ends do not fit their starts");
            return;
        }
        for attribute in &tag.attrs {
            let key = attribute.name.local.to_string();
            assert!(key == "class" || attributes.contains(&key.as_str()), "{key} in {tag:?}");
            let value = attribute.value.to_string();
            match (name.as_str(), key.as_str()) {
                ("a", "href") => {
                    let is_safe = ["http:", "https:", "mailto:"]
                        .iter()
                        .any(|scheme| value.to_ascii_lowercase().starts_with(scheme));
                    assert!(is_safe, "{tag:?}");
                }
                ("use", "href") => assert!(value.starts_with('#'), "{tag:?}"),
                ("img", "src") => assert!(value.starts_with("data:image/"), "{tag:?}"),
                (_, "class" | "data-state") => {
                    assert!(
                        value.bytes().all(|b| b.is_ascii_lowercase() || b == b' ' || b == b'-'),
                        "{tag:?}"
                    );
                }
                _ => {}
            }
        }
        if !VOID.contains(&name.as_str()) && !tag.self_closing {
            self.open.borrow_mut().push(name);
        }
    }
}
