//! Tests of the help: what is linked is there.

use std::collections::BTreeSet;

use model::code::ErrorCode;

use super::*;
use crate::inbound::problem::about;

/// The values of an attribute in a page.
fn attributes<'a>(html: &'a str, name: &str) -> Vec<&'a str> {
    let begin = format!(" {name}=\"");
    html.split(&begin).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn every_error_code_is_explained() {
    for code in ErrorCode::ALL {
        let about = about(*code);
        let (path, anchor) = about.strip_prefix("/help/").unwrap().split_once('#').unwrap();
        let ids = attributes(&pages()[path].html, "id");
        assert!(ids.contains(&anchor), "{}: no {anchor} in docs/{path}.md", code.as_str());
    }
}

#[test]
fn every_link_within_the_help_leads_somewhere() {
    let mut broken = BTreeSet::new();
    for (name, page) in pages() {
        for link in attributes(&page.html, "href").into_iter().chain(attributes(&page.html, "src")) {
            if link.starts_with("http") || link == "/" || link == "/help" {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let to =
                if path.is_empty() { name.as_str() } else { path.strip_prefix("/help/").unwrap_or(path) };
            let is_there = is_picture(to)
                || pages()
                    .get(to)
                    .is_some_and(|to| anchor.is_empty() || attributes(&to.html, "id").contains(&anchor));
            if !is_there {
                broken.insert(format!("{name}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn an_anchor_names_one_place() {
    for (name, page) in pages() {
        let ids = attributes(&page.html, "id");
        let different: BTreeSet<_> = ids.iter().collect();
        assert_eq!(ids.len(), different.len(), "{name}");
    }
}

#[test]
fn every_document_is_listed_with_its_title() {
    let contents = &pages()[CONTENTS].html;
    let is_decision = |name: &str| name.starts_with("decisions/") && name != DECISIONS;
    for (name, page) in pages().iter().filter(|(name, _page)| *name != CONTENTS && !is_decision(name)) {
        assert!(contents.contains(&format!("href=\"/help/{name}\"")), "{name}");
        assert!(page.title != *name, "{name} has no heading");
    }
    assert!(pages().len() > 30, "{}", pages().len());
    // What is about the use stands before what is about the making, each below its heading.
    let at = |text: &str| contents.find(text).unwrap_or_else(|| panic!("{text} is in the contents"));
    let order = [
        "Using and",
        "help/commands\"",
        "Agents, clients",
        "Stream dialects",
        "help/dialects/",
        "How Fanlight is built",
        "help/chaos\"",
    ];
    assert!(order.map(at).is_sorted(), "{contents}");
}

#[test]
fn links_to_files_that_are_not_here_are_words() {
    let is_there = |name: &str| name == "protocol" || name == "dialects/readme";
    let text = "# T\n\n[a](protocol.md#9-error-codes) [b](decisions/0001-x.md) [c](../deploy/nginx.conf) \
                [d](dialects/README.md) [e](https://example.org/) ![f](images/none.png) [g](../../../etc/passwd.md) <b>x</b>";
    let html = html::document("operations", text, &is_there).html;
    let links: Vec<_> = attributes(&html, "href").into_iter().skip(2).collect();
    assert_eq!(links, ["/help/protocol#9-error-codes", "/help/dialects/readme", "https://example.org/"]);
    assert!(html.contains("b c") && html.contains("<img src=\"\"") && html.contains("&lt;b&gt;"), "{html}");
}
