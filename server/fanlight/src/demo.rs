//! The demo: scripted agents that publish through the hub's public endpoints, in the dialects of real ones,
//! so that there is something to watch.
//!
//! The hub does not know them: they are clients like all others, with sockets of their own.
//!
//! What they say is in `demo/scripts`. `script` parses that, `stage` publishes it, `anthropic`, `openai_chat`
//! and `native` write the streams, and `pacing` has the pace.

use std::time::Duration;

use tokio::task::JoinSet;

use client::HubAddress;

mod anthropic;
mod native;
mod openai_chat;
mod pacing;
mod script;
mod stage;

use script::DemoScript;
use stage::DemoPublisher;

/// The scripts; those that show something soonest are first.
const SCRIPTS: [(&str, &str); 5] = [
    ("revenue", include_str!("demo/scripts/revenue.txt")),
    ("checkout", include_str!("demo/scripts/checkout.txt")),
    ("market", include_str!("demo/scripts/market.txt")),
    ("notes", include_str!("demo/scripts/notes.txt")),
    ("import", include_str!("demo/scripts/import.txt")),
];

/// The time between the beginnings of two scripts, so that they do not run in step.
const STAGGER: Duration = Duration::from_millis(1_700);

/// Publishes all scripts to the hub at `address`. It ends after some hours, when every script has had all its
/// conversations. Can be cancelled at any point.
pub(crate) async fn run(address: HubAddress) {
    let mut playing = JoinSet::new();
    for (number, (name, text)) in (0_u32..).zip(SCRIPTS) {
        let play = match DemoScript::parse(text) {
            Ok(play) => play,
            Err(error) => {
                tracing::error!(script = name, %error, "the script of the demo cannot be read");
                continue;
            }
        };
        let stage = DemoPublisher::new(address.clone(), play, u64::from(number));
        playing.spawn(async move {
            tokio::time::sleep(STAGGER * number).await;
            stage.play().await;
        });
    }
    while playing.join_next().await.is_some() {}
    tracing::info!("the demo is over");
}
