//! A WebSocket: any frames in any order. The first byte chooses: bytes as they are, or one text frame for each line, whose
//! answers are held against what the protocol says that they are.
#![no_main]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fuzz::hub::{self, Clock, Hub};
use fuzz::talk::{LONG, QUIET, ServerMessage, Socket, TEXT, checked};
use libfuzzer_sys::fuzz_target;
use model::code::{CloseCode, ErrorCode};
use model::frame::{ClientFrame, Durability, ServerFrame, SubscriptionId, SubMode, VERSION, parse_client, parse_server};
use model::lens::Lens;
use model::limits::{RESYNCS_MAX, SUBSCRIPTIONS_PER_SOCKET_MAX};
use model::snapshot;
use model::tracker::{FrameOutcome, Tracker};
use edge::Config;

fuzz_target!(|bytes: &[u8]| {
    let Some((mode, rest)) = bytes.split_first() else { return };
    hub::with(Clock::Jumps, Config::default(), async |hub| {
        if mode & 1 == 1 {
            bare(hub, mode & 2 == 2, rest).await;
        } else if let Ok(text) = std::str::from_utf8(rest) {
            Talk::default().hold(hub, text).await;
        }
        // Whatever came, others are served.
        let mut other = Socket::open(hub).await;
        assert!(other.say(TEXT, br#"{"t":"hello","versions":["1"]}"#).await);
        assert!(matches!(heard(&mut other, QUIET).await, Some(ServerFrame::Welcome(_))), "no welcome");
    });
});

/// Bytes as they are, greeted before or not: every frame of the hub can be read, and it closes with the code that it said.
async fn bare(hub: Hub, greets: bool, bytes: &[u8]) {
    let mut socket = Socket::open(hub).await;
    if greets {
        socket.say(TEXT, br#"{"t":"hello","versions":["1"]}"#).await;
    }
    socket.raw(bytes).await;
    let mut bye = None;
    while let Some(heard) = socket.hear(LONG).await {
        match heard {
            ServerMessage::Text(text) => match parse_server(&text).expect("a frame") {
                ServerFrame::Bye { code, .. } => {
                    assert!(CloseCode::ALL.iter().any(|known| known.number() == code), "{code}");
                    bye = Some(code);
                }
                frame => assert!(bye.is_none(), "after goodbye: {frame:?}"),
            },
            // It answers a peer's close with the peer's code.
            ServerMessage::Close(code) if bye.is_some() => assert_eq!(code, bye),
            ServerMessage::Close(_) | ServerMessage::Control => {}
        }
    }
}

/// The next frame.
async fn heard(socket: &mut Socket, patience: Duration) -> Option<ServerFrame> {
    loop {
        match socket.hear(patience).await? {
            ServerMessage::Text(text) => {
                let frame = parse_server(&text).expect("a frame of the hub can be read");
                assert!(frame != ServerFrame::Unknown, "{text}");
                return Some(frame);
            }
            ServerMessage::Close(_) => return None,
            ServerMessage::Control => {}
        }
    }
}

/// An answer that comes in the order of what is asked.
#[derive(Debug, PartialEq)]
enum Due {
    Welcome,
    Error(Option<SubscriptionId>, Option<u64>, ErrorCode),
    /// An ack, or why there is none.
    Publication(u64),
    Bye(CloseCode),
}

/// What a subscription is of.
enum Place {
    Conversation(String, Lens),
    List,
}

/// The connection as the protocol has it.
#[derive(Default)]
struct Talk {
    greeted: bool,
    over: bool,
    resyncs: u32,
    due: Vec<Due>,
    /// Commands that wait for their answers.
    commands: Vec<String>,
    subs: BTreeMap<SubscriptionId, Place>,
    ever: BTreeSet<SubscriptionId>,
    conversations: BTreeSet<String>,
}

impl Talk {
    async fn hold(mut self, hub: Hub, text: &str) {
        let mut socket = Socket::open(hub).await;
        for line in text.lines() {
            self.say(line);
            socket.say(TEXT, line.as_bytes()).await;
        }
        if !self.greeted && !self.over {
            return;
        }
        let mark = (0..).find(|sub| !self.ever.contains(sub)).unwrap_or_default();
        if !self.over {
            self.due.push(Due::Error(Some(mark), None, ErrorCode::UnknownSubscription));
            socket.say(TEXT, format!(r#"{{"t":"unsub","sub":{mark}}}"#).as_bytes()).await;
        }
        let trackers = self.listen(&mut socket).await;
        for name in self.conversations.iter().filter(|_| !self.over) {
            let Some(view) = checked(hub, name).await else { continue };
            for (sub, place) in &self.subs {
                let (Place::Conversation(of, lens), Some(tracker)) = (place, trackers.get(sub)) else {
                    continue;
                };
                if of == name {
                    assert!(tracker.is_live(), "{sub} is not live");
                    let (seen, whole) =
                        (snapshot::encode(tracker.view()), snapshot::encode(&lens.project(&view)));
                    assert!(seen == whole, "I5:\n{}\n{}", utf8(&seen), utf8(&whole));
                }
            }
        }
    }

    /// What the hub must make of a frame.
    fn say(&mut self, line: &str) {
        if self.over {
            return;
        }
        let frame = parse_client(line);
        if !self.greeted && !matches!(frame, Ok(ClientFrame::Hello { .. })) {
            return self.close(CloseCode::BadFrame);
        }
        match frame {
            Ok(ClientFrame::Hello { .. }) if self.greeted => self.error(None, None, ErrorCode::BadRequest),
            Ok(ClientFrame::Hello { versions, .. }) => {
                if !versions.iter().any(|version| version == VERSION) {
                    return self.close(CloseCode::NoCommonVersion);
                }
                self.greeted = true;
                self.due.push(Due::Welcome);
            }
            Ok(ClientFrame::Sub { sub, conv, wish, .. }) => {
                self.conversations.insert(conv.to_string());
                self.begin(sub, Place::Conversation(conv.to_string(), wish.lens));
            }
            Ok(ClientFrame::Watch { sub, .. }) => self.begin(sub, Place::List),
            Ok(ClientFrame::Unsub { sub }) => {
                if self.subs.remove(&sub).is_none() {
                    self.error(Some(sub), None, ErrorCode::UnknownSubscription);
                }
            }
            Ok(ClientFrame::Resync { sub }) => {
                self.resyncs += 1;
                if self.resyncs > RESYNCS_MAX {
                    return self.close(CloseCode::InsufficientState);
                }
                if !self.subs.contains_key(&sub) {
                    self.error(Some(sub), None, ErrorCode::UnknownSubscription);
                }
            }
            Ok(ClientFrame::HbAck { .. }) => {}
            Ok(ClientFrame::Pub(publication)) => {
                if publication.durability.is_some_and(|level| level > Durability::Memory) {
                    return self.error(None, Some(publication.id), ErrorCode::DurabilityUnavailable);
                }
                self.conversations.insert(publication.conv.to_string());
                self.due.push(Due::Publication(publication.id));
            }
            Ok(ClientFrame::Command { command, .. }) => self.commands.push(command.id.to_string()),
            Err(error) => match error.command() {
                Some(id) => self.commands.push(id.to_string()),
                None => {
                    let (sub, id) = error.about();
                    self.error(sub, id, error.code());
                }
            },
        }
    }

    fn begin(&mut self, sub: SubscriptionId, place: Place) {
        if self.subs.contains_key(&sub) {
            self.error(Some(sub), None, ErrorCode::SubscriptionInUse);
        } else if self.subs.len() >= SUBSCRIPTIONS_PER_SOCKET_MAX {
            self.error(Some(sub), None, ErrorCode::TooMany);
        } else {
            self.ever.insert(sub);
            self.subs.insert(sub, place);
        }
    }

    fn error(&mut self, sub: Option<SubscriptionId>, id: Option<u64>, code: ErrorCode) {
        self.due.push(Due::Error(sub, id, code));
    }

    fn close(&mut self, code: CloseCode) {
        self.over = true;
        self.due.push(Due::Bye(code));
    }

    /// Hears everything until it is quiet, and holds it against what is due.
    async fn listen(&mut self, socket: &mut Socket) -> BTreeMap<SubscriptionId, Tracker> {
        let mut due = std::mem::take(&mut self.due).into_iter();
        let mut trackers: BTreeMap<SubscriptionId, Tracker> = BTreeMap::new();
        while let Some(mut frame) = heard(socket, QUIET).await {
            let answered = match &frame {
                ServerFrame::Welcome(_) => Some(Due::Welcome),
                ServerFrame::Ack(ack) => Some(Due::Publication(ack.id)),
                ServerFrame::Error { sub, id, code, .. } => Some(Due::Error(*sub, *id, *code)),
                ServerFrame::Bye { code, .. } => {
                    let code = CloseCode::ALL.into_iter().find(|known| known.number() == *code);
                    Some(Due::Bye(code.expect("a code of the table")))
                }
                ServerFrame::Done(done) => return_of(&mut self.commands, &done.id, &frame),
                ServerFrame::Refused { id, .. } => return_of(&mut self.commands, id, &frame),
                _ => None,
            };
            if let Some(answered) = answered {
                let expected = due.next();
                let fits = match (&answered, &expected) {
                    (Due::Error(None, Some(id), _), Some(Due::Publication(due))) => id == due,
                    (answered, expected) => Some(answered) == expected.as_ref(),
                };
                assert!(fits, "{expected:?} was due: {frame:?}");
                if matches!(answered, Due::Bye(_)) {
                    return trackers;
                }
            }
            self.follow(&mut frame, &mut trackers);
        }
        assert_eq!(due.next(), None, "an answer is missing");
        assert!(self.commands.is_empty(), "commands without an answer: {:?}", self.commands);
        trackers
    }

    /// What a frame is to the viewer whose it is.
    fn follow(&self, frame: &mut ServerFrame, trackers: &mut BTreeMap<SubscriptionId, Tracker>) {
        let sub = match frame {
            ServerFrame::Subbed { sub, .. }
            | ServerFrame::Snap { sub, .. }
            | ServerFrame::Batch { sub, .. }
            | ServerFrame::Live { sub, .. }
            | ServerFrame::Lag { sub, .. }
            | ServerFrame::Presence { sub, .. }
            | ServerFrame::Fleet { sub, .. } => *sub,
            _ => return,
        };
        assert!(self.ever.contains(&sub), "nobody asked for it: {frame:?}");
        if let ServerFrame::Subbed { mode, .. } = &*frame {
            assert_eq!(*mode, SubMode::Snapshot, "nobody can know an epoch");
            let lens = match self.subs.get(&sub) {
                Some(Place::Conversation(_, lens)) => lens.clone(),
                _ => Lens::default(),
            };
            trackers.insert(sub, Tracker::through(lens));
        }
        let Some(tracker) = trackers.get_mut(&sub) else { return };
        let outcome = tracker.take(frame, &mut |_change| {});
        let broken = matches!(outcome, FrameOutcome::Gap { .. } | FrameOutcome::Drift { .. });
        assert!(!broken, "I2: {outcome:?}");
    }
}

fn utf8(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Takes a command that was answered off the list.
fn return_of(commands: &mut Vec<String>, id: &str, frame: &ServerFrame) -> Option<Due> {
    let at = commands.iter().position(|known| known == id);
    commands.swap_remove(at.unwrap_or_else(|| panic!("nobody commanded it: {frame:?}")));
    None
}
