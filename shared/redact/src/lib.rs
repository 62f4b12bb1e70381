//! Secrets in what agents say: finding them, and putting marks in their place before anything is stored or shown.
//!
//! Reading order: `rules` (which secrets there are), `verdict` (what stands at one place of a text), `starts` and `find` (where in a
//! text it is worth while to look), `marks` (whole texts), `stream` (texts in pieces), `event` and `events` (which texts an event has).
//! Pure: the key of marks comes in as an argument, and what is held back is kept by whoever owns the conversation.
//!
//! The crate must never know where events come from or go to. A secret is what a rule finds: nothing here guesses by how random a word
//! looks, since that would hit hashes and ids, of which agents' work is full.

mod base64;
mod card;
mod email;
mod event;
mod events;
mod find;
mod marks;
mod patterns;
mod plain;
mod rules;
mod starts;
mod stream;
mod verdict;
mod view;

pub use events::{EventStreams, OPEN_TEXTS_MAX};
pub use find::{Builtin, Wanted};
pub use marks::{Finding, MarkKey, Redactor, holds_any, spellings};
pub use patterns::{PATTERN_BYTES_MAX, PATTERNS_MAX, PatternError};
pub use stream::{HELD_BYTES_MAX, TextKind, TextStream};
