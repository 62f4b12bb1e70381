//! Markdown of the project's documents as HTML. Pure. The input is the project's own; what looks like HTML in it is written as
//! text all the same.

use std::collections::HashMap;
use std::fmt::Write as _;

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use super::{Chapter, STYLE};
use crate::http::markup::escaped;
use crate::inbound::problem::code_anchor;

/// A page that is written.
#[derive(Debug)]
pub(super) struct Written {
    /// The first heading, without markup.
    pub(super) title: String,
    pub(super) html: String,
}

/// A heading of a document.
struct Heading {
    level: HeadingLevel,
    anchor: String,
    text: String,
}

/// The list of all documents below the headings of their chapters; `documents` are their names and titles in the order in
/// which they are shown.
pub(super) fn contents(documents: &[(&str, &str)], chapter: fn(&str) -> Chapter) -> Written {
    let mut main = String::from(
        "<h1>Help</h1><p>These are the documents of the version of Fanlight that runs here. They need no network.</p>",
    );
    for documents in documents.chunk_by(|(one, _), (next, _)| chapter(one) == chapter(next)) {
        let heading = documents.first().map_or("", |(name, _)| chapter(name).title());
        let _written = write!(main, "<h2>{heading}</h2><ul>");
        for (name, title) in documents {
            let _written =
                write!(main, "<li><a href=\"/help/{}\">{}</a></li>", escaped(name), escaped(title));
        }
        main.push_str("</ul>");
    }
    Written { title: "Help".to_owned(), html: framed("Help", &main) }
}

/// The document `name` with the Markdown `text`. Links to documents for which `is_there` is true lead to them; the words of
/// links to other files of the project stay as text, since these files are not in the binary.
pub(super) fn document(name: &str, text: &str, is_there: &dyn Fn(&str) -> bool) -> Written {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut events: Vec<_> = Parser::new_ext(text, options).collect();
    let headings = anchored(&mut events);
    linked(&mut events, name, is_there);
    let title = headings.first().map_or_else(|| name.to_owned(), |heading| heading.text.clone());
    let after_title = events
        .iter()
        .position(|event| matches!(event, Event::End(TagEnd::Heading(_))))
        .map_or(0, |at| at + 1);
    let rest = events.split_off(after_title);
    let mut main = String::with_capacity(text.len() * 2);
    html::push_html(&mut main, events.into_iter());
    main.push_str(&sections(&headings));
    html::push_html(&mut main, tables(rest).into_iter());
    // Long lines of code scroll, also by keyboard. Text has no such mark: it is escaped.
    let main = main.replace("<pre>", "<pre tabindex=\"0\">");
    Written { html: framed(&title, &main), title }
}

/// The links to the sections of a document, if it has several.
fn sections(headings: &[Heading]) -> String {
    let sections: Vec<_> = headings.iter().filter(|heading| heading.level == HeadingLevel::H2).collect();
    if sections.len() < 3 {
        return String::new();
    }
    let mut list = String::from("<nav class=\"sections\" aria-label=\"Sections\"><ul>");
    for section in sections {
        let _written =
            write!(list, "<li><a href=\"#{}\">{}</a></li>", section.anchor, escaped(&section.text));
    }
    list.push_str("</ul></nav>");
    list
}

/// A whole page around `main`.
fn framed(title: &str, main: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title} · Fanlight</title><style>{STYLE}</style><header><a href=\"/\">Fanlight</a>\
         <a href=\"/help\">Help</a></header><main>{main}</main></html>"
    )
}

/// Gives each heading an anchor as GitHub does, so that links between documents work in both places.
fn anchored(events: &mut [Event<'_>]) -> Vec<Heading> {
    let (mut headings, mut used, mut begun) = (Vec::new(), HashMap::<String, usize>::new(), None);
    for at in 0..events.len() {
        match events.get(at) {
            Some(Event::Start(Tag::Heading { level, .. })) => begun = Some((at, *level, String::new())),
            Some(Event::Text(text) | Event::Code(text)) => {
                if let Some((_at, _level, words)) = &mut begun {
                    words.push_str(text);
                }
            }
            Some(Event::End(TagEnd::Heading(_))) => {
                let Some((start, level, text)) = begun.take() else { continue };
                let plain = slug(&text);
                let times = used.entry(plain.clone()).or_default();
                let anchor = if *times == 0 { plain } else { format!("{plain}-{times}") };
                *times += 1;
                if let Some(Event::Start(Tag::Heading { id, .. })) = events.get_mut(start) {
                    *id = Some(CowStr::from(anchor.clone()));
                }
                headings.push(Heading { level, anchor, text });
            }
            _ => {}
        }
    }
    headings
}

/// The words of a heading as GitHub writes them in anchors.
fn slug(text: &str) -> String {
    let kept = text.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Points links and pictures to where they are here, and leaves out comments and links to what is not here.
fn linked(events: &mut Vec<Event<'_>>, name: &str, is_there: &dyn Fn(&str) -> bool) {
    let mut open = Vec::new();
    events.retain_mut(|event| match event {
        Event::Start(Tag::Link { dest_url, .. }) => {
            let leads = target(name, dest_url, is_there);
            open.push(leads.is_some());
            leads.is_some_and(|leads| {
                *dest_url = leads.into();
                true
            })
        }
        Event::End(TagEnd::Link) => open.pop().unwrap_or(false),
        Event::Start(Tag::Image { dest_url, .. }) => {
            *dest_url = target(name, dest_url, is_there).unwrap_or_default().into();
            true
        }
        Event::Html(html) | Event::InlineHtml(html) => {
            let is_comment = html.trim_start().starts_with("<!--");
            *event = Event::Text(html.clone());
            !is_comment
        }
        _ => true,
    });
}

/// Where a link of the document `name` leads: an address elsewhere, a place in this document or another document. `None`
/// for files that are not here.
fn target(name: &str, link: &str, is_there: &dyn Fn(&str) -> bool) -> Option<String> {
    if link.starts_with('#') || link.starts_with("https://") || link.starts_with("http://") {
        return Some(link.to_owned());
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    // `readme` stands one folder above the others, so its links begin with `docs/`.
    let (folder, path) = match (name, path.strip_prefix("docs/")) {
        ("readme", Some(path)) => ("", path),
        ("readme", None) => return None,
        _ => (name.rsplit_once('/').map_or("", |(folder, _file)| folder), path),
    };
    let mut steps: Vec<&str> = folder.split('/').filter(|step| !step.is_empty()).collect();
    for step in path.split('/') {
        match step {
            "." => {}
            ".." if steps.is_empty() && path == "../README.md" => return Some(with(anchor, "readme")),
            ".." => drop(steps.pop()?),
            step => steps.push(step),
        }
    }
    let file = steps.join("/");
    let document = file.strip_suffix(".md").map_or_else(|| file.clone(), str::to_lowercase);
    is_there(&document).then(|| with(anchor, &document))
}

/// The address of a document, and of a place in it.
fn with(anchor: Option<&str>, document: &str) -> String {
    let anchor = anchor.map(|anchor| format!("#{anchor}")).unwrap_or_default();
    format!("/help/{document}{anchor}")
}

/// Puts each table into a box that scrolls, and gives each word of code that begins a row an anchor: error codes, names of
/// options and fields can be linked.
fn tables(events: Vec<Event<'_>>) -> Vec<Event<'_>> {
    let (mut all, mut cell, mut used) = (Vec::with_capacity(events.len()), None, Vec::new());
    for event in events {
        match &event {
            Event::Start(Tag::Table(_)) => {
                all.push(Event::Html("<div class=\"table\" tabindex=\"0\">".into()));
            }
            Event::Start(Tag::TableRow) => cell = Some(0),
            Event::Start(Tag::TableCell) => cell = cell.map(|count: usize| count + 1),
            Event::Code(code) if cell == Some(1) && !used.contains(&code_anchor(code)) && is_word(code) => {
                let anchor = code_anchor(code);
                all.push(Event::Html(format!("<code id=\"{anchor}\">{}</code>", escaped(code)).into()));
                used.push(anchor);
                continue;
            }
            _ => {}
        }
        let is_end = matches!(event, Event::End(TagEnd::Table));
        all.push(event);
        if is_end {
            all.push(Event::Html("</div>".into()));
        }
    }
    all
}

/// Whether a code is one word that may stand in an anchor as it is.
fn is_word(code: &str) -> bool {
    code.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}
