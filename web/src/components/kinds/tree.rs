//! JSON as a tree. A level is parsed and built when it is unfolded.
//!
//! A value keeps its JSON as it was written, so that what is copied is exact: numbers are not rounded, and
//! the order of fields stays. A string, number or literal is a leaf. A click on a key chooses the value,
//! whose path then stands below the tree.

use std::sync::Arc;

use leptos::prelude::*;

use super::super::copy::Copy;
use crate::kinds::{Node, glance, index_path, key_path, node};

/// The number of levels that are unfolded at first.
const OPEN_LEVELS: usize = 2;

/// The most fields or items of a second level that is unfolded at first.
const OPEN_MAX: usize = 12;

/// How many fields or items are shown at first, and added by each click.
const PAGE: usize = 100;

/// The longest string, in characters, that is shown whole at first.
const TEXT_MAX: usize = 500;

/// The value that the reader chose.
#[derive(Debug, Clone, PartialEq)]
struct Chosen {
    /// The path of the value, as `$.rows[3].name`.
    path: String,
    /// The JSON of the value, as written.
    raw: Arc<str>,
}

/// The tree of `json`, and the path of the chosen value with buttons that copy path and value. What is folded
/// is not in the document.
#[component]
pub(super) fn Tree(json: String) -> impl IntoView {
    let chosen = RwSignal::new(None::<Chosen>);
    let json: Arc<str> = json.into();
    let root = node(&json);
    view! {
        <div class="json" data-t="json" role="group" aria-label="JSON">
            {children(root, "$", 1, chosen)}
        </div>
        {move || chosen.get().map(|Chosen { path, raw }| {
            let (shown, own) = (path.clone(), path);
            view! {
                <div class="json-at meta">
                    <code data-t="json-path">{shown}</code>
                    <Copy text=move || own.clone() label="Copy path" />
                    <Copy text=move || exact(&raw) label="Copy value" />
                </div>
            }
        })}
    }
}

/// The text that is copied for a value: the content of a string, otherwise the JSON as written.
fn exact(raw: &str) -> String {
    match node(raw) {
        Node::Text(text) => text,
        _ => raw.to_owned(),
    }
}

/// A field of an object or an item of an array.
#[derive(Debug, Clone)]
struct Entry {
    /// The name of the field, or the index of the item.
    key: String,
    /// The path of the entry from the root.
    path: String,
    /// The JSON of the value, as written.
    raw: Arc<str>,
}

/// The fields or items of `node`; empty for a string, number or literal.
fn entries(node: Node, path: &str) -> Vec<Entry> {
    match node {
        Node::Object(fields) => {
            fields.into_iter().map(|(key, raw)| Entry { path: key_path(path, &key), key, raw }).collect()
        }
        Node::Array(items) => items
            .into_iter()
            .enumerate()
            .map(|(at, raw)| Entry { key: at.to_string(), path: index_path(path, at), raw })
            .collect(),
        Node::Text(_) | Node::Word(_) => Vec::new(),
    }
}

/// The fields or items of a level, a page at a time. The root is at depth 1.
fn children(node: Node, path: &str, depth: usize, chosen: RwSignal<Option<Chosen>>) -> AnyView {
    let entries = entries(node, path);
    let count = entries.len();
    let is_small = count <= OPEN_MAX;
    let shown = RwSignal::new(PAGE);
    let entries = StoredValue::new(entries);
    let drawn = move || {
        let wanted = shown.get();
        entries.with_value(|entries| entries.iter().take(wanted).cloned().enumerate().collect::<Vec<_>>())
    };
    view! {
        <ul>
            <For each=drawn key=|(at, _)| *at let:it>
                {row(it.1, depth, is_small, chosen)}
            </For>
        </ul>
        {move || (shown.get() < count).then(|| {
            let label = format!("Show {} more of {count}", count.saturating_sub(shown.get()).min(PAGE));
            let forward = move |_| shown.update(|n| *n = n.saturating_add(PAGE));
            view! { <button type="button" class="link num" on:click=forward>{label}</button> }
        })}
    }
    .into_any()
}

/// A field or item, with a button that unfolds its level if it has one. `is_small` is whether its siblings
/// are few; only then it may be unfolded at first.
fn row(entry: Entry, depth: usize, is_small: bool, chosen: RwSignal<Option<Chosen>>) -> AnyView {
    let Entry { key, path, raw } = entry;
    let value = node(&raw);
    let at = Chosen { path: path.clone(), raw: Arc::clone(&raw) };
    let Some(count) = value.count() else {
        let choose = move |_| chosen.set(Some(at.clone()));
        return view! {
            <li><button type="button" class="k" on:click=choose>{key}</button> ": " {leaf(value)}</li>
        }
        .into_any();
    };
    let open = RwSignal::new(depth < OPEN_LEVELS && is_small && count <= OPEN_MAX);
    let toggle = move |_| {
        open.update(|open| *open = !*open);
        chosen.set(Some(at.clone()));
    };
    let said = glance(&value);
    view! {
        <li>
            <button type="button" class="k branch" aria-expanded=move || open.get().to_string() on:click=toggle>
                {key} <span class="meta">{said}</span>
            </button>
            {move || open.get().then(|| children(node(&raw), &path, depth.saturating_add(1), chosen))}
        </li>
    }
    .into_any()
}

/// A value without a level below it. A long string is cut, with a button that shows all of it.
fn leaf(value: Node) -> AnyView {
    match value {
        Node::Text(text) => {
            let is_long = text.chars().nth(TEXT_MAX).is_some();
            let all = RwSignal::new(!is_long);
            let shown = move || {
                if all.get() {
                    return text.clone();
                }
                let (start, _) = crate::preview::cut(&text, TEXT_MAX);
                format!("{start}…")
            };
            view! {
                <span class="s">{shown}</span>
                {move || (!all.get()).then(|| view! {
                    " " <button type="button" class="link" on:click=move |_| all.set(true)>"more"</button>
                })}
            }
            .into_any()
        }
        Node::Word(word) => view! { <span class="v">{word}</span> }.into_any(),
        Node::Object(_) | Node::Array(_) => ().into_any(),
    }
}
