//! Marks a word wherever it stands in the conversation, without a change to any element (CSS Custom Highlight API): what
//! streams goes on streaming. Browsers without it only miss the colour.

use js_sys::{Array, Function, Reflect};
use wasm_bindgen::{JsCast, JsValue};

use crate::browser;
use crate::find::ranges;

/// Its name in the styles.
const NAME: &str = "find";

/// Most places that are marked.
const MARKS_MAX: usize = 500;

/// `NodeFilter.SHOW_TEXT`.
const SHOW_TEXT: u32 = 4;

/// Marks `query` in what is on the page now; nothing where it is too short.
pub(crate) fn show(query: &str) {
    let query = query.trim().to_lowercase();
    let window = browser::window();
    let get = |of: &JsValue, name: &str| Reflect::get(of, &name.into()).ok().filter(|it| !it.is_undefined());
    let Some(registry) = get(&window, "CSS").and_then(|css| get(&css, "highlights")) else { return };
    let call = |name: &str, arguments: &Array| {
        if let Some(function) = get(&registry, name).and_then(|it| it.dyn_into::<Function>().ok()) {
            drop(function.apply(&registry, arguments));
        }
    };
    call("delete", &Array::of1(&NAME.into()));
    let ranges = if query.len() < 2 { None } else { places(&query) };
    let Some(ranges) = ranges.filter(|ranges| ranges.length() > 0) else { return };
    let Some(make) = get(&window, "Highlight").and_then(|it| it.dyn_into::<Function>().ok()) else { return };
    if let Ok(highlight) = Reflect::construct(&make, &ranges) {
        call("set", &Array::of2(&NAME.into(), &highlight));
    }
}

/// Where `query`, in lower case, stands on the page.
fn places(query: &str) -> Option<Array> {
    let document = browser::document();
    let root = document.get_element_by_id("transcript")?;
    let walker = document.create_tree_walker_with_what_to_show(&root, SHOW_TEXT).ok()?;
    let places = Array::new();
    while let Ok(Some(node)) = walker.next_node() {
        let text = node.node_value().unwrap_or_default();
        for range in ranges(&text, query) {
            let units = |to: usize| {
                let before = text.get(..to).unwrap_or_default();
                u32::try_from(before.encode_utf16().count()).unwrap_or(u32::MAX)
            };
            let place = document.create_range().ok()?;
            place.set_start(&node, units(range.start)).ok()?;
            place.set_end(&node, units(range.end)).ok()?;
            places.push(&place);
            if places.length() as usize >= MARKS_MAX {
                return Some(places);
            }
        }
    }
    Some(places)
}
