//! What the page is made of. Components draw what the store holds; they never see the session.

mod agent;
mod body;
mod card;
mod conversations;
mod copy;
mod elapsed;
mod empty;
mod find;
mod icon;
mod lane;
mod message;
mod note;
mod output;
mod overlay;
mod palette;
mod panel;
mod recording;
mod run;
mod settings;
mod status_bar;
mod text;
mod thinking;
mod tools;
mod top_bar;
mod transcript;

pub(crate) use conversations::Conversations;
pub(crate) use overlay::Overlay;
pub(crate) use panel::Panel;
pub(crate) use recording::DropVeil;
pub(crate) use status_bar::{Connection, StatusBar};
pub(crate) use top_bar::{TopBar, title};
pub(crate) use transcript::Transcript;
