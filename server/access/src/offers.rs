//! What a principal may have done in one conversation, in words. A page that knows them offers nothing that the hub
//! would refuse.
//!
//! ```text
//! say stop approve reject retry label fork     the commands, as frames::commanded decides them
//! export delete                                routes, as the table `routes` decides them
//! ```

use model::ToolCallId;
use model::command::CommandAction;

use crate::frames::commanded;
use crate::principal::Principal;
use crate::right::Right;
use crate::routes;

/// The words of routes that are no commands, each with its line of the table.
const ROUTED: [(&str, &str, &str); 2] = [
    ("export", "GET", "/v1/conversations/{conversation}/export/{format}"),
    ("delete", "DELETE", "/v1/conversations/{conversation}"),
];

/// A command of each kind with its word, which is its tag on the wire.
fn commands() -> [(&'static str, CommandAction); 7] {
    let tool = ToolCallId::new("t");
    [
        ("say", CommandAction::Say { agent: "".into(), text: String::new(), files: Vec::new() }),
        ("stop", CommandAction::Stop { run: None }),
        ("approve", CommandAction::Approve { run: None, tool: tool.clone(), arguments: None, saw: None }),
        ("reject", CommandAction::Reject { run: None, tool, text: None }),
        ("retry", CommandAction::Retry { run: None }),
        ("label", CommandAction::Label { title: None, pinned: None, archived: None, tags: None, note: None }),
        ("fork", CommandAction::Fork { at: None, before: None, into: None, agent: None, text: None }),
    ]
}

/// What `principal` may do in `conversation`, which need not exist: the words above, in that order.
pub fn offers(principal: &Principal, conversation: &str) -> Vec<&'static str> {
    let is_commanded = |action: &CommandAction| commanded(principal, conversation, action).is_ok();
    let commands = commands().into_iter().filter(|(_, action)| is_commanded(action)).map(|(word, _)| word);
    let is_served = |method: &str, path: &str| {
        routes::find(method, path).is_some_and(|route| {
            route
                .need
                .met_by(principal, Some(conversation))
                .and_then(|()| route.shows.serves(principal))
                .is_ok()
        })
    };
    let routed = ROUTED.into_iter().filter(|(_, method, path)| is_served(method, path));
    commands.chain(routed.map(|(word, ..)| word)).collect()
}

/// The beginnings of names under which `principal` may begin conversations and see them: empty texts among them mean any
/// name. Each once, in the order of the grants. Grants with another star than the last one are left out, so somebody
/// may have none and still be allowed some name.
pub fn beginnings(principal: &Principal) -> Vec<&str> {
    let mut all = Vec::new();
    for grant in principal.grants().iter().filter(|grant| grant.has(Right::Control)) {
        let Some(start) = grant.pattern().start() else { continue };
        let sees = |seen: &str| start.starts_with(seen);
        let mut others = principal.grants().iter().filter(|other| other.has(Right::View));
        if others.any(|other| other.pattern().start().is_some_and(sees)) && !all.contains(&start) {
            all.push(start);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    //! Tests of what is offered to whom.

    use super::*;

    fn principal(grants: &[&str], hidden: &[&str]) -> Principal {
        let grants = grants.iter().map(|grant| grant.parse().unwrap()).collect();
        let mask = || model::Mask::new("guest", hidden.iter().copied(), []).unwrap().into();
        Principal::new("p", grants, (!hidden.is_empty()).then(mask))
    }

    #[test]
    fn each_grant_offers_what_it_allows_and_nothing_else() {
        let of = |grants: &[&str]| offers(&principal(grants, &[]), "a");
        assert_eq!(of(&["view,publish,import:*"]), Vec::<&str>::new());
        assert_eq!(of(&["view,export:a"]), ["export"]);
        assert_eq!(of(&["view,control:a"]), ["say", "stop", "approve", "reject", "retry", "label"]);
        assert_eq!(of(&["view,control:*"]), ["say", "stop", "approve", "reject", "retry", "label", "fork"]);
        assert_eq!(of(&["view,control,export:b"]), Vec::<&str>::new());
        let all = ["say", "stop", "approve", "reject", "retry", "label", "fork", "export", "delete"];
        assert_eq!(of(&["admin"]), all);
        assert_eq!(offers(&Principal::everyone(), "a"), all);
    }

    #[test]
    fn a_role_is_offered_no_copies_and_no_consent_to_what_it_hides() {
        let of = |hidden: &[&str]| offers(&principal(&["view,control:*"], hidden), "a");
        assert_eq!(of(&["arguments"]), ["say", "stop", "reject", "retry", "label"]);
        assert_eq!(of(&["costs"]), ["say", "stop", "approve", "reject", "retry", "label"]);
    }

    #[test]
    fn the_words_of_commands_are_those_of_the_wire() {
        for (word, action) in commands() {
            let text = serde_json::to_string(&action).unwrap();
            assert!(text.starts_with(&format!("{{\"command\":\"{word}\"")), "{text}");
        }
    }

    #[test]
    fn conversations_begin_under_names_that_may_be_commanded_and_seen() {
        let of = |grants: &[&str]| -> Vec<String> {
            beginnings(&principal(grants, &[])).into_iter().map(str::to_owned).collect()
        };
        assert_eq!(of(&["view,control:*"]), [""]);
        assert_eq!(of(&["view:*", "control:team-*"]), ["team-"]);
        assert_eq!(of(&["view:team-a*", "control:team-*"]), Vec::<String>::new());
        assert_eq!(of(&["view:*", "control:one"]), Vec::<String>::new());
        assert_eq!(of(&["view:*", "control:*-x", "control:a*", "control:a*"]), ["a"]);
        assert_eq!(of(&["view:*"]), Vec::<String>::new());
    }
}
