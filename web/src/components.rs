//! The components of the page. They draw what the store holds and never see the session.
//!
//! ```text
//! TopBar
//! Conversations │ Transcript                     │ Panel
//!               │   Message                      │   Tools    ─ ToolRow ─ Body
//!               │                                │   OutlineTab
//!               │   Run ─ Lane ─┬─ Answer        │   Agents   ─ Lane
//!               │               ├─ Thinking      │   Find
//!               │               ├─ Card ─ Body   │   Details
//!               │               ├─ Agent ─ Lane  │
//!               │               └─ note          │
//!               │ Composer                       │
//! Timeline
//! StatusBar                        over it all: Overlay (dialogs), DropVeil;  in place of it: Wall
//! ```
//!
//! A component takes the store from its context (`use_store`). It tracks the signals of what it draws and
//! reads the model itself, so its properties are ids, not contents.

mod agent;
mod agents;
mod aligned;
mod aside;
mod attached;
mod body;
mod call;
mod card;
mod compare;
mod composer;
mod consent;
mod conversations;
mod copy;
mod counts;
mod delete;
mod details;
mod dialog;
mod edge;
mod elapsed;
mod empty;
mod find;
mod icon;
mod kinds;
mod label;
mod lane;
mod message;
mod note;
mod outline;
mod output;
mod overlay;
mod palette;
mod panel;
mod rating;
mod recording;
pub(crate) mod refused;
mod rename;
mod replay;
mod run;
mod settings;
mod share;
mod shared;
mod since;
mod status_bar;
mod strip;
mod text;
mod thinking;
mod tile;
mod timeline;
mod tool_row;
mod tools;
mod top_bar;
mod transcript;
mod turn;
mod wall;
mod wrong_dialect;

pub(crate) use agents::Agents;
pub(crate) use call::Groups;
pub(crate) use compare::{Compared, ComparedStore};
pub(crate) use composer::Composer;
pub(crate) use conversations::{Conversations, shape_of};
pub(crate) use counts::Counts;
pub(crate) use details::Details;
pub(crate) use dialog::go_round;
pub(crate) use find::Find;
pub(crate) use icon::{StateIcon, icon};
pub(crate) use kinds::{CallContent, draw as drawn_content};
pub(crate) use outline::OutlineTab;
pub(crate) use overlay::{Overlay, shown_dialog};
pub(crate) use panel::Panel;
pub(crate) use recording::DropVeil;
pub(crate) use replay::{ReplayBar, ReplayControls};
pub(crate) use status_bar::{Aloud, Connection, StatusBar};
pub(crate) use timeline::{OpenTimeline, Timeline};
pub(crate) use tools::Tools;
pub(crate) use top_bar::{Newest, TopBar, title};
pub(crate) use transcript::{Content, Transcript};
pub(crate) use wall::Wall;
