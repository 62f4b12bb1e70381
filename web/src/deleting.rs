//! What a reader is told who deletes a conversation. Without the browser.

/// What goes with a conversation, as the dialog says it.
pub const GOES: &str = "Its messages, runs, calls and results are deleted, from memory, from the list, from the search and from the files of the \
                        hub, and so are links to it. Whoever looks at it sees that it is empty. This cannot be undone.";

/// The same of several.
pub const GOES_MANY: &str = "Their messages, runs, calls and results are deleted for everybody, from memory, from the list, from the search and from \
                             the files of the hub, and so are links to them. This cannot be undone.";

/// What stays.
pub const STAYS: &str =
    "Forks of it, the sums on the dashboard, and copies elsewhere stay: exports, backups, other hubs.";
