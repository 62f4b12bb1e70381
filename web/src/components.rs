//! What the page is made of. Components draw what the store holds; they never see the session.

mod agent;
mod body;
mod card;
mod conversations;
mod copy;
mod elapsed;
mod empty;
mod help;
mod icon;
mod lane;
mod message;
mod note;
mod output;
mod recording;
mod run;
mod status_bar;
mod text;
mod thinking;
mod tools;
mod top_bar;
mod transcript;

pub(crate) use conversations::Conversations;
pub(crate) use help::Help;
pub(crate) use recording::DropVeil;
pub(crate) use status_bar::{Connection, StatusBar};
pub(crate) use tools::Tools;
pub(crate) use top_bar::{TopBar, title};
pub(crate) use transcript::Transcript;
