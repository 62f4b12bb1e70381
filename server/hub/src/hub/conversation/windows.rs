//! The windows of a conversation: which part of it newcomers get who ask for the newest one.
//!
//! ```text
//! sub {newest}                ─▶ the window that was chosen last, while what is seen through it is small enough, else a new one
//! sub {newest, have, window}  ─▶ the window of that name, if it is known and the ring has the events after the position
//! sub {newest, have}          ─▶ the whole conversation, likewise: the client has all of it
//! ```
//!
//! Newcomers share a window, and with it the snapshot, until it has grown by a quarter of what was asked for. So there are few windows, however
//! many viewers come, and how many does not grow with the number of events.

use std::collections::VecDeque;
use std::sync::Arc;

use event_log::blocking;
use model::frame::SubscriptionOptions;
use model::lens::{Window, window_bytes};
use model::limits::{SNAPSHOT_WHEN_BEHIND_BYTES, WINDOWS_KNOWN_MAX};
use model::{Lens, Mask, Position, View};

use super::Conversation;

/// The windows that newcomers to one conversation were given.
#[derive(Debug, Default)]
pub(super) struct Windows {
    /// The newest choice for each lens, role and number of bytes, at most [`WINDOWS_KNOWN_MAX`], the oldest first.
    chosen: VecDeque<ChosenWindow>,
    /// The newest windows, at most [`WINDOWS_KNOWN_MAX`], the oldest first.
    known: VecDeque<Arc<Window>>,
}

/// A window, and for whom it was chosen.
#[derive(Debug)]
struct ChosenWindow {
    lens: Lens,
    mask: Option<Arc<Mask>>,
    /// The bytes that it was chosen for.
    bytes: u64,
    /// The window; `None` is all of the conversation.
    window: Option<Arc<Window>>,
    /// About the memory that this part of the view held then, in bytes.
    held: u64,
}

impl ChosenWindow {
    /// Whether newcomers may have it still. `whole` is about the memory that all of `view` holds.
    fn is_small(&self, view: &View, whole: u64) -> bool {
        let Some(window) = &self.window else { return whole <= self.held.saturating_add(self.bytes / 8) };
        !window.hides_running(view) && window.held(view) <= self.held.saturating_add(self.bytes / 4)
    }
}

/// What a viewer looks through, and whether it goes on with what it has.
pub(crate) struct ChosenLens {
    /// The lens that it asked for, with its window.
    pub(crate) lens: Lens,
    /// Whether what the client says that it has fits that lens. If not, it needs the snapshot.
    pub(crate) keeps: bool,
}

impl Conversation {
    /// The lens of a viewer with the role of `mask` that asks for `wish` and has what it had at `have`, if it has anything.
    pub(crate) fn lens_for(
        &self,
        wish: &SubscriptionOptions,
        have: Option<&Position>,
        mask: Option<&Arc<Mask>>,
    ) -> ChosenLens {
        let Some(bytes) = window_bytes(wish.newest) else {
            return ChosenLens { lens: wish.lens.clone(), keeps: wish.window.is_none() };
        };
        if have.is_some_and(|have| self.is_near(have)) {
            let kept = match &wish.window {
                None => Some(None),
                Some(name) => self.known_window(name).map(Some),
            };
            if let Some(window) = kept {
                return ChosenLens { lens: wish.lens.with_window(window), keeps: true };
            }
        }
        let window = self.window(&wish.lens, mask, bytes);
        ChosenLens { lens: wish.lens.with_window(window), keeps: false }
    }

    /// Whether a client at `have` needs few events, and the ring has them.
    fn is_near(&self, have: &Position) -> bool {
        let few = SNAPSHOT_WHEN_BEHIND_BYTES as u64;
        have.epoch == *self.epoch()
            && have.seq <= self.head()
            && self.bytes_after(have.seq).is_some_and(|behind| behind <= few)
    }

    /// The window of that name, if it was given to newcomers lately.
    fn known_window(&self, name: &str) -> Option<Arc<Window>> {
        let windows = self.windows.lock();
        windows.known.iter().rev().find(|window| window.name() == name).map(Arc::clone)
    }

    /// The newest part of about `bytes` bytes that newcomers get who look through `lens` with the role of `mask`; `None` if all of the
    /// conversation is no larger. Choosing takes some milliseconds for a megabyte, in which nobody can append.
    pub fn window(&self, lens: &Lens, mask: Option<&Arc<Mask>>, bytes: u64) -> Option<Arc<Window>> {
        if self.view_bytes() <= bytes / 2 {
            return None;
        }
        blocking(|| {
            let mut windows = self.windows.lock();
            let state = self.state.lock();
            let (view, whole) = (&state.view, state.view_bytes);
            let is_like =
                |it: &ChosenWindow| it.bytes == bytes && it.lens == *lens && it.mask.as_ref() == mask;
            if let Some(place) = windows.chosen.iter().position(is_like) {
                if let Some(chosen) = windows.chosen.get(place).filter(|chosen| chosen.is_small(view, whole))
                {
                    return chosen.window.clone();
                }
                drop(windows.chosen.remove(place));
            }
            let window = choose((view, whole), lens, mask, bytes).map(Arc::new);
            let held = window.as_ref().map_or(whole, |window| window.held(view));
            drop(state);
            let (lens, mask) = (lens.clone(), mask.cloned());
            windows.add(ChosenWindow { lens, mask, bytes, window: window.clone(), held });
            window
        })
    }
}

impl Windows {
    fn add(&mut self, chosen: ChosenWindow) {
        if let Some(window) = &chosen.window {
            while self.known.len() >= WINDOWS_KNOWN_MAX {
                self.known.pop_front();
            }
            self.known.push_back(Arc::clone(window));
        }
        while self.chosen.len() >= WINDOWS_KNOWN_MAX {
            self.chosen.pop_front();
        }
        self.chosen.push_back(chosen);
    }
}

/// Chooses a window that has room to grow: newcomers get `bytes` at most. `None` if all of `view`, which holds about `whole` bytes, has no more
/// than that.
fn choose((view, whole): (&View, u64), lens: &Lens, mask: Option<&Arc<Mask>>, bytes: u64) -> Option<Window> {
    let narrowed = mask.map_or_else(|| lens.clone(), |mask| mask.narrowed(lens));
    let mask = mask.map(AsRef::as_ref);
    // What holds twice as much does not fit.
    if whole <= 2 * bytes {
        Window::choose(view, &narrowed, mask, bytes, whole)?;
    }
    Window::choose(view, &narrowed, mask, bytes / 8 * 5, whole)
}

#[cfg(test)]
mod tests;
