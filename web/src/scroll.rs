//! Scrolling of the conversation: following its end, holding what the reader looks at, and bringing cards
//! into view.
//!
//! The rule of following is in `crate::follow`; `row` finds what the reader looks at.
//!
//! ```text
//! the end grows, the view follows       ─▶ stick: scrolled to the end after each painting
//! the reader scrolls up, clicks, jumps  ─▶ released; from then on nothing moves what is looked at
//! the reader scrolls down to the end    ─▶ follows again
//! a header is clicked while released    ─▶ hold: after the change it is moved back to where it was on the screen
//! ```
//!
//! Whether a scroll event comes from the reader is told by the input before it: browsers do not say.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;
use web_sys::{Element, Event, HtmlElement, ResizeObserver, WheelEvent};

use crate::browser;
use crate::follow::{Follow, Place};
use crate::number::decimal;

mod earlier;
mod held;
mod row;

pub(crate) use held::HeldRow;

/// Where the top of a revealed card is placed, as a part of the window's height.
const REVEAL_AT: f64 = 0.3;

/// How long scrolling after an input counts as its effect, in milliseconds: browsers scroll smoothly.
const INPUT_MS: u64 = 500;

/// How long a revealed card is marked, in milliseconds.
const FLASH_MS: i32 = 1_200;

/// The state of scrolling, once the conversation is on the page.
struct Parts {
    window: HtmlElement,
    content: HtmlElement,
    /// The room below the content that keeps a clicked header at its place when what it had unfolded is
    /// removed.
    spacer: HtmlElement,
    spacer_px: Cell<f64>,
    follow: Cell<Follow>,
    /// The time of the last input that scrolls, by the browser's clock, in milliseconds since 1970.
    input_at: Cell<u64>,
    /// Whether a button or a finger is down, as on a scroll bar.
    is_down: Cell<bool>,
    /// Whether the next scroll event is the effect of following the end.
    is_own: Cell<bool>,
    /// For browsers without scroll anchoring: the row at the top of the window, and its distance from the top
    /// of the screen.
    held: RefCell<Option<(Element, f64)>>,
    /// When earlier rows were loaded last, by the browser's clock, in milliseconds since 1970.
    loaded_at: Cell<u64>,
    /// When the reader scrolled last, by the same clock.
    scrolled_at: Cell<u64>,
    /// Whether earlier rows are loaded once nothing moves.
    is_waiting: Cell<bool>,
    /// Called with whether the view follows the end, at each change.
    told: RefCell<Box<dyn Fn(bool)>>,
}

/// A handle; all copies refer to the same state. It does nothing before the conversation is on the page.
#[derive(Clone, Default)]
pub(crate) struct Scroller(Option<Rc<Parts>>);

impl Scroller {
    /// Takes the elements and adds the listeners. `told` is called with whether the view follows the end, at
    /// each change.
    pub(crate) fn of(
        window: HtmlElement,
        content: HtmlElement,
        spacer: HtmlElement,
        told: impl Fn(bool) + 'static,
    ) -> Self {
        let parts = Rc::new(Parts {
            window,
            content,
            spacer,
            spacer_px: Cell::new(0.0),
            follow: Cell::default(),
            input_at: Cell::new(0),
            is_down: Cell::new(false),
            is_own: Cell::new(false),
            held: RefCell::default(),
            loaded_at: Cell::new(0),
            scrolled_at: Cell::new(0),
            is_waiting: Cell::new(false),
            told: RefCell::new(Box::new(told)),
        });
        let seen = Rc::clone(&parts);
        browser::watch(&parts.window, "scroll", move |_: Event| seen.scrolled());
        for (name, is_down) in [("pointerdown", true), ("pointerup", false), ("pointercancel", false)] {
            let pressed = Rc::clone(&parts);
            browser::watch(&parts.window, name, move |_: Event| pressed.touched(is_down));
        }
        let moved = Rc::clone(&parts);
        browser::watch(&parts.window, "touchmove", move |_: Event| {
            moved.touched(true);
            moved.load_at_beginning();
        });
        let turned = Rc::clone(&parts);
        browser::watch(&parts.window, "wheel", move |event: WheelEvent| {
            turned.input_at.set(browser::now_ms());
            if event.delta_y() < 0.0 {
                turned.set(Follow::release);
                turned.load_at_beginning();
            }
        });
        let grown = Rc::clone(&parts);
        let observed = Closure::<dyn FnMut()>::new(move || grown.resized());
        if let Ok(observer) = ResizeObserver::new(observed.as_ref().unchecked_ref()) {
            observer.observe(&parts.content);
            observer.observe(&parts.window);
            std::mem::forget(observer);
        }
        observed.forget();
        parts.anchor();
        Self(Some(parts))
    }

    /// Scrolls to the end and follows it.
    pub(crate) fn to_end(&self) {
        if let Some(parts) = &self.0 {
            parts.space(0.0);
            parts.set(Follow::resume);
            parts.go_down();
        }
    }

    /// Scrolls to the end, if the view follows it.
    pub(crate) fn stick(&self) {
        if let Some(parts) = &self.0 {
            parts.stick();
        }
    }

    /// Marks the scrolling that follows as the reader's.
    pub(crate) fn by_hand(&self) {
        if let Some(parts) = &self.0 {
            parts.input_at.set(browser::now_ms());
        }
    }

    /// Stops following the end.
    pub(crate) fn release(&self) {
        if let Some(parts) = &self.0 {
            parts.set(Follow::release);
        }
    }

    /// Keeps `element` at its place on the screen during the next change of the page. Stops following.
    pub(crate) fn hold(&self, element: &Element) {
        let Some(parts) = self.0.clone() else { return };
        let (element, before) = (element.clone(), element.get_bounding_client_rect().top());
        parts.set(Follow::release);
        browser::before_paint(move || parts.correct(&element, before));
    }

    /// Scrolls the element with the id `id` to [`REVEAL_AT`] of the window's height, and marks it for a
    /// moment. Nothing if it is not in the document.
    pub(crate) fn reveal(&self, id: &str) {
        let Some(parts) = &self.0 else { return };
        let Some(card) = browser::document().get_element_by_id(id) else { return };
        let window = parts.window.get_bounding_client_rect();
        let wanted = window.top() + window.height() * REVEAL_AT;
        parts.scroll_by(card.get_bounding_client_rect().top() - wanted);
        // Only the card itself gets the class, so that the browser restyles nothing above it.
        drop(card.class_list().add_1("flash"));
        browser::after(FLASH_MS, move || drop(card.class_list().remove_1("flash")));
    }
}

impl Scroller {
    /// Scrolls the stretch between `top` and `bottom` of the screen into view, unless it is visible.
    pub(crate) fn reach(&self, top: f64, bottom: f64) {
        let Some(parts) = &self.0 else { return };
        let window = parts.window.get_bounding_client_rect();
        if top < window.top() || bottom > window.bottom() {
            parts.scroll_by(top - window.top() - window.height() * REVEAL_AT);
        }
    }
}

impl Parts {
    /// Changes the state of following, and reports the change.
    fn set(&self, change: impl FnOnce(&mut Follow)) {
        let mut follow = self.follow.get();
        let before = follow.is_on();
        change(&mut follow);
        self.follow.set(follow);
        if follow.is_on() != before {
            self.anchor();
            self.keep();
            (self.told.borrow())(follow.is_on());
        }
    }

    /// Turns the browser's scroll anchoring off while the view follows: rows are then removed above, and
    /// anchoring would move the view up by their height, which looks like a move of the reader.
    fn anchor(&self) {
        let anchor = if self.follow.get().is_on() { "none" } else { "auto" };
        drop(self.window.style().set_property("overflow-anchor", anchor));
    }

    /// The scroll position and the heights of the window.
    fn place(&self) -> Place {
        Place {
            top: f64::from(self.window.scroll_top()),
            window: f64::from(self.window.client_height()),
            content: f64::from(self.window.scroll_height()),
        }
    }

    /// Notes an input of the reader. `is_down` is whether a button or a finger is down now.
    fn touched(&self, is_down: bool) {
        self.is_down.set(is_down);
        self.input_at.set(browser::now_ms());
    }

    /// Handles a scroll event.
    fn scrolled(self: &Rc<Self>) {
        // While a text streams, each frame causes such an event before the new content is laid out. Reading
        // the position would make the browser lay it out twice. A move by the reader is noticed by the next
        // `stick`.
        if self.is_own.replace(false) && !self.is_by_hand() {
            return;
        }
        self.look();
        // The room is not needed once it is out of sight.
        let place = self.place();
        let spare = place.content - place.window - place.top;
        if self.spacer_px.get() > 0.0 && spare > self.spacer_px.get() {
            self.space(0.0);
        }
        self.keep();
        self.scrolled_at.set(browser::now_ms());
        self.load_once_still();
    }

    /// Handles a change of the size of the content or the window.
    fn resized(&self) {
        self.stick();
        if self.follow.get().is_on() {
            return;
        }
        match self.held.take() {
            // An element that was removed or hidden has no height.
            Some((row, y)) if row.client_height() > 0 => {
                self.correct(&row, y);
                let y = row.get_bounding_client_rect().top();
                self.held.replace(Some((row, y)));
            }
            _ => self.keep(),
        }
    }

    /// Remembers what the reader looks at, in browsers without scroll anchoring; those do not know the
    /// property.
    fn keep(&self) {
        let is_known =
            self.window.style().get_property_value("overflow-anchor").is_ok_and(|it| !it.is_empty());
        if !is_known && !self.follow.get().is_on() {
            self.held.replace(self.first());
        }
    }

    /// The row at the top of the window, and its distance from the top of the screen.
    fn first(&self) -> Option<(Element, f64)> {
        row::first(&self.content, self.window.get_bounding_client_rect().top())
    }

    /// Whether scrolling now is the effect of an input.
    fn is_by_hand(&self) -> bool {
        self.is_down.get() || browser::now_ms().saturating_sub(self.input_at.get()) < INPUT_MS
    }

    /// Passes the scroll position to the rule of following.
    fn look(&self) {
        let (place, by_hand) = (self.place(), self.is_by_hand());
        self.set(|follow| follow.scrolled(place, by_hand));
    }

    /// Scrolls to the end, if the view follows it.
    fn stick(&self) {
        if !self.follow.get().is_on() {
            return;
        }
        self.look();
        if self.follow.get().is_on() {
            self.go_down();
        }
    }

    /// Scrolls to the end.
    fn go_down(&self) {
        let before = self.window.scroll_top();
        self.window.set_scroll_top(self.window.scroll_height());
        self.look();
        self.is_own.set(self.window.scroll_top() != before);
    }

    /// Sets the height of the room below the content, in CSS pixels.
    fn space(&self, px: f64) {
        if self.spacer_px.replace(px).to_bits() != px.to_bits() {
            drop(self.spacer.style().set_property("height", &format!("{}px", decimal(px))));
        }
    }

    /// Scrolls `element` back to `y` on the screen.
    fn correct(&self, element: &Element, y: f64) {
        let off = element.get_bounding_client_rect().top() - y;
        if off.abs() < 0.5 {
            return;
        }
        self.scroll_by(off);
        // At the end of the content there may be nothing to scroll; then room is added.
        let left = element.get_bounding_client_rect().top() - y;
        if left > 0.5 {
            self.space(self.spacer_px.get() + left);
            self.scroll_by(left);
        }
    }

    /// Scrolls by `px` CSS pixels.
    fn scroll_by(&self, px: f64) {
        #[expect(clippy::cast_possible_truncation, reason = "pixels of a page")]
        let top = (f64::from(self.window.scroll_top()) + px).round() as i32;
        self.window.set_scroll_top(top);
    }
}
