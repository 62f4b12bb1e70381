//! How large the scenarios are, and the seed of all that is random in them.
//!
//! `FANLIGHT_CHAOS=full` takes the sizes for which the hub is built; without it they are small enough for every change.
//! `FANLIGHT_CHAOS_NAME=NUMBER` sets one of them, with the names of the fields below. `FANLIGHT_SEED=NUMBER` repeats a run.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::event::LARGE;

/// The sizes of the scenarios and the seed, from the environment.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Whether these are the full sizes.
    pub(crate) full: bool,
    /// What everything random follows from.
    pub(crate) seed: u64,
    /// Viewers beside and without slow ones.
    pub(crate) slow_viewers: u64,
    /// How many of them do not read.
    pub(crate) slow_silent: u64,
    /// Events a second.
    pub(crate) slow_rate: u64,
    /// Length of an event's text, in bytes.
    pub(crate) slow_bytes: u64,
    /// How long they are published, in seconds.
    pub(crate) slow_seconds: u64,
    /// Viewers that are cut all at once.
    pub(crate) storm_viewers: u64,
    /// Tokens of the long run.
    pub(crate) late_tokens: u64,
    /// Tokens that are missed by who is cut.
    pub(crate) late_missed: u64,
    /// How often the hub is killed.
    pub(crate) crash_rounds: u64,
    /// Publishers that stream meanwhile.
    pub(crate) crash_publishers: u64,
    /// Viewers of the conversation beside hostile neighbours.
    pub(crate) hostile_viewers: u64,
    /// Events a second in it.
    pub(crate) hostile_rate: u64,
    /// How long the neighbours are there, in seconds.
    pub(crate) hostile_seconds: u64,
    /// How long it is measured without them before, in seconds.
    pub(crate) hostile_quiet_seconds: u64,
    /// The one kind of neighbour that comes, by its number from 1; with 0 all kinds do.
    pub(crate) hostile_kind: u64,
    /// The first kind of neighbour that is measured alone, by its number from 1.
    pub(crate) outside_first: u64,
    /// How long each is, and how long it is measured without it before, in milliseconds.
    pub(crate) outside_ms: u64,
    /// Viewers beside it.
    pub(crate) outside_viewers: u64,
    /// Size of the view that is asked for, in MiB.
    pub(crate) outside_view_mib: u64,
    /// Publishers beside failing hubs and databases.
    pub(crate) hubs_publishers: u64,
    /// Viewers of what they say.
    pub(crate) hubs_viewers: u64,
    /// Most faults.
    pub(crate) hubs_faults: u64,
    /// The one kind of fault that comes, by its number from 1; with 0 all kinds do.
    pub(crate) hubs_kind: u64,
    /// How long faults begin, in seconds.
    pub(crate) hubs_seconds: u64,
    /// How long there is load, in seconds.
    pub(crate) soak_seconds: u64,
    /// Publishers that come and go.
    pub(crate) soak_publishers: u64,
    /// Viewers that come and go.
    pub(crate) soak_viewers: u64,
}

impl Settings {
    /// The settings of the scenario `name`, printed, so that it can be run again.
    pub(crate) fn of(name: &str) -> Self {
        let full = variable("FANLIGHT_CHAOS").is_some_and(|size| size == "full");
        let size = |name: &str, small: u64, large: u64| {
            let name = format!("FANLIGHT_CHAOS_{}", name.to_uppercase());
            number(&name).unwrap_or(if full { large } else { small })
        };
        let settings = Self {
            full,
            seed: number("FANLIGHT_SEED").unwrap_or_else(|| RandomState::new().hash_one(name) >> 32),
            slow_viewers: size("slow_viewers", 48, 200),
            slow_silent: size("slow_silent", 16, 20),
            slow_rate: size("slow_rate", 200, 200),
            // Few but long ones: what is published must be more than what the kernel keeps for a socket.
            slow_bytes: size("slow_bytes", 3 * LARGE as u64, LARGE as u64),
            slow_seconds: size("slow_seconds", 3, 15),
            storm_viewers: size("storm_viewers", 200, 2_000),
            late_tokens: size("late_tokens", 15_000, 50_000),
            late_missed: size("late_missed", 2_000, 10_000),
            crash_rounds: size("crash_rounds", 5, 200),
            crash_publishers: size("crash_publishers", 20, 20),
            hostile_viewers: size("hostile_viewers", 10, 50),
            hostile_rate: size("hostile_rate", 50, 50),
            hostile_seconds: size("hostile_seconds", 5, 10 * 60),
            hostile_quiet_seconds: size("hostile_quiet_seconds", 3, 60),
            hostile_kind: size("hostile_kind", 0, 0),
            // All kinds come in the scenario `hostile`, whatever its size.
            outside_first: size("outside_first", 13, 1),
            outside_ms: size("outside_ms", 300, 20_000),
            outside_viewers: size("outside_viewers", 2, 10),
            outside_view_mib: size("outside_view_mib", 8, 200),
            hubs_publishers: size("hubs_publishers", 6, 20),
            hubs_viewers: size("hubs_viewers", 18, 200),
            hubs_faults: size("hubs_faults", 4, 1_000),
            hubs_kind: size("hubs_kind", 0, 0),
            hubs_seconds: size("hubs_seconds", 10 * 60, 10 * 60),
            soak_seconds: size("soak_seconds", 10, 20 * 60),
            soak_publishers: size("soak_publishers", 6, 20),
            soak_viewers: size("soak_viewers", 30, 300),
        };
        println!("{name}: FANLIGHT_SEED={} {settings:?}", settings.seed);
        settings
    }

    /// Chance for this run.
    pub(crate) fn random(&self) -> SeededRandom {
        SeededRandom(self.seed)
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// # Panics
/// When the value is no number: a run of another size than was asked for would be believed.
fn number(name: &str) -> Option<u64> {
    let value = variable(name)?;
    Some(value.parse().unwrap_or_else(|error| panic!("{name}={value}: {error}")))
}

/// Numbers that follow from a seed (`SplitMix64`).
#[derive(Debug, Clone)]
pub(crate) struct SeededRandom(u64);

impl From<u64> for SeededRandom {
    fn from(seed: u64) -> Self {
        Self(seed)
    }
}

impl SeededRandom {
    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// One of `from..to`.
    pub(crate) fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.next() % (to - from)
    }

    /// Another one, for somebody who asks in an order of his own.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next())
    }
}

/// Lets this process and the hubs that it starts have `files` open files each.
///
/// # Panics
/// When the machine does not allow it.
pub(crate) fn allow_files(files: u64) {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= files) {
        return;
    }
    let maximum = limit.maximum.map_or(files, |maximum| maximum.max(files));
    // A higher ceiling takes a privileged user; below it anybody may choose.
    let wanted = Rlimit { current: Some(files), maximum: Some(maximum) };
    let why = setrlimit(Resource::Nofile, wanted).err();
    assert!(why.is_none(), "{files} open files are not allowed here, only {limit:?}: {why:?}; try ulimit -n");
}

/// Bytes for a person.
pub(crate) struct Bytes(pub(crate) u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            few @ 0..10_000 => write!(f, "{few} B"),
            some @ 10_000..10_000_000 => write!(f, "{} KB", some / 1_000),
            many => write!(f, "{} MB", many / 1_000_000),
        }
    }
}
