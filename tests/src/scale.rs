//! How far several hubs on one log go: a closed model of what they need, a simulation that checks it, and what is drawn of both.
//! `docs/scale.md` is written from what `cargo bench -p tests --bench scale` prints.
//!
//! Nothing here reads a clock, a file or a socket: the same seed gives the same figures on every machine.
//!
//! Reading order: `load` (who watches and speaks) → `units` (what each step costs) → `closed` (the formulas) → `placed` and `traffic` (the
//! simulation in which nothing fails) → `needs` (cores, bytes and what breaks first) → `storms` (a hub that dies, all hubs restarted) →
//! `tables` and `plot`.

pub mod closed;
pub mod load;
pub mod needs;
pub mod placed;
pub mod plot;
pub mod storms;
pub mod tables;
pub mod traffic;
pub mod units;

pub use closed::expected;
pub use load::{Design, Dice, Load};
pub use needs::{Machines, Need, needs};
pub use placed::Placed;
pub use traffic::{Steps, simulated};
pub use units::Units;
