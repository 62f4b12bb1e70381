//! What must hold for a document in HTML, whatever it was made of.

/// Elements that a document may have.
const ELEMENTS: &[&str] = &[
    "a",
    "blockquote",
    "body",
    "br",
    "code",
    "del",
    "details",
    "div",
    "em",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "img",
    "input",
    "li",
    "main",
    "meta",
    "ol",
    "p",
    "path",
    "pre",
    "section",
    "span",
    "strong",
    "style",
    "summary",
    "svg",
    "symbol",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "title",
    "tr",
    "ul",
    "use",
    "circle",
    "rect",
    "line",
    "polyline",
    "g",
    "defs",
    "!doctype",
];

/// Attributes whose values are addresses.
const ADDRESSES: [&str; 4] = ["href", "src", "xlink:href", "action"];

/// How an address may begin.
const SAFE: [&str; 5] = ["http:", "https:", "mailto:", "#", "data:image/"];

/// Nothing but elements and attributes that are harmless.
pub fn check(document: &str) {
    let mut rest = document;
    while let Some(at) = rest.find('<') {
        let (tag, after) = rest[at + 1..].split_once('>').expect("an element ends");
        rest = after;
        let name =
            tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default().to_ascii_lowercase();
        assert!(ELEMENTS.contains(&name.as_str()), "an element {name:?}: <{tag}>");
        check_attributes(tag);
        if tag == "style" {
            rest = rest.split_once("</style>").expect("the style ends").1;
        }
    }
}

fn check_attributes(tag: &str) {
    let mut pieces = tag.split('"');
    while let (Some(before), Some(value)) = (pieces.next(), pieces.next()) {
        let name =
            before.trim().trim_end_matches('=').rsplit(' ').next().unwrap_or_default().to_ascii_lowercase();
        assert!(!name.starts_with("on"), "a handler {name:?}: <{tag}>");
        if ADDRESSES.contains(&name.as_str()) {
            let value = value.to_ascii_lowercase();
            assert!(SAFE.iter().any(|safe| value.starts_with(safe)), "an address {value:?}");
        }
    }
}
