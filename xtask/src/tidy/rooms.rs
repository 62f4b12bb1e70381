//! The rooms of a crate, its top-level modules, in one order: a room may name those before it and none after it. So there is no circle of
//! rooms, and a reader who follows the order meets nothing that was not there before.
//!
//! What counts is what `use` names and what code names by a path from `crate`. Tests are free, and so is `lib.rs`, which names all rooms.

use super::circles::imports;
use super::source::{SourceFile, names};
use super::{RuleViolation, SourceTree};

/// A crate whose rooms have an order.
struct RoomOrder {
    /// The folder of its sources.
    home: &'static str,
    /// Its rooms, the lowest first; two in one entry may name each other. A new room gets its place here; a room that must move past
    /// another one is a decision.
    rooms: &'static [&'static str],
    /// What a room may do that is not listed.
    unlisted: UnlistedRoom,
}

/// What a room may do that has no place in the order of its crate.
#[derive(PartialEq, Eq)]
enum UnlistedRoom {
    /// It must get a place before it names another room.
    Refused,
    /// It is below all that are listed, and so may name none of them.
    Lowest,
}

/// The crates whose rooms are in order.
const ORDERS: [RoomOrder; 2] = [
    RoomOrder {
        home: "server/edge/src/",
        unlisted: UnlistedRoom::Refused,
        rooms: &[
            "access",
            "balance",
            "door",
            "failures",
            "log_choice",
            "page_files",
            "priority",
            "retention",
            "sharing",
            "sink",
            "sockets",
            "tls",
            "redaction",
            "shelf",
            "asker",
            "threads",
            "work",
            "config",
            "inbound",
            "peers",
            "traces",
            "fork",
            "frozen",
            "commands",
            "proxy",
            "state",
            "metrics",
            "http",
            "ws",
            "app",
            "simulation",
        ],
    },
    RoomOrder {
        home: "web/src/",
        unlisted: UnlistedRoom::Lowest,
        // A component draws a module of the page, and a module draws components: that is how the program is cut.
        rooms: &["store", "drop", "keys", "components modules", "session", "pages", "app", "overview"],
    },
];

/// Applies the orders to every file outside tests. Of each line the first room is reported.
pub(crate) fn check(tree: &SourceTree, findings: &mut Vec<RuleViolation>) {
    for order in &ORDERS {
        for source in tree.sources.iter().filter(|source| !source.is_test()) {
            let Some(inside) = source.path.strip_prefix(order.home) else { continue };
            let own = inside.split(['/', '.']).next().unwrap_or_default();
            if !matches!(own, "lib" | "main") {
                order.check(own, source, findings);
            }
        }
    }
}

impl RoomOrder {
    /// Reports what a file of the room `own` names that comes after it, and a room without a place.
    fn check(&self, own: &str, source: &SourceFile, findings: &mut Vec<RuleViolation>) {
        let place =
            |room: &str| self.rooms.iter().position(|entry| entry.split(' ').any(|known| known == room));
        let mut say = |line: usize, message: String| {
            findings.push(RuleViolation { file: source.path.clone(), line, rule: "rooms", message });
        };
        let own_place = place(own);
        if own_place.is_none() && self.unlisted == UnlistedRoom::Refused {
            if source.lines.iter().any(|line| names(&line.code, "crate::")) {
                say(1, format!("`{own}` has no place in the order of rooms (xtask/src/tidy/rooms.rs)"));
            }
            return;
        }
        let above = self.rooms.get(own_place.map_or(0, |place| place + 1)..).unwrap_or_default();
        let above: Vec<&str> = above.iter().flat_map(|entry| entry.split(' ')).collect();
        let message = |room: &str| {
            format!(
                "`{own}` may not name `{room}`, which is above it: move what both use into a room below them"
            )
        };
        for (number, line) in source.numbered() {
            if let Some(room) = above.iter().find(|room| names(&line.code, &format!("crate::{room}"))) {
                say(number, message(room));
            }
        }
        // `use crate::{a, b};` names rooms without the word before them.
        for path in imports(source) {
            let [root, room, ..] = path.as_slice() else { continue };
            let word = format!("crate::{room}");
            let is_seen = source.lines.iter().any(|line| names(&line.code, &word));
            if root == "crate" && above.contains(&room.as_str()) && !is_seen {
                say(1, message(room));
            }
        }
    }
}
