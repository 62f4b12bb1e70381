//! What a reader is told who deletes a conversation. Without the browser.

/// What goes with a conversation, as the dialog says it.
pub const GOES: &str = "Its messages, runs, calls and results are deleted from memory, the list, the search and the hub's files, and so are the \
                        links to it. Anyone who has it open will see it empty. This cannot be undone.";

/// What goes with several conversations, as the dialog says it.
pub const GOES_MANY: &str = "Their messages, runs, calls and results are deleted for everybody, from memory, the list, the search and the hub's \
                             files, and so are the links to them. This cannot be undone.";

/// What stays when a conversation goes, as the dialog says it.
pub const STAYS: &str =
    "Forks, the sums on the dashboard, and copies elsewhere stay: exports, backups, other hubs.";
