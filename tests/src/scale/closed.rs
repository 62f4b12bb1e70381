//! The closed model: what happens in a second, by formulas alone. `docs/scale.md` has them in words.

use super::load::{Load, PublisherRoute};
use super::traffic::Steps;

/// For how long a hub takes for granted who has a conversation, in seconds (`OWNER_KNOWN` in `server/edge/src/sharing.rs`).
pub const OWNER_KNOWN_S: f64 = 1.0;

/// The time between two looks of a hub at the rows of others, in seconds (`ROWS_EVERY` in `server/edge/src/peers.rs`).
pub const ROWS_EVERY_S: f64 = 2.0;

/// What is to be expected in a second, all hubs together.
pub fn expected(load: &Load) -> Steps {
    let hubs = f64::from(load.hubs);
    let (rate, window) = (load.events_per_s, load.design.commit_s);
    let agents = f64::from(load.agents);
    let events = agents * rate;
    // Each hub writes to each database that has conversations of it.
    let writers = hubs * f64::from(load.design.databases);
    let elsewhere = match load.design.publishers {
        PublisherRoute::AnyHub => 1.0 - 1.0 / hubs,
        PublisherRoute::Owner => 0.0,
    };
    let audience = load.audience();
    let sum = |of: fn(&Load, f64) -> f64| audience.iter().map(|viewers| of(load, *viewers)).sum::<f64>();
    let follows = sum(followers);
    Steps {
        events,
        passed: events * elsewhere,
        linked: sum(is_followed) * rate,
        link_frames: follows * rate,
        shown: sum(hubs_with_viewers) * rate,
        deliveries: f64::from(load.viewers) * rate,
        transactions: writers / window * (1.0 - (-events / writers * window).exp()),
        rows: agents / window * (1.0 - (-rate * window).exp()),
        lookups: agents * elsewhere / (OWNER_KNOWN_S + 1.0 / rate),
        looks: hubs / ROWS_EVERY_S,
        follows,
    }
}

/// How many hubs follow a conversation that has about `viewers` viewers: those where at least one of them is, without the owner.
pub fn followers(load: &Load, viewers: f64) -> f64 {
    let spread = load.spread(viewers);
    (spread - 1.0) * (1.0 - (-viewers / spread).exp())
}

/// On how many hubs at least one of its viewers is.
fn hubs_with_viewers(load: &Load, viewers: f64) -> f64 {
    let spread = load.spread(viewers);
    spread * (1.0 - (-viewers / spread).exp())
}

/// How probable it is that at least one of its viewers is not at the owner.
fn is_followed(load: &Load, viewers: f64) -> f64 {
    1.0 - (-viewers * (1.0 - 1.0 / load.spread(viewers))).exp()
}

/// How many viewers the hub has that is restarted as the last of all, by the average: those of each hub before it went to the others.
pub fn last_of_a_rolling_restart(hubs: u32) -> f64 {
    growth(hubs).powf(f64::from(hubs) - 1.0)
}

/// How often a viewer has to connect again on average while all hubs are restarted one after the other.
pub fn moves_of_a_rolling_restart(hubs: u32) -> f64 {
    let all = f64::from(hubs);
    (all - 1.0) / all * (growth(hubs).powf(all) - 1.0)
}

/// By how much the viewers of the other hubs grow when one is emptied.
fn growth(hubs: u32) -> f64 {
    let all = f64::from(hubs);
    all / (all - 1.0)
}
