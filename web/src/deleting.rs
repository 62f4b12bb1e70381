//! What a reader is told who deletes a conversation, and whether they may. Without the browser.

use serde::Deserialize;

/// What goes with a conversation, as the dialog says it.
pub const GOES: &str = "Its messages, runs, calls and results are deleted, from memory, from the list, from the search and from the files of the \
                        hub, and so are links to it. Whoever looks at it sees that it is empty. This cannot be undone.";

/// The same of several.
pub const GOES_MANY: &str = "Their messages, runs, calls and results are deleted for everybody, from memory, from the list, from the search and from \
                             the files of the hub, and so are links to them. This cannot be undone.";

/// What stays.
pub const STAYS: &str =
    "Forks of it, the sums on the dashboard, and copies elsewhere stay: exports, backups, other hubs.";

/// The answer to `GET /v1/access`, as far as it matters here.
#[derive(Deserialize)]
struct Access {
    /// Whether access control is on.
    on: bool,
    /// The caller's grants, in the form of the settings.
    #[serde(default)]
    grants: Vec<String>,
}

/// Whether the reader may delete, by the hub's answer to `GET /v1/access`.
pub fn is_allowed(answer: &str) -> bool {
    may(answer, "admin")
}

/// Whether the reader has `right` for any conversation, by the hub's answer to `GET /v1/access`. False for an answer that is not
/// understood: the hub decides in any case.
pub fn may(answer: &str, right: &str) -> bool {
    let Ok(access) = serde_json::from_str::<Access>(answer) else { return false };
    let has = |grant: &String| {
        let rights = grant.split(':').next().unwrap_or_default();
        rights.split(',').any(|it| it.trim() == right)
    };
    !access.on || access.grants.iter().any(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_administers_may_delete_and_everybody_where_access_control_is_off() {
        assert!(is_allowed(r#"{"on":false,"principal":"anyone","grants":[]}"#));
        assert!(is_allowed(r#"{"on":true,"principal":"ann","grants":["admin"]}"#));
        assert!(is_allowed(r#"{"on":true,"principal":"ann","grants":["view:a","view,admin"]}"#));
        assert!(!is_allowed(r#"{"on":true,"principal":"ann","grants":["view,control:admin"]}"#));
        assert!(!is_allowed(r#"{"on":true,"principal":"ann"}"#));
        assert!(!is_allowed("<html>"));
        assert!(may(r#"{"on":true,"principal":"ann","grants":["view,control:team-*"]}"#, "control"));
        assert!(!may(r#"{"on":true,"principal":"ann","grants":["view:control"]}"#, "control"));
    }
}
