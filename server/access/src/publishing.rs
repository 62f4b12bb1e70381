//! What somebody may publish whose grant says more than where: under which publisher ids, and which kinds of events.
//!
//! ```text
//! publish(as=ci-*|build):ci-*               only under the publisher ids `ci-…` and `build`
//! publish(kind=status|tool.*):team-*        only these kinds of events
//! publish(as=ci-*,kind=status):*            both
//! ```

use std::fmt;

use compact_str::CompactString;
use model::code::ErrorCode;
use model::event::KINDS;
use model::wildcard::matches;
use model::{Envelope, PublisherId};

use crate::principal::Principal;
use crate::right::Right;

/// The most patterns of publisher ids, and of kinds, in one grant.
const PATTERNS_MAX: usize = 32;

/// The longest such pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 200;

/// Under which publisher ids somebody may publish, and which kinds of events. One of them is not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishLimit {
    /// The ids, `*` for any characters; empty for any id, and for events without one.
    publishers: Vec<CompactString>,
    /// The kinds, `*` for any characters; empty for all of them.
    kinds: Vec<CompactString>,
}

/// Why a text does not limit what is published.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishLimitError {
    /// The text is not in the form of a limit.
    #[error("{0:?} does not say what may be published: write publish(as=ci-*|build,kind=status|tool.*)")]
    Form(String),
    /// A pattern is empty, too long, has signs that no id has, or there are too many.
    #[error(
        "{0:?} is not a pattern of publisher ids or kinds: at most {PATTERNS_MAX}, each of 1 to {PATTERN_BYTES_MAX} bytes"
    )]
    Pattern(String),
    /// No kind of events has such a name.
    #[error("no kind of events is named {0:?}; docs/protocol.md lists them")]
    Kind(String),
}

/// Why somebody may not publish something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishDenial {
    /// No grant is about that conversation.
    #[error("this principal has no grant for that")]
    NotThere,
    /// The publisher has no id, and none of the grants there does without one.
    #[error("this principal may publish there under certain publisher ids only, and the events name none")]
    Nameless,
    /// None of the grants there is about that publisher id.
    #[error("this principal may not publish there as {0:?}")]
    Publisher(CompactString),
    /// None of the grants there is about that kind under that id.
    #[error("this principal may not publish events of the kind {0:?} there")]
    Kind(CompactString),
}

impl PublishDenial {
    /// The code that goes with it on the wire. Where there is no grant at all it is the same as for everything else.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotThere => ErrorCode::Forbidden,
            Self::Nameless | Self::Publisher(_) | Self::Kind(_) => ErrorCode::PublishNotGranted,
        }
    }
}

impl PublishLimit {
    /// Reads what stands between the parentheses.
    pub(crate) fn parse(text: &str) -> Result<Self, PublishLimitError> {
        let short = |text: &str| text.chars().take(100).collect::<String>();
        let mut limit = Self { publishers: Vec::new(), kinds: Vec::new() };
        for part in text.split(',') {
            let (to, patterns) = match part.trim().split_once('=') {
                Some(("as", patterns)) if limit.publishers.is_empty() => (&mut limit.publishers, patterns),
                Some(("kind", patterns)) if limit.kinds.is_empty() => (&mut limit.kinds, patterns),
                _ => return Err(PublishLimitError::Form(short(text))),
            };
            for pattern in patterns.split('|').map(str::trim) {
                let is_sign = |sign: char| !sign.is_control() && !"(),|=:".contains(sign);
                let is_one = (1..=PATTERN_BYTES_MAX).contains(&pattern.len()) && pattern.chars().all(is_sign);
                if !is_one || to.len() >= PATTERNS_MAX {
                    return Err(PublishLimitError::Pattern(short(pattern)));
                }
                to.push(pattern.into());
            }
        }
        let is_about_some = |pattern: &CompactString| KINDS.iter().any(|kind| matches(pattern, kind));
        match limit.kinds.iter().find(|pattern| !is_about_some(pattern)) {
            Some(unknown) => Err(PublishLimitError::Kind(short(unknown))),
            None => Ok(limit),
        }
    }

    /// Whether it is about the publisher id, or about events without one.
    fn has_publisher(&self, id: Option<&str>) -> bool {
        let is_named = |id: &str| self.publishers.iter().any(|pattern| matches(pattern, id));
        self.publishers.is_empty() || id.is_some_and(is_named)
    }

    /// Whether it is about the kind.
    fn has_kind(&self, kind: &str) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|pattern| matches(pattern, kind))
    }
}

/// Writes it with its parentheses.
impl fmt::Display for PublishLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = [("as", &self.publishers), ("kind", &self.kinds)];
        let parts = named.into_iter().filter(|(_, patterns)| !patterns.is_empty());
        let parts = parts.map(|(name, patterns)| format!("{name}={}", patterns.join("|")));
        write!(f, "({})", parts.collect::<Vec<_>>().join(","))
    }
}

impl Principal {
    /// Whether it may publish something in the conversation, though perhaps not everything: see [`Principal::publishes`].
    pub fn may_publish_some(&self, conversation: &str) -> bool {
        self.may(Right::Publish, conversation) || self.limits(conversation).next().is_some()
    }

    /// Whether it may publish something somewhere.
    pub fn may_publish_somewhere(&self) -> bool {
        self.may_somewhere(Right::Publish) || self.grants().iter().any(|grant| grant.limit().is_some())
    }

    /// Checks that it may publish `events` in `conversation` under the publisher id `publisher`, or without one. Each event needs one grant that is about
    /// its kind and the id; an id in the event itself counts too, so that nobody speaks in the name of somebody else.
    pub fn publishes(
        &self,
        conversation: &str,
        publisher: Option<&str>,
        events: &[Envelope],
    ) -> Result<(), PublishDenial> {
        if self.may(Right::Publish, conversation) {
            return Ok(());
        }
        let limits = self.limits(conversation).collect::<Vec<_>>();
        if limits.is_empty() {
            return Err(PublishDenial::NotThere);
        }
        let named = |id: Option<&str>| {
            if limits.iter().any(|limit| limit.has_publisher(id)) {
                return Ok(());
            }
            Err(id.map_or(PublishDenial::Nameless, |id| PublishDenial::Publisher(id.into())))
        };
        named(publisher)?;
        for event in events {
            let own = event.publisher.as_ref().map(PublisherId::as_str);
            if own.is_some() {
                named(own)?;
            }
            let kind = event.event.kind.word();
            let is_granted = |limit: &&PublishLimit| {
                limit.has_publisher(publisher)
                    && (own.is_none() || limit.has_publisher(own))
                    && limit.has_kind(kind)
            };
            if !limits.iter().any(is_granted) {
                return Err(PublishDenial::Kind(kind.into()));
            }
        }
        Ok(())
    }

    /// What the grants say that let it publish some things in the conversation.
    fn limits(&self, conversation: &str) -> impl Iterator<Item = &PublishLimit> {
        let there = self.grants().iter().filter(move |grant| grant.pattern().matches(conversation));
        there.filter_map(|grant| grant.limit())
    }
}

#[cfg(test)]
mod tests {
    //! Tests of what such a grant lets somebody publish.

    use super::*;
    use crate::grant::Grant;

    fn event(json: &str) -> Envelope {
        Envelope::parse(json).unwrap()
    }

    fn said(grants: &[&str], publisher: Option<&str>, events: &[&str]) -> Result<(), PublishDenial> {
        let grants = grants.iter().map(|grant| grant.parse().unwrap()).collect();
        let events = events.iter().map(|json| event(json)).collect::<Vec<_>>();
        Principal::new("p", grants, None).publishes("c1", publisher, &events)
    }

    const STATUS: &str = r#"{"k":"status","run":"r","text":"x"}"#;
    const START: &str = r#"{"k":"run.start","run":"r"}"#;

    #[test]
    fn a_grant_is_read_as_it_is_written() {
        for text in [
            "publish(as=ci-*):c*",
            "view,publish(as=ci-*|build,kind=status|tool.*):c1",
            "publish(kind=message),control:*",
        ] {
            let grant: Grant = text.parse().unwrap();
            let again: Grant = grant.to_string().parse().unwrap();
            assert_eq!(grant, again, "{text}");
            assert!(!grant.has(Right::Publish), "{text}: not everything");
        }
        assert_eq!(
            "publish(as=a,kind=status):*".parse::<Grant>().unwrap().to_string(),
            "publish(as=a,kind=status):*"
        );
        for wrong in [
            "publish():*",
            "publish(as=):*",
            "publish(who=a):*",
            "publish(as=a,as=b):*",
            "publish(as=a:*",
            "publish(kind=mesage):*",
            "view(as=a):*",
            "admin,publish(as=a)",
            "publish,publish(as=a):*",
            "publish(as=a),publish(as=b):*",
            "publish(as=a)b:*",
        ] {
            assert!(wrong.parse::<Grant>().is_err(), "{wrong}");
        }
        let many = format!("publish(as={}):*", vec!["a"; PATTERNS_MAX + 1].join("|"));
        assert!(many.parse::<Grant>().is_err());
        assert!(format!("publish(as={}):*", "a".repeat(PATTERN_BYTES_MAX + 1)).parse::<Grant>().is_err());
    }

    #[test]
    fn only_the_ids_and_kinds_of_a_grant_are_published() {
        let ci = ["publish(as=ci-*,kind=status|tool.*):c*"];
        assert_eq!(said(&ci, Some("ci-7"), &[STATUS]), Ok(()));
        assert_eq!(said(&ci, Some("ann"), &[STATUS]), Err(PublishDenial::Publisher("ann".into())));
        assert_eq!(said(&ci, None, &[STATUS]), Err(PublishDenial::Nameless));
        assert_eq!(said(&ci, Some("ci-7"), &[STATUS, START]), Err(PublishDenial::Kind("run.start".into())));
        assert_eq!(said(&["publish(as=ci-*):d*"], Some("ci-7"), &[STATUS]), Err(PublishDenial::NotThere));
        assert_eq!(said(&["publish:c*", ci[0]], None, &[START]), Ok(()), "another grant is about everything");
        assert_eq!(said(&["admin"], None, &[START]), Ok(()));
    }

    #[test]
    fn two_grants_do_not_mix_and_nobody_speaks_in_the_name_of_somebody_else() {
        let two = ["publish(as=a,kind=status):*", "publish(as=b,kind=run.start):*"];
        assert_eq!(said(&two, Some("b"), &[START]), Ok(()));
        assert_eq!(said(&two, Some("a"), &[START]), Err(PublishDenial::Kind("run.start".into())));
        let forged = r#"{"k":"status","run":"r","text":"x","publisher":"ann"}"#;
        assert_eq!(said(&two, Some("a"), &[forged]), Err(PublishDenial::Publisher("ann".into())));
        let later = r#"{"k":"of.a.later.version","run":"r"}"#;
        assert_eq!(said(&two, Some("a"), &[later]), Err(PublishDenial::Kind("of.a.later.version".into())));
    }

    #[test]
    fn it_opens_no_door_that_takes_everything() {
        let principal = Principal::new("p", vec!["publish(kind=status):*".parse().unwrap()], None);
        assert!(principal.may_publish_some("c") && principal.may_publish_somewhere());
        assert!(!principal.may(Right::Publish, "c") && !principal.may_everywhere(Right::Publish));
        assert!(!principal.may_somewhere(Right::Publish));
    }
}
