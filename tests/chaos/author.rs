//! A publisher that counts: it numbers its frames, sends again what was not acked, and knows what must be there.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use model::code::ErrorCode;
use model::frame::{Durability, ServerFrame};
use model::{RunId, View};
use serde_json::{Value, json};
use tests::wait::load_for;
use tests::wire::{WebSocketWire, WireMessage};

use crate::settings::SeededRandom;

/// Most frames that wait for their ack.
const UNDER_WAY: usize = 32;

/// What a publisher heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuthorMessage {
    /// The oldest frame that waited is kept as it was asked for.
    Ack,
    /// It is not, since the log cannot write.
    LogFailed,
    /// Something else.
    Other,
    /// The hub is gone.
    Gone,
}

/// A frame that was not acked yet.
#[derive(Debug)]
struct SaidWords {
    number: u64,
    events: Vec<Value>,
    /// The newest word in it.
    word: u64,
}

/// A publisher that counts its words and knows which of them were acked.
#[derive(Debug)]
pub(crate) struct Author {
    name: String,
    run: String,
    conversation: String,
    asks_for: &'static str,
    /// How long a word is at least, in bytes.
    word_bytes: usize,
    /// The number of the last frame.
    frames: u64,
    /// How many words there are so far; a word is its number.
    words: u64,
    /// How many of them were acked.
    acked: u64,
    under_way: VecDeque<SaidWords>,
}

impl Author {
    /// One that says its words in a run of its own and asks that they be stored.
    pub(crate) fn new(number: u64, conversation: &str) -> Self {
        Self {
            name: format!("author-{number}"),
            run: format!("run-{number}"),
            conversation: conversation.to_owned(),
            asks_for: "stored",
            word_bytes: 0,
            frames: 0,
            words: 0,
            acked: 0,
            under_way: VecDeque::new(),
        }
    }

    /// The same with another wish.
    pub(crate) fn that_asks_for(mut self, durability: &'static str) -> Self {
        self.asks_for = durability;
        self
    }

    /// The same with words of so many bytes, which nothing makes shorter.
    pub(crate) fn with_words_of(mut self, bytes: usize) -> Self {
        self.word_bytes = bytes;
        self
    }

    /// Where it speaks.
    pub(crate) fn conversation(&self) -> &str {
        &self.conversation
    }

    /// How many words it has said.
    pub(crate) fn said(&self) -> u64 {
        self.words
    }

    /// Whether `view` has its words, from the first to the last that was acked at least, in order and once. Returns
    /// how many of those that were said are missing, none of them acked.
    pub(crate) fn check(&mut self, view: &View, round: u64) -> u64 {
        let text =
            view.runs.get(&RunId::new(&self.run)).map(model::view::RunView::answer).unwrap_or_default();
        let there = text.matches(' ').count() as u64;
        let mut expected = String::new();
        for word in 1..=there {
            expected += &self.word(word);
        }
        let same = text.bytes().zip(expected.bytes()).take_while(|(one, other)| one == other).count();
        let odd: String = text.chars().skip(same).take(60).collect();
        assert!(
            text == expected,
            "round {round}: {} goes wrong at byte {same} of {}: {odd}",
            self.name,
            text.len()
        );
        assert!(
            there >= self.acked,
            "round {round}: {} lost acked words: {there} of {}",
            self.name,
            self.acked
        );
        assert!(there <= self.words, "round {round}: {} never said {there}", self.name);
        self.words - there
    }

    /// The word with this number.
    fn word(&self, number: u64) -> String {
        let mut word = number.to_string();
        let mut noise = SeededRandom::from(number);
        while word.len() < self.word_bytes {
            // Letters: of digits alone, one in some thousands would be the number of a card, which the hub marks.
            let digits = format!("{:016x}", noise.next());
            word.extend(digits.bytes().map(|digit| char::from(digit % 16 + b'g')));
        }
        word.push(' ');
        word
    }

    /// Makes the next frame of `count` words.
    fn think(&mut self, count: u64) {
        let mut events = Vec::new();
        if self.frames == 0 {
            events.push(json!({"k": "run.start", "run": self.run, "model": "m"}));
            events.push(json!({"k": "part.start", "run": self.run, "part": "p", "kind": "text"}));
        }
        for _ in 0..count {
            self.words += 1;
            let text = self.word(self.words);
            events.push(json!({"k": "part.delta", "run": self.run, "part": "p", "text": text}));
        }
        self.frames += 1;
        self.under_way.push_back(SaidWords { number: self.frames, events, word: self.words });
    }

    async fn send(&self, wire: &mut WebSocketWire, said: &SaidWords) -> bool {
        let frame = json!({
            "t": "pub", "id": said.number, "conv": self.conversation, "pid": self.name, "pepoch": 1,
            "pseq": said.number, "durability": self.asks_for, "events": said.events,
        });
        wire.offer_text(frame.to_string()).await
    }

    async fn send_newest(&self, wire: &mut WebSocketWire) -> bool {
        match self.under_way.back() {
            Some(said) => self.send(wire, said).await,
            None => true,
        }
    }

    /// Says again what was not acked, and goes on until the hub is gone.
    pub(crate) async fn speak(&mut self, address: SocketAddr, mut random: SeededRandom) {
        let Some(mut wire) = self.come_back(address).await else { return };
        loop {
            let pause = Duration::from_micros(random.between(0, 8_000));
            if self.under_way.len() < UNDER_WAY {
                tokio::select! {
                    came = wire.next() => if self.hear(came) == AuthorMessage::Gone { return },
                    () = load_for(pause) => {
                        self.think(random.between(1, 6));
                        if !self.send_newest(&mut wire).await {
                            return;
                        }
                    }
                }
            } else if self.hear(wire.next().await) == AuthorMessage::Gone {
                return;
            }
        }
    }

    /// Connects and says again what was not acked; nothing when the hub is gone again.
    pub(crate) async fn come_back(&self, address: SocketAddr) -> Option<WebSocketWire> {
        let mut wire = WebSocketWire::try_connect(address).await?;
        for said in &self.under_way {
            if !self.send(&mut wire, said).await {
                return None;
            }
        }
        Some(wire)
    }

    /// Takes what the hub said.
    fn hear(&mut self, came: WireMessage) -> AuthorMessage {
        match came {
            WireMessage::Frame(ServerFrame::Ack(ack), _) => {
                assert!(self.asks_for != "stored" || ack.durability >= Durability::Stored, "{ack:?}");
                let oldest = self.under_way.pop_front().expect("an ack answers a frame");
                assert_eq!(ack.id, oldest.number, "acks of one level come in order");
                self.acked = oldest.word;
                AuthorMessage::Ack
            }
            WireMessage::Frame(ServerFrame::Error { code: ErrorCode::LogFailed, .. }, _) => {
                AuthorMessage::LogFailed
            }
            WireMessage::Frame(ServerFrame::Error { code, message, .. }, _) => {
                panic!("{} was refused: {code:?} {message}", self.name)
            }
            WireMessage::Frame(..) => AuthorMessage::Other,
            WireMessage::End(_) => AuthorMessage::Gone,
        }
    }

    /// Says again what was not acked and waits until all of it is.
    pub(crate) async fn finish(&mut self, address: SocketAddr) {
        let mut wire = self.come_back(address).await.expect("a hub that stays");
        while !self.under_way.is_empty() {
            let heard = self.hear(wire.next().await);
            assert!(
                matches!(heard, AuthorMessage::Ack | AuthorMessage::Other),
                "all is well, and yet {heard:?}"
            );
        }
        assert_eq!(self.acked, self.words);
    }

    /// Says `count` words and waits for their ack only; where the conversation stands then.
    pub(crate) async fn say_at_once(&mut self, address: SocketAddr, count: u64) -> u64 {
        let mut wire = WebSocketWire::connect(address).await;
        self.think(count);
        self.send_newest(&mut wire).await;
        match wire.frame().await {
            ServerFrame::Ack(ack) => ack.seq,
            other => panic!("no ack: {other:?}"),
        }
    }

    /// Says a word and hears that it is kept.
    pub(crate) async fn speak_once(&mut self, wire: &mut WebSocketWire) {
        self.think(1);
        self.send_newest(wire).await;
        assert_eq!(self.answer(wire).await, AuthorMessage::Ack);
    }

    /// Says word after word, each in a frame of its own and after the answer to the last, until the log fails. Returns
    /// how many were acked.
    pub(crate) async fn speak_until_the_log_fails(&mut self, wire: &mut WebSocketWire) -> u64 {
        loop {
            self.think(1);
            self.send_newest(wire).await;
            match self.answer(wire).await {
                AuthorMessage::LogFailed => return self.acked,
                heard => assert_eq!(heard, AuthorMessage::Ack),
            }
        }
    }

    /// Says one more word and hears that it is not kept.
    pub(crate) async fn speak_in_vain(&mut self, wire: &mut WebSocketWire) {
        self.think(1);
        self.send_newest(wire).await;
        assert_eq!(self.answer(wire).await, AuthorMessage::LogFailed);
    }

    /// What the hub says to the newest frame. It may have a word on something else before, on the log for one.
    async fn answer(&mut self, wire: &mut WebSocketWire) -> AuthorMessage {
        loop {
            match self.hear(wire.next().await) {
                AuthorMessage::Other => {}
                answer => return answer,
            }
        }
    }
}
