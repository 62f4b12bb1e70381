//! The root of the page: it makes the store, draws the components and connects the effects that concern the
//! whole page.
//!
//! ```text
//! App ─┬─ Store, Groups, ComparedStore   contexts of all components
//!      ├─ Navigation ⇄ address bar       which conversation, wall, or new one; how it is looked at
//!      ├─ settle, look                   what is opened if the address names nothing; what it asks for
//!      ├─ speak, keys, drop, prefetch    screen readers, keyboard, dropped files, modules
//!      ├─ session                        the socket
//!      └─ Full or Bare                   the components
//! ```
//!
//! Everything here lives as long as the page; nothing is ever taken down.

use leptos::prelude::*;
use model::ConversationId;
use model::event::RunStatus;

use crate::browser;
use crate::components::{ComparedStore, Groups, title};
use crate::drop;
use crate::keys;
use crate::link::Status;
use crate::modules;
use crate::navigation::{self, Navigation};
use crate::page_modules::PageModule;
use crate::pages::{Bare, Full};
use crate::route;
use crate::session::{self, page::PageListener};
use crate::settings;
use crate::speech::{self, Asking};
use crate::store::{Store, Tab};

/// Starts the page. Called once, by the program `page`.
pub fn start() {
    browser::keep_panics();
    settings::apply();
    mount_to_body(App);
}

/// The page: the conversation alone or everything around it, depending on the address.
#[component]
fn App() -> impl IntoView {
    let is_bare = navigation::is_bare();
    let store = Store::new(is_bare, modules::fetch);
    provide_context(store);
    provide_context(Groups::of(store));
    provide_context(ComparedStore(store.beside()));
    let navigation = Navigation::start();
    Effect::new(move |_| {
        store.show_wall(navigation.is_wall());
        store.control.fresh.set(navigation.is_new());
        match navigation.conversation() {
            // The address of a recording names nothing.
            None if store.reading.recording.with_untracked(Option::is_some) => {}
            wanted => store.open(wanted),
        }
    });
    Effect::new(move |_| {
        if store.reading.recordings.get() > 0 && store.reading.recording.with(Option::is_some) {
            navigation.leave();
        }
    });
    settle(store, navigation);
    look(store, navigation);
    store.keep_looks_in_address();
    // The memo runs at each painting; the title seldom changes.
    let title = Memo::new(move |_| title(store));
    Effect::new(move |_| {
        let title = title.get();
        browser::document().set_title(&if title.is_empty() {
            "Fanlight".to_owned()
        } else {
            format!("{title} · Fanlight")
        });
    });
    speak(store);
    if !is_bare {
        prefetch(store);
    }
    if !is_bare {
        store.note_seen();
    }
    browser::every(1_000, move || {
        store.set_now();
    });
    // Two viewers with equal views have the same hash, and so does the hub's snapshot.
    browser::expose("fanlightViewHash", move || store.reading.view(model::snapshot::hash));
    keys::listen(store);
    if !is_bare {
        drop::listen(store);
    }
    store.subscribe_when_readable();
    store.ask_all_when_needed();
    session::start(PageListener { store, with_fleet: !is_bare });
    session::page::measure(store);
    if is_bare { view! { <Bare /> }.into_any() } else { view! { <Full /> }.into_any() }
}

/// Fetches the modules that nobody needs yet, once the list and what stands beside it are drawn. Runs once:
/// an effect that has begun does nothing more.
fn prefetch(store: Store) {
    Effect::new(move |is_begun: Option<bool>| {
        if is_begun == Some(true) {
            return true;
        }
        store.track_fleet();
        let has_list = store.reading.model(|model| model.fleet().is_some());
        let first = if store.panel.wall.get() { PageModule::Wall } else { PageModule::Conversation };
        let is_drawn = store.modules.has(first) && has_list;
        if is_drawn {
            store.modules.fetch_rest();
        }
        is_drawn
    });
}

/// Shows what the address asks for (level, timeline, search, place, moment) once the conversation is loaded.
///
/// Level, timeline and search are set at once. A place and a moment wait until the events are there; then the
/// address loses them, so that a reload does not jump again.
fn look(store: Store, navigation: Navigation) {
    let wanted = RwSignal::new(None);
    let moment = RwSignal::new(None);
    Effect::new(move |_| {
        let looks = navigation.looks();
        if let Some(filter) = looks.filter {
            store.panel.filter.set(filter);
        }
        if let Some(level) = looks.level {
            store.reading.show_level(level);
        }
        if let Some(drawer) = looks.timeline.filter(|_| !store.reading.is_bare) {
            store.panel.drawer.set(drawer);
        }
        if let Some(word) = looks.find {
            store.reading.is_pattern.set(looks.is_pattern);
            store.reading.query.set(word);
            store.panel.show_tab(Tab::Find);
        }
        store.panel.compared.set(looks.compare);
        wanted.set(looks.place);
        moment.set(looks.moment);
        // The address that the page navigated to does not say what is shown.
        browser::after(0, move || store.write_address(&route::KEPT));
    });
    Effect::new(move |_| {
        let Some(at) = moment.get() else { return };
        store.reading.seq.track();
        let is_shown = store.reading.conversation.with(|shown| *shown == navigation.conversation());
        if is_shown && store.reading.live.get() {
            moment.set(None);
            store.start_replay(Some(at));
            store.write_address(&route::PLACE);
        }
    });
    Effect::new(move |_| {
        let Some(place) = wanted.get() else { return };
        store.reading.seq.track();
        let is_shown = store.reading.conversation.with(|shown| *shown == navigation.conversation());
        if is_shown && store.reading.live.get() && store.modules.has(PageModule::Conversation) {
            wanted.set(None);
            // The painting that is going on makes the rows.
            browser::after(0, move || {
                store.with_whole(move || {
                    store.reveal_place(&place);
                    store.write_address(&route::PLACE);
                });
            });
        }
    });
}

/// How long the page says that the first event has arrived before it shows the conversation, in milliseconds.
const FIRST_MS: i32 = 900;

/// Opens a conversation when the address names none: a running one first, otherwise the one with the newest
/// event. If there was none before, the page first says that the first event has arrived.
fn settle(store: Store, navigation: Navigation) {
    Effect::new(move |was_empty: Option<bool>| {
        store.track_fleet();
        if navigation.conversation().is_some()
            || navigation.is_wall()
            || navigation.is_new()
            || store.reading.recording.with(Option::is_some)
        {
            return false;
        }
        let newest: Option<ConversationId> = store.reading.model(|model| {
            let rows = model.fleet()?.values();
            let newest = rows.max_by_key(|row| (row.state == Some(RunStatus::Running), row.at))?;
            Some(newest.conversation.clone())
        });
        let Some(newest) = newest else { return store.reading.model(|model| model.fleet().is_some()) };
        if was_empty != Some(true) {
            navigation.settle(&newest);
        } else if store.panel.first.with_untracked(Option::is_none) {
            store.panel.first.set(Some(newest.to_string()));
            browser::after(FIRST_MS, move || {
                if navigation.conversation().is_none() && !navigation.is_wall() && !navigation.is_new() {
                    navigation.settle(&newest);
                }
            });
        }
        was_empty == Some(true)
    });
}

/// Announces events to screen readers: politely that a run is over; at once that the connection is lost or
/// that a call needs approval. Whether a call needs approval is heard from the list, for all conversations;
/// the end of a run only for the open one.
fn speak(store: Store) {
    Effect::new(move |was: Option<((Option<ConversationId>, u32), bool)>| {
        let looked = (store.reading.conversation.get(), store.reading.recordings.get());
        let now = (looked, store.reading.running.get());
        // A conversation that is shown in a tile of the wall opens and closes without an announcement.
        let is_told = !store.panel.wall.get_untracked() && store.replay.told.with_untracked(Option::is_none);
        if is_told && speech::has_ended(was.as_ref(), &now) {
            let status = store.reading.view(|view| view.runs.values().next_back().map(|run| run.status));
            let words = match status {
                Some(RunStatus::Error) => "The run failed",
                Some(RunStatus::Interrupted) => "The run was interrupted",
                Some(RunStatus::Cancelled) => "The run was cancelled",
                _ => "Answer complete",
            };
            store.spoken.tell(words.to_owned());
        }
        now
    });
    Effect::new(move |was: Option<Status>| {
        let now = store.link.status.get();
        if was.is_some_and(|was| now.is_lost_since(&was)) {
            store.spoken.interrupt("Connection lost".to_owned());
        }
        now
    });
    let asking = StoredValue::new_local(Asking::default());
    Effect::new(move |_| {
        store.track_fleet();
        let words = asking.try_update_value(|asking| {
            store.reading.model(|model| asking.hear(model.fleet()?.values(), model.fleet_end()))
        });
        if let Some(words) = words.flatten() {
            store.spoken.interrupt(words);
        }
    });
}
