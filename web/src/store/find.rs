//! Find: its matcher, and bringing hits into view.
//!
//! ```text
//! query ─▶ matcher: Word, or Pattern (the regular expressions of the decoder module, fetched when first used)
//!            ├─▶ the Find tab lists the hits
//!            ├─▶ mark_hits: highlights them in what is drawn
//!            └─▶ reveal_hit: unfolds, scrolls, marks the one
//! ```

use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast;
use web_sys::HtmlInputElement;

use super::{OpenDialog, Store, Tab, card_id, message_id, part_id};
use crate::browser;
use crate::decoder::Decoder;
use crate::dom::{Pattern, highlight};
use crate::find::{Matcher, Place, Sought, Word};
use crate::page_modules::PageModule;

impl Store {
    /// The matcher of the query; `None` if the query is too short. The error says what is wrong with the
    /// pattern. Tracks the query.
    pub(crate) fn matcher(self) -> Result<Option<Box<dyn Matcher>>, String> {
        let query = self.reading.query.get();
        if self.reading.is_pattern.get() {
            return if query.is_empty() { Ok(None) } else { self.pattern(query) };
        }
        Ok(Word::new(&query).map(|word| Box::new(word) as Box<dyn Matcher>))
    }

    /// The matcher of the pattern `source`; `None` while the decoder module is being fetched. When it is
    /// there, `patterns` changes, so that who tracks it asks again.
    fn pattern(self, source: String) -> Result<Option<Box<dyn Matcher>>, String> {
        if let Some(decoder) = Decoder::loaded() {
            return Ok(Some(Box::new(Pattern::new(decoder, source)?)));
        }
        let why = self.reading.patterns.get().err().unwrap_or_default();
        spawn_local(async move {
            let loaded = Decoder::load().await.map(drop);
            if self.reading.patterns.try_with_untracked(|known| *known != loaded) == Some(true) {
                self.reading.patterns.set(loaded);
            }
        });
        if why.is_empty() { Ok(None) } else { Err(why) }
    }

    /// Marks the hits on the page while the Find tab is shown without a dialog over it; otherwise removes the
    /// marks.
    pub(crate) fn mark_hits(self) {
        let is_shown = self.panel.tab.get_untracked() == Tab::Find
            && self.panel.dialog.get_untracked() == OpenDialog::None;
        highlight::show(untrack(|| self.matcher()).ok().flatten().filter(|_| is_shown));
    }

    /// Shows the Find tab and focuses its input, also if the tab is shown already.
    pub(crate) fn ask_word(self) {
        self.panel.show_tab(Tab::Find);
        let focus = || {
            let input = browser::document().get_element_by_id("find-word");
            if let Some(input) = input.and_then(|it| it.dyn_into::<HtmlInputElement>().ok()) {
                drop(input.focus());
                input.select();
            }
        };
        self.modules.with(PageModule::Panel, move || browser::after(0, focus));
    }

    /// Shows a hit: unfolds what hides it and scrolls to the match.
    pub(crate) fn reveal_hit(self, hit: Sought) {
        let (place, number) = (hit.place.clone(), hit.number);
        self.reading.sought.set(Some(hit));
        self.reveal_text(&place);
        let id = match &place {
            Place::Message(message) => message_id(message),
            Place::Part(run, part) => part_id(run, part),
            Place::Tool(run, tool) => card_id(run, tool),
        };
        // What was unfolded is in the document with the next painting.
        browser::before_paint(move || {
            self.mark_hits();
            let Some(matcher) = untrack(|| self.matcher()).ok().flatten() else { return };
            if let Some(place) = highlight::bring(&id, matcher.as_ref(), number) {
                self.reading.scroller.with_value(|scroller| scroller.reach(place.top(), place.bottom()));
            }
        });
    }

    /// Shows an item, and the first match in it, if there is one.
    pub(crate) fn reveal_place(self, place: &Place) {
        let matcher = untrack(|| self.matcher()).ok().flatten();
        let hit = matcher
            .and_then(|matcher| self.reading.view(|view| Sought::first(view, place, matcher.as_ref())));
        match hit {
            Some(hit) => self.reveal_hit(hit),
            None => self.reveal_text(place),
        }
    }
}
