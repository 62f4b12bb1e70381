//! The rights that each frame of a client and each command needs.
//!
//! | frame or command | right |
//! |---|---|
//! | `sub` | `view` on the conversation |
//! | `watch` | `view` on some conversation; the list shows those alone |
//! | `pub` | `publish` on the conversation, for its publisher id and the kinds of its events |
//! | `say`, `stop`, `approve`, `reject`, `retry`, `label`, `rate` | `control` on the conversation |
//! | `fork` | `view` and `control` on it, and `control` on the new one |
//! | `hello`, `unsub`, `resync`, `hb_ack` | none |

use model::PublisherId;
use model::command::CommandAction;
use model::frame::{ClientFrame, Pub};

use crate::denial::Denial;
use crate::principal::Principal;
use crate::publishing::PublishDenial;
use crate::right::Right;

/// Checks that `principal` may publish what is in the frame, which [`allowed`] has let through: under that publisher id, events of those kinds.
pub fn published(principal: &Principal, frame: &Pub) -> Result<(), PublishDenial> {
    principal.publishes(frame.conv.as_str(), frame.pid.as_ref().map(PublisherId::as_str), &frame.events)
}

/// Checks that `principal` may send this frame. Frames about a subscription or a heartbeat need nothing: the
/// subscription was checked before. Fails with `Forbidden`, or with `Hidden` for what its role does not show.
pub fn allowed(principal: &Principal, frame: &ClientFrame) -> Result<(), Denial> {
    let is_met = match frame {
        ClientFrame::Hello { .. }
        | ClientFrame::Unsub { .. }
        | ClientFrame::Resync { .. }
        | ClientFrame::HbAck { .. } => true,
        ClientFrame::Sub { conv, .. } => principal.may(Right::View, conv.as_str()),
        ClientFrame::Watch { .. } => principal.may_somewhere(Right::View),
        ClientFrame::Pub(publication) => principal.may_publish_some(publication.conv.as_str()),
        ClientFrame::Command { conv, command } => {
            return commanded(principal, conv.as_str(), &command.action);
        }
    };
    if is_met { Ok(()) } else { Err(Denial::Forbidden) }
}

/// Checks that `principal` may give the command `action` in `conversation`.
///
/// A fork copies the conversation, so it needs the right to view it, and in the new conversation the right to
/// control. If the hub invents its name, that is the right on all conversations. A principal with a role forks
/// nothing, since the copy may be shown whole under its name, and approves no calls if its role hides arguments.
pub fn commanded(principal: &Principal, conversation: &str, action: &CommandAction) -> Result<(), Denial> {
    let may = |right| principal.may(right, conversation);
    let is_met = match action {
        CommandAction::Approve { .. } if is_met_but_hidden(principal, conversation) => {
            return Err(Denial::Hidden);
        }
        CommandAction::Fork { .. } if principal.mask().is_some() => return Err(Denial::Hidden),
        CommandAction::Say { .. }
        | CommandAction::Stop { .. }
        | CommandAction::Approve { .. }
        | CommandAction::Reject { .. }
        | CommandAction::Label { .. }
        | CommandAction::Rate { .. }
        | CommandAction::Retry { .. } => may(Right::Control),
        CommandAction::Fork { into: Some(into), .. } => {
            may(Right::Control) && may(Right::View) && principal.may(Right::Control, into.as_str())
        }
        CommandAction::Fork { into: None, .. } => {
            may(Right::Control) && may(Right::View) && principal.may_everywhere(Right::Control)
        }
    };
    if is_met { Ok(()) } else { Err(Denial::Forbidden) }
}

/// Whether `principal` may consent to calls there, but does not see to what.
fn is_met_but_hidden(principal: &Principal, conversation: &str) -> bool {
    principal.may(Right::Control, conversation)
        && principal.mask().is_some_and(|mask| mask.hides_some_arguments())
}

#[cfg(test)]
mod tests {
    //! Tests of the table: each frame with a grant that just misses.

    use model::frame::parse_client;

    use super::*;

    fn principal(grants: &[&str]) -> Principal {
        Principal::new("p", grants.iter().map(|grant| grant.parse().unwrap()).collect(), None)
    }

    fn is_allowed(grants: &[&str], frame: &str) -> bool {
        allowed(&principal(grants), &parse_client(frame).unwrap()).is_ok()
    }

    #[test]
    fn a_frame_needs_its_right_on_its_own_conversation() {
        let sub = r#"{"t":"sub","sub":1,"conv":"a1"}"#;
        assert!(is_allowed(&["view:a*"], sub));
        assert!(!is_allowed(&["view:b*"], sub) && !is_allowed(&["publish,control:*"], sub));
        let publish = r#"{"t":"pub","id":1,"conv":"a1","events":[]}"#;
        assert!(is_allowed(&["publish:a1"], publish));
        assert!(!is_allowed(&["publish:a2"], publish) && !is_allowed(&["view,control:*"], publish));
        let watch = r#"{"t":"watch","sub":1}"#;
        assert!(is_allowed(&["view:a1"], watch) && !is_allowed(&["publish:*"], watch));
        let say =
            r#"{"t":"command","conv":"a1","command":{"id":"x","command":"say","agent":"g","text":"t"}}"#;
        assert!(is_allowed(&["control:a1"], say));
        assert!(!is_allowed(&["view,publish:*"], say) && !is_allowed(&["control:a2"], say));
    }

    #[test]
    fn a_label_needs_control() {
        let label = r#"{"t":"command","conv":"a1","command":{"id":"x","command":"label","pinned":true}}"#;
        assert!(is_allowed(&["control:a1"], label));
        let rate =
            r#"{"t":"command","conv":"a1","command":{"id":"x","command":"rate","run":"r","good":true}}"#;
        assert!(is_allowed(&["control:a1"], rate) && !is_allowed(&["view,publish:*"], rate));
        assert!(!is_allowed(&["view,publish,import,export:*"], label) && !is_allowed(&["control:a2"], label));
    }

    #[test]
    fn a_fork_needs_to_be_seen_and_a_name_that_may_be_made() {
        let into = r#"{"t":"command","conv":"a","command":{"id":"x","command":"fork","into":"b"}}"#;
        assert!(is_allowed(&["view,control:a", "control:b"], into));
        assert!(!is_allowed(&["control:a", "view,control:b"], into), "what is not seen is not copied");
        assert!(!is_allowed(&["view,control:a"], into), "another name is another conversation");
        let anywhere = r#"{"t":"command","conv":"a","command":{"id":"x","command":"fork"}}"#;
        assert!(is_allowed(&["view,control:*"], anywhere) && !is_allowed(&["view,control:a"], anywhere));
    }

    #[test]
    fn a_role_copies_nothing_and_consents_to_nothing_that_it_hides() {
        let of = |words: &[&str]| {
            let mask = model::Mask::new("guest", words.iter().copied(), []).unwrap();
            Principal::new("p", vec!["view,control:*".parse().unwrap()], Some(mask.into()))
        };
        let allowed = |words: &[&str], frame| allowed(&of(words), &parse_client(frame).unwrap());
        let fork = r#"{"t":"command","conv":"a","command":{"id":"x","command":"fork"}}"#;
        assert_eq!(allowed(&["costs"], fork), Err(Denial::Hidden));
        let approve = r#"{"t":"command","conv":"a","command":{"id":"x","command":"approve","tool":"t"}}"#;
        assert_eq!(allowed(&["arguments"], approve), Err(Denial::Hidden));
        assert_eq!(allowed(&["results"], approve), Ok(()));
        let reject = r#"{"t":"command","conv":"a","command":{"id":"x","command":"reject","tool":"t"}}"#;
        assert_eq!(allowed(&["arguments"], reject), Ok(()));
        assert_eq!(
            allowed(&["results"], r#"{"t":"sub","sub":1,"conv":"a"}"#),
            Ok(()),
            "its frames are masked"
        );
    }

    #[test]
    fn what_is_about_the_socket_needs_nothing_more() {
        for frame in [
            r#"{"t":"hello","versions":["1"]}"#,
            r#"{"t":"unsub","sub":1}"#,
            r#"{"t":"resync","sub":1}"#,
            r#"{"t":"hb_ack","at":{}}"#,
        ] {
            assert!(is_allowed(&[], frame), "{frame}");
        }
    }
}
