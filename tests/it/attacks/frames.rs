//! What the WebSocket standard (RFC 6455) leaves to whoever sends bytes: fragments, opcodes, reserved bits, lengths, text that is none, codes of a
//! close. Each case is tried by a stranger and by somebody who is known, byte for byte. The cases are those of the Autobahn test suite that apply:
//! its groups 1 to 7; compression (12, 13) is not offered.

use std::net::SocketAddr;

use tests::TestHub;
use tests::wait::within;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::access::guarded;

const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
/// The bit of a frame that is the last one of its message.
const LAST: u8 = 0x80;

/// What the hub sends.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Heard {
    Text(String),
    Pong(Vec<u8>),
    Close(Option<u16>),
    End,
}

/// A WebSocket, byte for byte.
struct Bare {
    stream: TcpStream,
    came: Vec<u8>,
}

/// A frame whose first byte is `first`, masked as a client's must be. The length is written in the shortest form.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mask = [0x37, 0xfa, 0x21, 0x3d];
    let mut bytes = head(first, payload.len() as u64);
    bytes.extend(mask);
    bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

/// The first bytes of a masked frame, up to its mask.
fn head(first: u8, length: u64) -> Vec<u8> {
    let mut bytes = vec![first];
    match length {
        0..126 => bytes.push(0x80 | u8::try_from(length).unwrap()),
        126..=0xffff => {
            bytes.push(0x80 | 0x7e);
            bytes.extend(u16::try_from(length).unwrap().to_be_bytes());
        }
        _ => {
            bytes.push(0x80 | 127);
            bytes.extend(length.to_be_bytes());
        }
    }
    bytes
}

impl Bare {
    /// A socket of nobody.
    async fn open(address: SocketAddr) -> Self {
        let mut stream = within("a connection", TcpStream::connect(address)).await.unwrap();
        let request = format!(
            "GET /v1/ws HTTP/1.1\r\nhost: {address}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
             sec-websocket-protocol: fanlight.v1\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut bare = Self { stream, came: Vec::new() };
        let end = loop {
            if let Some(at) = bare.came.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            assert!(bare.more().await, "no answer to the upgrade");
        };
        assert!(bare.came.starts_with(b"HTTP/1.1 101"));
        bare.came.drain(..end);
        bare
    }

    /// A socket that was let in with `token`, or one of a stranger who said nothing yet.
    async fn of(address: SocketAddr, token: Option<&str>) -> Self {
        let mut bare = Self::open(address).await;
        if let Some(token) = token {
            let hello = format!(r#"{{"t":"hello","versions":["1"],"token":"{token}"}}"#);
            bare.send(&frame(LAST | TEXT, hello.as_bytes())).await;
            let Heard::Text(welcome) = bare.hear().await else { panic!("no welcome") };
            assert!(welcome.contains("welcome"), "{welcome}");
        }
        bare
    }

    async fn more(&mut self) -> bool {
        matches!(within("the hub", self.stream.read_buf(&mut self.came)).await, Ok(1..))
    }

    /// Sends bytes; the hub may have closed.
    async fn send(&mut self, bytes: &[u8]) {
        let _gone = within("the hub to read", self.stream.write_all(bytes)).await;
    }

    /// What comes next, other than pings.
    async fn hear(&mut self) -> Heard {
        loop {
            if let Some((heard, used)) = self.first() {
                self.came.drain(..used);
                return heard;
            }
            if !self.more().await {
                return Heard::End;
            }
        }
    }

    fn first(&self) -> Option<(Heard, usize)> {
        let [first, second, rest @ ..] = self.came.as_slice() else { return None };
        assert!(first & 0x70 == 0 && second & 0x80 == 0, "a frame that no hub sends");
        let (length, at) = match second {
            126 => (usize::from(u16::from_be_bytes(rest.get(..2)?.try_into().ok()?)), 4),
            127 => (usize::try_from(u64::from_be_bytes(rest.get(..8)?.try_into().ok()?)).ok()?, 10),
            short => (usize::from(*short), 2),
        };
        let payload = self.came.get(at..at + length)?;
        let heard = match first & 0x0f {
            TEXT => Heard::Text(String::from_utf8(payload.to_vec()).expect("text")),
            CLOSE => Heard::Close(payload.get(..2).map(|code| u16::from_be_bytes([code[0], code[1]]))),
            PONG => Heard::Pong(payload.to_vec()),
            other => panic!("an opcode that no hub sends: {other}"),
        };
        Some((heard, at + length))
    }

    /// The code with which the hub ends the socket, and the code that it names before.
    async fn end(&mut self) -> (Option<u16>, Option<u16>) {
        let mut said = None;
        loop {
            match self.hear().await {
                Heard::Text(text) => {
                    let bye: serde_json::Value = serde_json::from_str(&text).unwrap();
                    assert_eq!(bye["t"], "bye", "{text}");
                    said = bye["code"].as_u64().and_then(|code| u16::try_from(code).ok());
                }
                Heard::Pong(_) => {}
                Heard::Close(code) => return (said, code),
                Heard::End => return (said, None),
            }
        }
    }
}

/// Bytes that no client may send, and the code with which a socket ends for them.
fn forbidden() -> Vec<(String, Vec<u8>, u16)> {
    let (bad, large) = (4500, 4501);
    let mut all = Vec::new();
    let mut case = |name: &str, bytes: Vec<u8>, code: u16| all.push((name.to_owned(), bytes, code));
    for bit in [0x40, 0x20, 0x10] {
        case("a reserved bit of a text", frame(LAST | bit | TEXT, b"{}"), bad);
        case("a reserved bit of a ping", frame(LAST | bit | PING, b"x"), bad);
    }
    for opcode in [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] {
        case(&format!("the reserved opcode {opcode}"), frame(LAST | opcode, b"x"), bad);
    }
    case("a binary message", frame(LAST | BINARY, b"{}"), bad);
    case("a frame that is not masked", vec![LAST | TEXT, 2, b'{', b'}'], bad);
    case("a ping of 126 bytes", frame(LAST | PING, &[b'x'; 126]), bad);
    case("a close of 126 bytes", frame(LAST | CLOSE, &[3; 126]), bad);
    case("a ping in fragments", [frame(PING, b"x"), frame(LAST, b"y")].concat(), bad);
    case("a continuation of nothing", frame(LAST, b"{}"), bad);
    case("a continuation of nothing that goes on", frame(0, b"{}"), bad);
    case("a text inside of a text", [frame(TEXT, b"{"), frame(LAST | TEXT, b"}")].concat(), bad);
    case(
        "text that is no UTF-8",
        frame(LAST | TEXT, b"{\"t\":\"\xce\xba\xe1\xbd\xb9\xcf\x83\xed\xa0\x80\"}"),
        bad,
    );
    case("text that ends inside of a character", frame(LAST | TEXT, b"\xf0\x9f\x98"), bad);
    case(
        "an overlong form in the second fragment",
        [frame(TEXT, b"{"), frame(LAST, b"\xc0\xaf")].concat(),
        bad,
    );
    case("a close of one byte", frame(LAST | CLOSE, &[3]), bad);
    case("a close whose reason is no UTF-8", frame(LAST | CLOSE, b"\x03\xe8\xff\xfe"), bad);
    case("a length of 2^40", [head(LAST | TEXT, 1 << 40), vec![0; 64]].concat(), large);
    case("a length of 2^63 and more", [head(LAST | TEXT, u64::MAX), vec![0; 64]].concat(), large);
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_bytes_that_are_no_frames_end_their_socket_and_no_other() {
    let hub = guarded().await;
    let token = hub.token_for("ann", &["view:*"]).await;
    let mut other = Bare::of(hub.address(), Some(&token)).await;
    for who in [None, Some(token.as_str())] {
        for (name, bytes, code) in forbidden() {
            let mut bare = Bare::of(hub.address(), who).await;
            bare.send(&bytes).await;
            let ended = bare.end().await;
            assert!(
                ended == (Some(code), Some(code)),
                "{name}, {}: {ended:?}, not {code}",
                if who.is_some() { "known" } else { "a stranger" }
            );
        }
    }
    other.send(&frame(LAST | PING, b"still here")).await;
    assert_eq!(other.hear().await, Heard::Pong(b"still here".to_vec()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_standard_allows_is_taken_in_any_pieces() {
    let hub = guarded().await;
    let token = hub.token_for("ann", &["view:*"]).await;
    // An unknown frame is answered with an error that names it, so that the hub shows what it read.
    let said = "{\"t\":\"weather κόσμε 😀\"}".as_bytes();
    let pong = |payload: &[u8]| Heard::Pong(payload.to_vec());
    let (first, rest) = said.split_at(17);
    let pieces: Vec<Vec<u8>> = vec![
        frame(LAST | TEXT, said),
        // In two, inside of a character; in bytes; with empty fragments; with pings between.
        [frame(TEXT, first), frame(LAST, rest)].concat(),
        [frame(TEXT, &[]), said.iter().flat_map(|byte| frame(0, &[*byte])).collect(), frame(LAST, &[])]
            .concat(),
        [
            frame(TEXT, first),
            frame(LAST | PING, b"1"),
            frame(0, &[]),
            frame(LAST | PONG, b"unasked"),
            frame(LAST, rest),
        ]
        .concat(),
        [frame(LAST | PING, &[b'x'; 125]), frame(LAST | PING, &[]), frame(LAST | TEXT, said)].concat(),
        // A length in a longer form than it needs.
        [
            vec![LAST | TEXT, 0x80 | 127],
            (said.len() as u64).to_be_bytes().to_vec(),
            vec![0; 4],
            said.to_vec(),
        ]
        .concat(),
    ];
    let pongs = [vec![], vec![], vec![], vec![pong(b"1")], vec![pong(&[b'x'; 125]), pong(b"")], vec![]];
    for (bytes, pongs) in pieces.iter().zip(pongs) {
        for at_once in [bytes.len(), 1] {
            let mut bare = Bare::of(hub.address(), Some(&token)).await;
            for piece in bytes.chunks(at_once) {
                bare.send(piece).await;
            }
            let mut heard = Vec::new();
            let answer = loop {
                match bare.hear().await {
                    Heard::Text(text) => break text,
                    other => heard.push(other),
                }
            };
            assert!(answer.contains("weather κόσμε 😀"), "{answer}");
            assert_eq!(heard, pongs);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_close_is_answered_with_its_code_if_that_is_one() {
    let hub = guarded().await;
    let token = hub.token_for("ann", &["view:*"]).await;
    let close =
        |code: u16, reason: &str| frame(LAST | CLOSE, &[&code.to_be_bytes()[..], reason.as_bytes()].concat());
    for who in [None, Some(token.as_str())] {
        for code in [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999] {
            let mut bare = Bare::of(hub.address(), who).await;
            // What comes behind a close is not looked at.
            bare.send(&[close(code, "ende ✓"), frame(LAST | PING, b"late")].concat()).await;
            assert_eq!(bare.hear().await, Heard::Close(Some(code)));
            assert_eq!(bare.hear().await, Heard::End, "after {code}");
        }
        for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 2000, 2999, 5000, 65535] {
            let mut bare = Bare::of(hub.address(), who).await;
            bare.send(&close(code, "")).await;
            let Heard::Close(Some(answer)) = bare.hear().await else { panic!("{code} is not answered") };
            assert_eq!(answer, 1002, "{code} is none that may be sent");
        }
        let mut bare = Bare::of(hub.address(), who).await;
        bare.send(&frame(LAST | CLOSE, &[])).await;
        assert!(matches!(bare.hear().await, Heard::Close(_)));
        assert_eq!(bare.hear().await, Heard::End);
    }
}

/// Sockets that have each sent the most of a frame of 1 MiB. Of strangers each is closed for it.
async fn filled(hub: &TestHub, count: usize, token: Option<&str>) -> Vec<Bare> {
    let most = vec![b' '; 1_000_000];
    let mut open = Vec::new();
    for _ in 0..count {
        let mut bare = Bare::of(hub.address(), token).await;
        let begun = [head(LAST | TEXT, 1 << 20), vec![0; 4], most.clone()].concat();
        bare.send(&begun).await;
        if token.is_none() {
            assert_eq!(bare.end().await, (Some(4501), Some(4501)));
        }
        open.push(bare);
    }
    open
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_attack_a_stranger_fills_memory_before_it_is_known() {
    const SOCKETS: usize = 64;
    const MIB: u64 = 1 << 20;
    let hub = guarded().await;
    let token = hub.token_for("ann", &["view:*"]).await;
    // The peak never falls, so what the hub took before does not count.
    let before = hub.process().peak_bytes;
    drop(filled(&hub, SOCKETS, None).await);
    let by_strangers = hub.process().peak_bytes.saturating_sub(before);
    assert!(by_strangers < 16 * MIB, "{by_strangers} bytes");
    // The test of the test: of somebody who is known the hub keeps what is not whole yet.
    let before = hub.process().peak_bytes;
    let _open = filled(&hub, SOCKETS, Some(&token)).await;
    tests::wait::until("the frames of somebody who is known to be kept", async || {
        (hub.process().peak_bytes.saturating_sub(before) > 32 * MIB).then_some(())
    })
    .await;
    // The longest hello is read, and one byte more is not.
    let hello = |length: usize| {
        let start = format!(r#"{{"t":"hello","versions":["1"],"token":"{token}","client":""#);
        let filling = "x".repeat(length - start.len() - 2);
        frame(LAST | TEXT, format!("{start}{filling}\"}}").as_bytes())
    };
    let mut bare = Bare::open(hub.address()).await;
    bare.send(&hello(model::limits::HELLO_BYTES_MAX)).await;
    assert!(matches!(bare.hear().await, Heard::Text(welcome) if welcome.contains("welcome")));
    let mut bare = Bare::open(hub.address()).await;
    bare.send(&hello(model::limits::HELLO_BYTES_MAX + 1)).await;
    assert_eq!(bare.end().await, (Some(4501), Some(4501)));
}

/// What random bytes are made of: pieces of what a hub understands.
const WORDS: [&str; 24] = [
    r#"{"t":"hello","versions":["1"]}"#,
    r#"{"t":"hello","versions":["1"],"token":"fanlight_x"}"#,
    r#"{"t":"sub","sub":1,"conv":"secret"}"#,
    r#"{"t":"pub","id":1,"conv":"secret","events":[{"k":"run.start","run":"r"}]}"#,
    r#"{"t":"watch","sub":1}"#,
    r#"{"t":"command","conv":"secret","id":"1","command":"stop"}"#,
    "{\"t\":",
    "null",
    "\u{0}",
    "GET /v1/conversations/secret HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
    "GET /v1/conversations/secret/../secret/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer \r\n\r\n",
    "POST /v1/conversations/secret/events HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 3\r\n\r\n{}\n",
    "POST /v1/import?conversation=secret HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "GET /v1/search?q=hidden HTTP/1.1\r\nhost: 127.0.0.1\r\ncookie: fanlight=fls_x; fanlight=fls_y\r\n\r\n",
    "GET //v1//conversations HTTP/1.0\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "x-forwarded-user: ann\r\n",
    "content-length: 5\r\ncontent-length: 6\r\n",
    "transfer-encoding: chunked\r\n",
    "\r\n\r\n",
    "%2e%2e/",
    "\u{85}\u{feff}",
    "0",
];

/// Random numbers of a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    /// A few words, some of them damaged.
    fn bytes(&mut self) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..=self.roll(4))
            .flat_map(|_| WORDS[self.roll(WORDS.len())].bytes().collect::<Vec<_>>())
            .collect();
        for _ in 0..self.roll(4) {
            let at = self.roll(bytes.len());
            match self.roll(3) {
                0 => bytes[at] = u8::try_from(self.roll(256)).unwrap(),
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, u8::try_from(self.roll(256)).unwrap()),
            }
            if bytes.is_empty() {
                bytes.push(0);
            }
        }
        bytes
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_random_frames_and_requests_of_a_stranger() {
    const ROUNDS: usize = 300;
    let seed = std::env::var("FANLIGHT_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20);
    println!("FANLIGHT_TEST_SEED={seed}");
    let (hub, mut dice) = (guarded().await, Dice(seed));
    let all = hub.token_for("all", &["view,publish:*"]).await;
    assert!(crate::access::tell(&hub, &all, "secret", "hidden words").await.status().is_success());
    let before = crate::access::get(&hub, &all, "/v1/conversations").await.text().await.unwrap();
    for round in 0..ROUNDS {
        // Over a socket: as frames with random first bytes, or as they are.
        let mut bare = Bare::open(hub.address()).await;
        for _ in 0..=dice.roll(3) {
            let bytes = dice.bytes();
            match dice.roll(4) {
                0 => bare.send(&bytes).await,
                1 => {
                    bare.send(&frame(u8::try_from(dice.roll(256)).unwrap(), &bytes[..bytes.len().min(125)]))
                        .await;
                }
                _ => bare.send(&frame(LAST | TEXT, &bytes)).await,
            }
        }
        bare.send(&frame(LAST | CLOSE, &1000_u16.to_be_bytes())).await;
        let _half = bare.stream.shutdown().await;
        loop {
            match bare.hear().await {
                Heard::Text(text) => {
                    assert!(!text.contains("welcome") && !text.contains("hidden"), "{round}: {text}");
                }
                Heard::Pong(_) => {}
                Heard::Close(_) | Heard::End => break,
            }
        }
        // Over HTTP.
        let mut stream = within("a connection", TcpStream::connect(hub.address())).await.unwrap();
        let bytes = dice.bytes();
        let _gone = stream.write_all(&bytes).await;
        let _half = stream.shutdown().await;
        let mut answer = Vec::new();
        let _cut = within("an answer or the end", stream.read_to_end(&mut answer)).await;
        let answer = String::from_utf8_lossy(&answer);
        let (bytes, is_fault) = (String::from_utf8_lossy(&bytes), answer.contains("HTTP/1.1 500"));
        assert!(!answer.contains("hidden") && !is_fault, "{round}: {bytes:?}: {answer}");
    }
    let after = crate::access::get(&hub, &all, "/v1/conversations").await.text().await.unwrap();
    assert_eq!(after, before, "nothing was made or changed");
}
