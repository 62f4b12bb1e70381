//! A hub with access control and a conversation that nobody sees who talks to it: its contents are a word that no input has and no
//! answer may have. Who talks has no token, a wrong one, or one for other conversations.

use std::path::Path;

use access::{Grant, NewToken, Secret, SecretKind, Tokens};
use edge::Config;
use edge::access::{AccessConfig, verify};
use tempfile::TempDir;

use crate::dice;
use crate::hub::{self, Clock, Hub};
use crate::talk::{Answer, ask};

/// The conversation that nobody sees but who may do everything.
pub const HIDDEN: &str = "vault";

/// What the limited token may do, where.
const GRANTS: [&str; 2] = ["view,publish,control,import,export:open-*", "publish(as=ci-*,kind=status):ci-*"];

/// How often an answer is asked for that the clock has jumped over.
const TRIES: usize = 50;

/// What an input writes for the limited token, a token that is none, and the cookie of a browser that is logged in with the limited one.
const PLACES: [&str; 3] = ["$T", "$W", "$C"];

/// A hub with access control, its tokens, and what nobody may hear.
#[derive(Debug)]
pub struct Guarded {
    /// The hub.
    pub hub: Hub,
    /// The text of the hidden conversation.
    pub word: String,
    /// The token for other conversations alone.
    pub limited: Secret,
    /// One that the hub does not know.
    pub wrong: Secret,
    admin: Secret,
    /// The hidden conversation and the list, as they were before anybody said anything.
    before: Seen,
}

/// What whoever may do everything sees of what must not change.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    /// With its head, which rises with each event.
    state: Vec<u8>,
    /// How many links lead to it.
    links: usize,
}

/// Lets `visit` talk to such a hub, and then holds that nothing was read and nothing written that may not be. `input` decides the word.
pub fn with(input: &[u8], visit: impl AsyncFnOnce(&Guarded)) {
    let place = tempfile::tempdir().expect("a folder");
    let (config, [admin, limited, wrong]) = guarded(&place);
    hub::with(Clock::Jumps, config, async |hub| {
        let word = format!("w{:016x}", dice(input));
        let mut all = Guarded { hub, word, limited, wrong, admin, before: Seen::default() };
        let said = format!(
            "{{\"k\":\"run.start\",\"run\":\"r\",\"title\":\"{word}\"}}\n{{\"k\":\"part.delta\",\"part\":\"p\",\"text\":\"{word}\",\"run\":\"r\"}}\n",
            word = all.word
        );
        let path = format!("/v1/conversations/{HIDDEN}/events");
        let taken = all.as_admin(&format!("POST {path}"), said.as_bytes()).await;
        assert_eq!(taken.status, 200, "{}", taken.head);
        all.before = all.seen().await;
        visit(&all).await;
        assert_eq!(all.seen().await, all.before, "the hidden conversation or the links are not as they were");
        let served = all.asked("GET /v1/access", &all.limited, &[]).await;
        assert_eq!(served.status, 200, "the next one is not served");
    });
    follows(place.path());
}

/// The settings, and the tokens of whoever may do everything, something, nothing.
fn guarded(place: &TempDir) -> (Config, [Secret; 3]) {
    let secrets = [1, 2, 3].map(|byte| Secret::mint(SecretKind::Token, &[byte; 32]));
    let mut own = Tokens::default();
    let [admin, limited, _] = &secrets;
    for (name, secret, grants) in [("root", admin, &["admin"][..]), ("somebody", limited, &GRANTS)] {
        let grants: Vec<Grant> = grants.iter().map(|grant| grant.parse().expect("a grant")).collect();
        let new = NewToken { name, grants, role: None, upstreams: Vec::new(), budget: None, lives_ms: None };
        own.create(new, secret.hash(), 0).expect("a token");
    }
    let access = AccessConfig { folder: place.path().to_owned(), own, ..AccessConfig::default() };
    (Config { access: Some(access), ..Config::default() }, secrets)
}

/// The audit log of the hub that was is whole.
fn follows(place: &Path) {
    let report = verify(place).expect("the audit log can be read");
    assert!(report.fault.is_none(), "{:?}", report.fault);
}

impl Guarded {
    /// Whoever may do everything asks.
    async fn as_admin(&self, line: &str, body: &[u8]) -> Answer {
        self.asked(line, &self.admin, body).await
    }

    /// The answer to somebody honest. The clock may jump over what threads of the hub do, and then it is asked for again.
    async fn asked(&self, line: &str, token: &Secret, body: &[u8]) -> Answer {
        let lines = format!("{line} HTTP/1.1\r\nauthorization: Bearer {}", token.reveal());
        for _ in 0..TRIES {
            if let Some(answer) = ask(self.hub, &lines, body).await {
                return answer;
            }
        }
        panic!("nobody answers {line}");
    }

    async fn seen(&self) -> Seen {
        let state = self.as_admin(&format!("GET /v1/conversations/{HIDDEN}"), &[]).await;
        let links = self.as_admin("GET /v1/shares", &[]).await;
        assert_eq!((state.status, links.status), (200, 200));
        // Whoever may see it sees it, so that the law means something.
        assert!(String::from_utf8_lossy(&state.body).contains(&self.word));
        let links: serde_json::Value = serde_json::from_slice(&links.body).expect("links are JSON");
        let links = links["shares"].as_array().expect("links").iter();
        let hidden = links.filter(|link| link["conversation"] == HIDDEN).count();
        Seen { state: state.body, links: hidden }
    }

    /// `text` with tokens and the cookie where it wants them.
    pub async fn filled(&self, text: &str) -> String {
        let [limited, wrong, cookie] = PLACES;
        let mut text = text.replace(limited, self.limited.reveal()).replace(wrong, self.wrong.reveal());
        if text.contains(cookie) {
            text = text.replace(cookie, &self.cookie().await);
        }
        text
    }

    /// The cookie of a browser that logs in with the limited token.
    async fn cookie(&self) -> String {
        let form = format!("token={}&next=/", self.limited.reveal());
        let head = "POST /login HTTP/1.1\r\ncontent-type: application/x-www-form-urlencoded";
        let mut answer = None;
        for _ in 0..TRIES {
            if answer.is_none() {
                answer = ask(self.hub, head, form.as_bytes()).await;
            }
        }
        let answer = answer.expect("an answer to the login");
        let lines = answer.head.lines().filter_map(|line| line.split_once(": "));
        let cookie =
            lines.filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie")).map(|(_, value)| value);
        cookie.filter_map(|value| value.split(';').next()).next().expect("a cookie").to_owned()
    }

    /// Fails if somebody hears what is hidden, or is lent a token of others.
    pub fn may_hear(&self, told: &[u8]) {
        let told = String::from_utf8_lossy(told);
        assert!(!told.contains(&self.word), "the hidden conversation was told: {told}");
        assert!(!told.contains(self.admin.reveal()), "a token was told: {told}");
    }

    /// Whether the list of whoever may do everything is as it was: the hidden conversation alone.
    pub async fn list_is_as_it_was(&self) {
        let list = self.as_admin("GET /v1/conversations", &[]).await;
        let list: serde_json::Value = serde_json::from_slice(&list.body).expect("the list is JSON");
        for row in list["conversations"].as_array().expect("rows") {
            let name = row["conversation"].as_str().expect("a name");
            let is_granted = ["open-", "ci-"].iter().any(|prefix| name.starts_with(prefix));
            assert!(name == HIDDEN || is_granted, "{name:?} was written by nobody who may");
        }
    }
}
