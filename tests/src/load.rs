//! What benches put a hub under load with: raw sockets in few threads, so that a small machine is left to the server.
//!
//! Reading order: [`clock`], [`histogram`], [`websocket`] → [`event`] (what is published, and how a reader finds it again) → [`native`] (the frames
//! of this hub) → [`server`], [`hub`] (processes under test) → [`driver`] (publishers with acks and viewers, all in one thread) → [`plots`].

#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a load generator: offsets and sizes are computed beside their use, and a wrong one must stop the run"
)]

pub mod clock;
pub mod driver;
pub mod event;
pub mod histogram;
pub mod hub;
pub mod native;
pub mod plots;
pub mod server;
pub mod websocket;

/// Why something could not be measured.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What is measured, or why it is not.
pub type Outcome<T> = Result<T, Failure>;

/// The least, the middle and the most of some numbers; zeros of none.
pub fn spread(numbers: impl IntoIterator<Item = f64>) -> [f64; 3] {
    let mut all: Vec<f64> = numbers.into_iter().collect();
    all.sort_by(f64::total_cmp);
    [0, all.len() / 2, all.len().saturating_sub(1)].map(|place| all.get(place).copied().unwrap_or_default())
}

/// Lets this process have as many open files as it may.
///
/// # Errors
/// When the system refuses.
pub fn raise_open_files() -> Outcome<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    Ok(setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?)
}
