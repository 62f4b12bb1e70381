//! Patterns that readers type: the browser's own regular expressions.

use std::ops::Range;

use js_sys::{Array, Function, JsString, Reflect, RegExp};
use wasm_bindgen::{JsCast, JsValue};

use crate::browser;
use crate::find::Matcher;

/// Most places in one text.
const PLACES_MAX: usize = 10_000;

/// A regular expression; upper and lower case are the same, `^` and `$` are those of a line.
pub(crate) struct Pattern {
    of: RegExp,
    exec: Function,
}

impl Pattern {
    /// The pattern `source`, or what is wrong with it, in the browser's words.
    pub(crate) fn new(source: &str) -> Result<Self, String> {
        let bad = |error: JsValue| {
            let said = error.dyn_into::<js_sys::Error>().ok().map(|error| String::from(error.message()));
            said.unwrap_or_else(|| "This is no pattern".to_owned())
        };
        let make = Reflect::get(&browser::window(), &"RegExp".into()).and_then(JsCast::dyn_into::<Function>);
        let made = Reflect::construct(&make.map_err(bad)?, &Array::of2(&source.into(), &"gim".into()));
        let of: RegExp = made.and_then(JsCast::dyn_into).map_err(bad)?;
        let exec = Reflect::get(&of, &"exec".into()).and_then(JsCast::dyn_into).map_err(bad)?;
        Ok(Self { of, exec })
    }
}

impl Matcher for Pattern {
    fn places(&self, text: &str) -> Vec<Range<usize>> {
        let mut places = Vec::new();
        let mut units = Units { text, unit: 0, byte: 0 };
        let whole = JsString::from(text);
        self.of.set_last_index(0);
        while places.len() < PLACES_MAX
            && let Ok(found) = self.exec.call1(&self.of, &whole)
            && let Some(found) = found.dyn_ref::<Array>()
        {
            let start = Reflect::get(found, &"index".into()).ok().and_then(|at| at.as_f64());
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a place in a string"
            )]
            let start = start.unwrap_or_default() as u32;
            let len = found.get(0).dyn_into::<JsString>().map_or(0, |it| it.length());
            if len == 0 {
                self.of.set_last_index(start.saturating_add(1));
                continue;
            }
            let from = units.byte_at(start);
            places.push(from..units.byte_at(start.saturating_add(len)));
        }
        places
    }
}

/// Goes through a text that JavaScript counts in UTF-16.
struct Units<'a> {
    text: &'a str,
    unit: u32,
    byte: usize,
}

impl Units<'_> {
    /// The byte at `unit`, which is not before the last one that was asked for.
    fn byte_at(&mut self, unit: u32) -> usize {
        let mut rest = self.text.get(self.byte..).unwrap_or_default().chars();
        while self.unit < unit
            && let Some(sign) = rest.next()
        {
            self.unit = self.unit.saturating_add(u32::try_from(sign.len_utf16()).unwrap_or(1));
            self.byte = self.byte.saturating_add(sign.len_utf8());
        }
        self.byte
    }
}
