//! The page. Pure parts first (compiled and tested natively), then what touches the browser (compiled for it alone).

pub mod fleet;
pub mod flow;
pub mod follow;
pub mod format;
pub mod latency;
pub mod link;
pub mod markdown;
pub mod model;
pub mod open;
pub mod plain;
pub mod preview;
pub mod route;
pub mod starts;
