//! The demo: made-up agents that publish through the public doors of a hub, in the dialects that real ones speak, so
//! that there is something to watch. What they say stands in `demo/scripts`; here is only who begins when.
//!
//! The hub does not know them: they are clients like all others, on a socket of their own.

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

/// The plays, the ones with the shortest way to something worth seeing first.
const SCRIPTS: [(&str, &str); 5] = [
    ("revenue", include_str!("demo/scripts/revenue.txt")),
    ("checkout", include_str!("demo/scripts/checkout.txt")),
    ("market", include_str!("demo/scripts/market.txt")),
    ("notes", include_str!("demo/scripts/notes.txt")),
    ("import", include_str!("demo/scripts/import.txt")),
];

/// Between the beginnings of two plays, so that they do not run in step.
const STAGGER: Duration = Duration::from_millis(1_700);

/// Plays everything to the hub at `address`; ends after some hours, when every play has had all its conversations. May
/// be dropped at any point.
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
