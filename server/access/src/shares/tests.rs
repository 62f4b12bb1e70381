//! Tests of what a link shows, how often and for how long.

use super::*;
use crate::secret::{Secret, SecretKind};

fn share(number: u8, views_left: Option<u32>) -> Share {
    Share {
        hash: Secret::mint(SecretKind::Share, &[number; 32]).hash(),
        conversation: "a*b".parse().unwrap(),
        audience: None,
        frozen: None,
        role: None,
        by: "ann".into(),
        created: 0,
        expires: 100,
        views_left,
    }
}

#[test]
fn a_link_shows_its_conversation_and_nothing_else() {
    let principal = share(1, None).principal(0, &Roles::default()).unwrap();
    assert!(principal.may(Right::View, "a*b"));
    assert!(!principal.may(Right::View, "aXb"), "a star in a name is no pattern");
    assert!(Right::ALL.into_iter().filter(|it| *it != Right::View).all(|it| !principal.may(it, "a*b")));
    assert!(!principal.may_everywhere(Right::View));
}

#[test]
fn a_link_ends_by_its_views_by_its_time_and_when_it_is_taken_back() {
    let mut shares = Shares::default();
    shares.add(share(1, Some(2)), 0).unwrap();
    let hash = share(1, None).hash;
    assert!(
        shares.follow(&hash, 0, &Roles::default()).is_ok()
            && shares.follow(&hash, 99, &Roles::default()).is_ok()
    );
    assert_eq!(shares.follow(&hash, 0, &Roles::default()), Err(Denial::Expired), "its views are used up");
    shares.add(share(2, None), 0).unwrap();
    let hash = share(2, None).hash;
    assert_eq!(shares.follow(&hash, 100, &Roles::default()), Err(Denial::Expired), "its time is over");
    assert!(shares.revoke(&hash.short(), |_| false).is_none(), "whoever may not does not");
    assert!(shares.revoke(&hash.short(), |_| true).is_some());
    assert_eq!(shares.follow(&hash, 0, &Roles::default()), Err(Denial::Unknown));
}

#[test]
fn a_link_with_a_role_that_nobody_knows_shows_nothing_and_loses_no_view() {
    let hidden = Share { role: Some("guest".into()), ..share(1, Some(1)) };
    let mut shares = Shares::of(vec![hidden.clone()], 0);
    assert_eq!(shares.follow(&hidden.hash, 0, &Roles::default()), Err(Denial::UnknownRole));
    let mut roles = Roles::default();
    roles.add(model::Mask::new("guest", ["results"], []).unwrap()).unwrap();
    let followed = shares.follow(&hidden.hash, 0, &roles).unwrap();
    assert_eq!(followed.principal(0, &roles).unwrap().role(), Some("guest"));
}

#[test]
fn a_note_of_whom_a_link_is_for_is_a_line_of_text() {
    let noted = |text: &str| Share { audience: Some(text.into()), ..share(1, None) };
    for good in ["Bob", "the team of Ann, até já", &"x".repeat(AUDIENCE_BYTES_MAX)] {
        assert_eq!(Shares::check(&noted(good), 0), Ok(()), "{good}");
    }
    for bad in ["", "  ", "a\nb", "a\u{1b}[2J", &"x".repeat(AUDIENCE_BYTES_MAX + 1)] {
        assert_eq!(Shares::check(&noted(bad), 0), Err(ShareError::Audience), "{bad:?}");
    }
    let facts = noted("Bob").principal(0, &Roles::default()).unwrap();
    assert_eq!(facts.link().unwrap().audience.as_deref(), Some("Bob"));
}

#[test]
fn a_link_of_an_earlier_version_is_read_and_a_frozen_one_as_it_was_written() {
    let plain = share(1, Some(2));
    let written = serde_json::to_string(&plain).unwrap();
    assert!(!written.contains("frozen") && !written.contains("for"), "{written}");
    let of = FrozenShare {
        of: "c".parse().unwrap(),
        seq: 7,
        turn: Some(MessageId::new("m")),
        begins: Some(5),
        live: true,
    };
    let frozen = Share { frozen: Some(of), audience: Some("Bob".into()), ..plain.clone() };
    for share in [plain, frozen] {
        let written = serde_json::to_string(&share).unwrap();
        assert_eq!(serde_json::from_str::<Share>(&written).unwrap(), share);
    }
}

#[test]
fn a_link_that_would_never_end_or_never_show_is_not_made() {
    let mut shares = Shares::default();
    assert_eq!(shares.add(share(1, Some(0)), 0), Err(ShareError::Views));
    assert_eq!(shares.add(share(1, None), 100), Err(ShareError::Life));
    assert_eq!(shares.add(Share { expires: LIFE_MS_MAX + 1, ..share(1, None) }, 0), Err(ShareError::Life));
    for _ in 0..SHARES_MAX {
        shares.add(share(1, None), 0).unwrap();
    }
    assert_eq!(shares.add(share(1, None), 0), Err(ShareError::Full));
    assert_eq!(shares.add(Share { expires: 300, ..share(1, None) }, 200), Ok(()), "what is over makes room");
}
