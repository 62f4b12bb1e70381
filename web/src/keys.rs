//! The keyboard: one table of all commands with their keys, which the key handler, the list of keys and the
//! palette read.
//!
//! Single keys do nothing in inputs, with a modifier, and if the reader has switched them off.
//!
//! `control` has the commands for agents and turns, `replay` the keys of a replay.
//!
//! ```text
//! keydown ─▶ Press (key, modifier, focus, screen) ─▶ keyboard::action_of ─▶ KeyAction ─▶ obey ─▶ Command::run
//!                                                     (pure, tested natively)
//! ```
//!
//! A key that does nothing here is left to the browser. `g` begins a key of two: the second counts within
//! [`PREFIX_MS`].

use std::cell::Cell;

use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, KeyboardEvent};

use crate::browser;
use crate::find::Place;
use crate::keyboard::{Focus, KeyAction, Modifier, Press, Screen, action_of};
use crate::open::Level;
use crate::rights::ReaderAction;
use crate::route::SEARCH;
use crate::scroll::Scroller;
use crate::store::{OpenDialog, Sheet, Store, Tab};
use leptos::prelude::*;
use model::event::ToolState;
use model::{MessageId, PartId, RunId, ToolCallId};

mod control;
mod replay;

/// A command of the page and its keys. One that has no keys here is listed only; another part of the page
/// hears them.
#[derive(Clone, Copy)]
pub(crate) struct Command {
    /// The keys that run it, by the browser's names; two keys with a space between are pressed one after the
    /// other.
    keys: &'static [&'static str],
    /// The keys as they are shown.
    pub(crate) shown: &'static str,
    /// What it does, as the list of keys and the palette say it.
    pub(crate) title: &'static str,
    /// The function that runs the command.
    run: fn(Store),
    /// What it takes; without that it is not offered.
    takes: Takes,
}

/// What a command takes beside the page.
#[derive(Clone, Copy)]
enum Takes {
    /// The command takes nothing else.
    Nothing,
    /// The command takes the right of the reader to do this here.
    Right(ReaderAction),
    /// The command takes agents of the hub, and the right of the reader to do this here.
    Agents(ReaderAction),
    /// Agents of the hub, and that the reader may write here.
    Writing,
    /// Agents of the hub, and that the reader may begin a conversation.
    Beginning,
}

impl Command {
    /// Whether the hub can execute it, and would. Tracks the hub's agents and what the reader may do.
    pub(crate) fn is_offered(&self, store: Store) -> bool {
        let has_agents = || store.control.has_agents();
        match self.takes {
            Takes::Nothing => true,
            Takes::Right(action) => store.may(action),
            Takes::Agents(action) => has_agents() && store.may(action),
            Takes::Writing => has_agents() && store.may_say(),
            Takes::Beginning => has_agents() && store.beginning().is_some(),
        }
    }

    /// Runs the command of the page.
    pub(crate) fn run(self, store: Store) {
        (self.run)(store);
    }
}

/// A command that takes nothing.
const fn command(
    keys: &'static [&'static str],
    shown: &'static str,
    title: &'static str,
    run: fn(Store),
) -> Command {
    Command { keys, shown, title, run, takes: Takes::Nothing }
}

/// A command that takes something.
const fn with(
    takes: Takes,
    keys: &'static [&'static str],
    shown: &'static str,
    title: &'static str,
    run: fn(Store),
) -> Command {
    Command { keys, shown, title, run, takes }
}

/// All commands, in the order of the list of keys.
pub(crate) const COMMANDS: [Command; 48] = [
    command(&["1"], "1", "Show the answers alone", |store| store.reading.choose_level(Level::Answer)),
    command(&["2"], "2", "Show the steps", |store| store.reading.choose_level(Level::Steps)),
    command(&["3"], "3", "Show everything", |store| store.reading.choose_level(Level::All)),
    command(&["c"], "c", "Fold the steps, and back", |store| store.reading.toggle_level()),
    command(&["f", "End"], "f or End", "Follow the end", |store| store.reading.follow()),
    command(&["j"], "j", "Next row", |store| step(store, ROWS, 1)),
    command(&["k"], "k", "Previous row", |store| step(store, ROWS, -1)),
    command(&["]"], "]", "Next turn", |store| step(store, TURNS, 1)),
    command(&["["], "[", "Previous turn", |store| step(store, TURNS, -1)),
    command(&["o"], "o or Enter", "Open or close the row", |_| toggle_focused()),
    command(&["e"], "e", "Next failed call", |store| next_call(store, &[ToolState::Error])),
    command(&["r"], "r", "Next running call", |store| next_call(store, &[ToolState::Executing])),
    command(&["a"], "a", "Next call that waits for approval", |store| {
        next_call(store, &[ToolState::Approval]);
    }),
    with(Takes::Agents(ReaderAction::Approve), &["A"], "A", "Approve the call", |store| {
        control::press(store, "approve");
    }),
    with(
        Takes::Agents(ReaderAction::Approve),
        &["E"],
        "E",
        "Edit the call, or the message to run it again",
        control::edit,
    ),
    with(Takes::Agents(ReaderAction::Reject), &["R"], "R", "Reject the call", |store| {
        control::press(store, "reject");
    }),
    with(Takes::Writing, &["m"], "m", "Write a message", |_| browser::focus("composer")),
    with(Takes::Beginning, &["n"], "n", "New conversation", control::begin),
    with(Takes::Agents(ReaderAction::Stop), &["."], ".", "Stop the run", Store::stop),
    with(Takes::Agents(ReaderAction::Retry), &[","], ",", "Retry or resume the run", |store| {
        control::press(store, "go-on");
    }),
    with(Takes::Right(ReaderAction::Fork), &["F"], "F", "Fork from the turn", control::fork),
    command(&["C"], "C", "Copy the turn", control::copy),
    command(&["d", "g d"], "d", "Compare with another conversation", |store| {
        store.open_dialog(OpenDialog::Compare);
    }),
    command(&["/"], "/ or Ctrl F", "Find", Store::ask_word),
    command(&["F3"], "F3", "Next hit", |store| step_hit(store, 1)),
    command(&["g f"], "g f", "Search all conversations", |_| browser::leave_for(SEARCH)),
    command(&["s"], "s", "Tools", |store| store.panel.toggle_tools()),
    command(&["t"], "t", "Timeline", Store::toggle_timeline),
    command(&["p"], "p", "Replay", |store| store.start_replay(None)),
    command(&[], "Space", "Replay: play or pause", Store::toggle_playing),
    command(&[], "← →", "Replay: previous or next event; with Shift, step", |store| {
        store.step_replay(1, false);
    }),
    command(&[], "< >", "Replay: slower or faster", |store| store.change_speed(1)),
    command(&["g a"], "g a", "Agents", |store| store.inspect(None)),
    command(&["g h"], "g h", "Outline", |store| store.panel.show_tab(Tab::Outline)),
    command(&["g i"], "g i", "Details", |store| store.panel.show_tab(Tab::Details)),
    command(&["g l"], "g l", "Filter conversations", focus_filter),
    command(&["g w"], "g w", "All conversations as tiles, and back", Store::toggle_wall),
    command(&["g s"], "g s", "Settings", |store| store.open_dialog(OpenDialog::Settings)),
    command(&["g e"], "g e", "Export", |store| store.open_dialog(OpenDialog::Export)),
    with(Takes::Right(ReaderAction::Share), &["g k"], "g k", "Share", |store| store.open_sharing(None)),
    with(Takes::Right(ReaderAction::Label), &["g r"], "g r", "Rename the conversation", Store::rename),
    with(
        Takes::Right(ReaderAction::Label),
        &["g o"],
        "g o",
        "Organise: pin, archive, tags and note",
        |store| {
            store.open_dialog(OpenDialog::Order);
        },
    ),
    command(&["y"], "y", "Copy the output of the row", copy_output),
    command(&["Y"], "Y", "Copy a link to the row", copy_link),
    command(&["g y"], "g y", "Copy a link to this moment", copy_moment),
    command(&[], "Ctrl K", "All commands and conversations", |store| store.open_dialog(OpenDialog::Palette)),
    command(&["?"], "?", "Keys", |store| store.toggle_dialog(OpenDialog::Help)),
    command(&["Escape"], "Esc", "Close", close),
];

/// The elements through which the keys j and k move.
const ROWS: &str = ".scroll [data-nav]";
/// The beginnings of turns: messages of the user, and runs.
const TURNS: &str = ".scroll .user, .scroll .turn";

/// How long the first of two keys counts, in milliseconds.
const PREFIX_MS: u64 = 1_500;

thread_local! {
    /// When `g` was pressed last, in milliseconds since 1970; 0 once the second key has come.
    static PREFIX_AT: Cell<u64> = const { Cell::new(0) };
}

/// Elements that scroll and handle the keys for it while they have the focus.
const BOXES: &str =
    "[tabindex='0']:not(#transcript), .list, .tools, .drawer, .wall, [role=listbox], [role=slider]";

/// Adds the listener for keys, for as long as the page is open. While a letter is being composed, as for
/// Chinese, keys are not looked at. During a replay its keys come first.
pub(crate) fn listen(store: Store) {
    browser::listen(&browser::document(), "keydown", move |event: KeyboardEvent| {
        if event.is_composing() {
            return;
        }
        let key = event.key();
        let pressed = Press {
            key: &key,
            held: match () {
                () if event.ctrl_key() || event.meta_key() => Modifier::Control,
                () if event.alt_key() => Modifier::Alt,
                () => Modifier::Nothing,
            },
            focus: focus_of(&event),
            shown: match store.panel.dialog.get_untracked() {
                _ if store.reading.is_bare => Screen::Bare,
                OpenDialog::None => Screen::Page,
                _ => Screen::Dialog,
            },
            is_off: store.panel.keys_off.get_untracked(),
        };
        let is_plain = pressed.held == Modifier::Nothing;
        let is_taken = (is_plain && replay::press(store, &event)) || obey(store, &event, action_of(pressed));
        if is_taken {
            event.prevent_default();
        }
    });
}

/// Does what was decided. False if the browser's default action is to follow.
fn obey(store: Store, event: &KeyboardEvent, action: KeyAction) -> bool {
    match action {
        KeyAction::Nothing => return false,
        KeyAction::Palette => store.toggle_dialog(OpenDialog::Palette),
        KeyAction::Find => store.ask_word(),
        KeyAction::Hit => step_hit(store, if event.shift_key() { -1 } else { 1 }),
        KeyAction::Leave => return leave_input(),
        KeyAction::Up => {
            store.reading.release();
            return scroll(store, &event.key());
        }
        KeyAction::Down => return scroll(store, &event.key()),
        KeyAction::Key => return press(store, &event.key()),
    }
    true
}

/// How far an arrow key scrolls, in CSS pixels.
const LINE_PX: i32 = 40;

/// Scrolls the conversation or the wall by `key`, wherever the focus is: the document itself does not scroll.
/// False if neither is on the page.
fn scroll(store: Store, key: &str) -> bool {
    let window = if store.panel.wall.get_untracked() { ".wall" } else { "#transcript" };
    let Ok(Some(window)) = browser::document().query_selector(window) else { return false };
    let (top, height) = (window.scroll_top(), window.client_height());
    let page = height.saturating_sub(LINE_PX).max(LINE_PX);
    store.reading.scroller.with_value(Scroller::by_hand);
    window.set_scroll_top(match key {
        "Home" => 0,
        "ArrowUp" => top.saturating_sub(LINE_PX),
        "PageUp" => top.saturating_sub(page),
        "ArrowDown" => top.saturating_add(LINE_PX),
        _ => top.saturating_add(page),
    });
    true
}

/// The kind of the element that has the focus.
fn focus_of(event: &KeyboardEvent) -> Focus {
    let Some(target) = event.target().and_then(|target| target.dyn_into::<Element>().ok()) else {
        return Focus::Page;
    };
    match target.tag_name().as_str() {
        "INPUT" | "TEXTAREA" | "SELECT" => Focus::Text,
        _ if target.closest(BOXES).is_ok_and(|it| it.is_some()) => Focus::Box,
        _ => Focus::Page,
    }
}

/// Removes the focus from the focused element. False if there is none.
fn leave_input() -> bool {
    let focused = browser::document().active_element().and_then(|it| it.dyn_into::<HtmlElement>().ok());
    focused.is_some_and(|it| it.blur().is_ok())
}

/// Runs the command of `key`. False if there is none or it is not offered.
fn press(store: Store, key: &str) -> bool {
    let now = browser::now_ms();
    let is_second = PREFIX_AT.with(|at| now.saturating_sub(at.replace(0)) < PREFIX_MS);
    let pressed = if is_second { format!("g {key}") } else { key.to_owned() };
    if key == "g" {
        PREFIX_AT.with(|at| at.set(now));
        return true;
    }
    if key == "Escape"
        && store.panel.dialog.get_untracked() == OpenDialog::None
        && store.panel.sheet.get_untracked() == Sheet::None
        && !store.panel.wall.get_untracked()
    {
        return false;
    }
    let Some(command) = COMMANDS.iter().find(|command| command.keys.contains(&pressed.as_str())) else {
        return false;
    };
    if !untrack(|| command.is_offered(store)) {
        return false;
    }
    command.run(store);
    true
}

/// Closes what is on top: the dialog, else the sheet, else the wall.
fn close(store: Store) {
    if store.panel.dialog.get_untracked() != OpenDialog::None {
        store.open_dialog(OpenDialog::None);
    } else if store.panel.sheet.get_untracked() != Sheet::None {
        store.panel.sheet.set(Sheet::None);
    } else {
        store.toggle_wall();
    }
}

/// Focuses the filter of the list or of the wall. On a narrow page the list is opened first.
fn focus_filter(store: Store) {
    if store.panel.wall.get_untracked() {
        return browser::focus("wall-filter");
    }
    if browser::width() < 800.0 {
        store.panel.sheet.set(Sheet::List);
    }
    browser::focus("filter");
}

/// Moves the focus by `by` among the elements of `selector`, from the focused one, otherwise from the first
/// visible one. The view stops following the end. After the last element the focus stays.
fn step(store: Store, selector: &str, by: isize) {
    store.reading.release();
    let document = browser::document();
    let Ok(found) = document.query_selector_all(selector) else { return };
    let rows: Vec<HtmlElement> = (0..found.length()).filter_map(|n| found.get(n)?.dyn_into().ok()).collect();
    let focused = document.active_element();
    let at = rows.iter().rposition(|row| focused.as_ref().is_some_and(|it| row.contains(Some(it))));
    let next = match at {
        Some(at) => at.checked_add_signed(by),
        None => rows.iter().position(|row| row.get_bounding_client_rect().top() >= 44.0),
    };
    if let Some(row) = next.and_then(|next| rows.get(next)) {
        if row.tab_index() < 0 {
            // A turn is not a control; it gets the focus only so that the next key starts from it.
            row.set_tab_index(-1);
        }
        drop(row.focus());
    }
}

/// Folds or unfolds the focused row; nothing if something else has the focus.
fn toggle_focused() {
    let focused = browser::document().active_element().and_then(|it| it.dyn_into::<HtmlElement>().ok());
    if let Some(row) = focused.filter(|it| it.has_attribute("data-nav")) {
        row.click();
    }
}

/// Shows the next call in one of the `states` after the focused one, in the order of the conversation; after
/// the last, the first. Screen readers hear if there is none.
fn next_call(store: Store, states: &'static [ToolState]) {
    store.with_whole(move || next_call_of_all(store, states));
}

/// The same once all calls are known.
fn next_call_of_all(store: Store, states: &[ToolState]) {
    let calls: Vec<(RunId, ToolCallId)> = store.reading.view(|view| {
        let calls =
            view.runs.iter().flat_map(|(run, it)| it.tools.iter().map(move |(id, tool)| (run, id, tool)));
        let wanted = calls.filter(|(.., tool)| states.contains(&tool.state));
        wanted.map(|(run, id, _)| (run.clone(), id.clone())).collect()
    });
    let here = match focused_place() {
        Some(Place::Tool(run, id)) => calls.iter().position(|call| *call == (run.clone(), id.clone())),
        _ => None,
    };
    let next = here.and_then(|at| calls.get(at.saturating_add(1))).or_else(|| calls.first());
    if let Some(call) = next {
        store.reveal(call);
        let id = crate::store::card_id(&call.0, &call.1);
        browser::after(50, move || browser::focus_in(&id, "button"));
    } else {
        store.spoken.set("No such call".to_owned());
    }
}

/// Goes to the next or the previous hit in the panel; after the last, the first. Opens the Find tab if it is
/// not shown.
fn step_hit(store: Store, by: isize) {
    if store.panel.tab.get_untracked() != Tab::Find {
        store.panel.show_tab(Tab::Find);
    }
    let Ok(found) = browser::document().query_selector_all("[data-t=hit]") else { return };
    let hits: Vec<HtmlElement> = (0..found.length()).filter_map(|n| found.get(n)?.dyn_into().ok()).collect();
    let Some(last) = hits.len().checked_sub(1) else { return };
    let now = hits.iter().position(|hit| hit.has_attribute("aria-current"));
    let next = match (now, by) {
        (None, 1..) => 0,
        (None, _) => last,
        (Some(now), 1..) => {
            if now >= last {
                0
            } else {
                now.saturating_add(1)
            }
        }
        (Some(now), _) => now.checked_sub(1).unwrap_or(last),
    };
    for (at, hit) in hits.iter().enumerate() {
        if at == next {
            drop(hit.set_attribute("aria-current", "true"));
            hit.scroll_into_view_with_bool(false);
            hit.click();
        } else {
            drop(hit.remove_attribute("aria-current"));
        }
    }
}

/// The item that contains the focus, read from the attributes of the elements around it.
fn focused_place() -> Option<Place> {
    let focused = browser::document().active_element()?;
    let named = focused.closest("[data-call], [data-part], [data-message]").ok()??;
    if let Some(message) = named.get_attribute("data-message") {
        return Some(Place::Message(MessageId::new(&message)));
    }
    let run = RunId::new(&named.closest("[data-run]").ok()??.get_attribute("data-run")?);
    match named.get_attribute("data-call") {
        Some(call) => Some(Place::Tool(run, ToolCallId::new(&call))),
        None => Some(Place::Part(run, PartId::new(&named.get_attribute("data-part")?))),
    }
}

/// Copies the text of the focused row: the result of a call, a part, or a message.
fn copy_output(store: Store) {
    let place = focused_place();
    let text = match place {
        Some(Place::Tool(run, id)) => return store.copy_result(run, id),
        Some(Place::Part(run, id)) => {
            store.reading.view(|view| Some(view.runs.get(&run)?.parts.get(&id)?.body.text.to_string()))
        }
        Some(Place::Message(id)) => store.reading.view(|view| Some(view.messages.get(&id)?.text.to_string())),
        None => None,
    };
    match text {
        Some(text) => store.copy(&text, "Copied", |_| {}),
        None => store.spoken.set("No row has the focus".to_owned()),
    }
}

/// Copies a link that shows others what is shown now, whatever happens later.
fn copy_moment(store: Store) {
    if let Some(link) = store.link_to_now() {
        store.copy(&link, "Link copied", |_| {});
    }
}

/// Copies a link to the focused row, otherwise to the view.
fn copy_link(store: Store) {
    if let Some(link) = store.link(focused_place()) {
        store.copy(&link, "Link copied", |_| {});
    }
}
