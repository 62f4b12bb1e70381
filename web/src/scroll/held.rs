//! A row that keeps its place on the screen while the page changes.

use std::rc::Rc;

use web_sys::Element;

use super::{Parts, Scroller};
use crate::browser;

/// A row that the reader looks at, and where on the screen.
pub(crate) struct HeldRow {
    parts: Rc<Parts>,
    row: Element,
    row_y: f64,
    /// The id of the row or of what it is in, by which it is found should it be drawn anew.
    id: Option<String>,
    /// Its turn, should the change remove the row, and where that then belongs.
    turn: Option<(Element, f64)>,
}

impl HeldRow {
    /// Scrolls so that it is where it was. Does nothing once it and its turn are gone.
    pub(crate) fn put_back(self) {
        let drawn_anew = || browser::document().get_element_by_id(self.id.as_deref()?);
        if self.row.is_connected() {
            self.parts.correct(&self.row, self.row_y);
        } else if let Some(row) = drawn_anew() {
            self.parts.correct(&row, self.row_y);
        } else if let Some((turn, y)) = self.turn.filter(|(turn, _)| turn.is_connected()) {
            self.parts.correct(&turn, y);
        }
    }
}

impl Scroller {
    /// Keeps the first visible row at its place during the next change; if it is removed, its run. Does
    /// nothing while the view follows the end.
    pub(crate) fn hold_first(&self) {
        if let Some(held) = self.first_held() {
            browser::before_paint(move || held.put_back());
        }
    }

    /// The first visible row, to be put back where it is now after a change; `None` while the view follows
    /// the end.
    pub(crate) fn first_held(&self) -> Option<HeldRow> {
        let parts = self.0.clone().filter(|parts| !parts.follow.get().is_on())?;
        let top = parts.window.get_bounding_client_rect().top();
        let (row, row_y) = parts.first()?;
        let id = row.closest(".turn [id]").ok().flatten().map(|it| it.id());
        let turn = row.closest(".turn").ok().flatten().map(|turn| {
            let y = turn.get_bounding_client_rect().top();
            (turn, y.max(top))
        });
        Some(HeldRow { parts, row, row_y, id, turn })
    }
}
