//! Markdown to the nodes of the page, and to HTML in exports: a text that grows looks like the whole one at every step (but
//! for links that are defined later), nodes nest within their bound, links go to safe places, and a document has harmless elements only.
#![no_main]

use encode::document::{StepsLayout, html, markdown};
use fuzz::laws::Log;
use fuzz::{dice, page};
use libfuzzer_sys::fuzz_target;
use model::event::{Event, Kind, PartKind};
use model::limits::MARKDOWN_DEPTH_MAX;
use model::{Envelope, PartId, RunId};
use web::markdown::{Node, Stream, Tag, parse};

/// Steps in which a text grows.
const STEPS: usize = 12;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let whole = parse(text);
    assert!(check(&whole) <= MARKDOWN_DEPTH_MAX + 1, "too deep");
    let (mut stream, mut shown) = (Stream::default(), Vec::new());
    for step in 1..=STEPS {
        let at = text.floor_char_boundary((text.len() * step / STEPS).saturating_sub(dice(bytes) % 7));
        let update = stream.advance(&text[..at]);
        assert!(!update.restart, "it begins anew at {at}");
        shown.extend(update.done);
        let now: Vec<_> = shown.iter().cloned().chain(update.pending).collect();
        // A definition that comes later reaches back only when the text is whole.
        if !text.contains("]:") {
            assert_eq!(now, parse(&text[..at]), "as it stands at {at}");
        }
    }
    let update = stream.finish(text);
    let shown = if update.restart { update.done } else { [shown, update.done].concat() };
    assert_eq!(shown, whole);
    documents(text);
});

/// How deep the nodes nest. Addresses are safe.
fn check(nodes: &[Node]) -> usize {
    let depth = |node: &Node| match node {
        Node::Text(_) => 0,
        Node::Element(tag, children) => {
            if let Tag::Link(url) | Tag::Image(url) = tag {
                let url = url.to_ascii_lowercase();
                let safe = ["http:", "https:", "mailto:"].iter().any(|scheme| url.starts_with(scheme));
                assert!(safe || url.is_empty(), "{url:?}");
            }
            check(children) + 1
        }
    };
    nodes.iter().map(depth).max().unwrap_or(0)
}

/// The same text as an answer in documents.
fn documents(text: &str) {
    let (run, part) = (RunId::new("r"), PartId::new("p"));
    let kinds = [
        Kind::PartStart { part: part.clone(), kind: PartKind::Text },
        Kind::PartDelta { part, off: None, text: text.into() },
    ];
    let mut log = Log::default();
    for kind in kinds {
        let (event, by_hub) = (Event::new(&run, kind), false);
        log.take(Envelope { event, seq: 0, at: 0, producer_at: None, publisher: None, by_hub });
    }
    page::check(&html(&log.view, "c", StepsLayout::Each));
    drop(markdown(&log.view, "c", StepsLayout::OneBlock));
}
