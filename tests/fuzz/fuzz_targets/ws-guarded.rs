//! A WebSocket to a hub with access control. The first byte chooses: 1 and 3 are bytes as they are, before `hello` and behind one
//! with the limited token; otherwise lines of the head of the request, and behind `-----` one text frame for each line. `$T`, `$W`
//! and `$C` stand for the limited token, a wrong one and a cookie. Nobody hears or changes what they have no grant for.
#![no_main]

use std::time::Duration;

use fuzz::guarded::{self, Guarded};
use fuzz::talk::{LONG, QUIET, ServerMessage, Socket, TEXT};
use libfuzzer_sys::fuzz_target;
use model::code::CloseCode;
use model::frame::{ServerFrame, parse_server};

fuzz_target!(|bytes: &[u8]| {
    let Some((mode, rest)) = bytes.split_first() else { return };
    guarded::with(bytes, async |guarded| {
        match mode {
            1 | 3 => bare(guarded, *mode == 3, rest).await,
            _ => frames(guarded, rest).await,
        }
        guarded.list_is_as_it_was().await;
        // Whatever came, others are served.
        let mut other = Socket::open(guarded.hub).await;
        assert!(other.say(TEXT, hello(guarded).as_bytes()).await);
        assert!(is_welcomed(&mut other).await, "no welcome");
    });
});

fn hello(guarded: &Guarded) -> String {
    format!(r#"{{"t":"hello","versions":["1"],"token":"{}"}}"#, guarded.limited.reveal())
}

async fn is_welcomed(socket: &mut Socket) -> bool {
    while let Some(heard) = socket.hear(QUIET).await {
        if let ServerMessage::Text(text) = heard {
            return matches!(parse_server(&text), Ok(ServerFrame::Welcome(_)));
        }
    }
    false
}

/// Bytes as they are, greeted before or not.
async fn bare(guarded: &Guarded, greets: bool, bytes: &[u8]) {
    let mut socket = Socket::open(guarded.hub).await;
    if greets {
        assert!(socket.say(TEXT, hello(guarded).as_bytes()).await);
    }
    socket.raw(bytes).await;
    listen(guarded, &mut socket, LONG, greets).await;
}

/// A head and frames with tokens in them, or none.
async fn frames(guarded: &Guarded, bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (head, frames) = text.split_once("\n-----\n").unwrap_or((text, ""));
    // Without a token that the hub knows nobody is welcome.
    let whole = format!("{head}{frames}");
    let is_known = ["$T", "$C"].iter().any(|place| whole.contains(place));
    let head = guarded.filled(head).await;
    let Some(mut socket) = Socket::open_with(guarded.hub, &head.lines().collect::<Vec<_>>()).await else {
        return;
    };
    for line in guarded.filled(frames).await.lines() {
        socket.say(TEXT, line.as_bytes()).await;
    }
    listen(guarded, &mut socket, QUIET, is_known).await;
}

/// Hears everything until it is quiet: nothing of what is hidden, and without a token neither a welcome nor anything behind it.
async fn listen(guarded: &Guarded, socket: &mut Socket, patience: Duration, is_known: bool) {
    let mut bye = None;
    while let Some(heard) = socket.hear(patience).await {
        let ServerMessage::Text(text) = heard else { continue };
        guarded.may_hear(text.as_bytes());
        assert!(bye.is_none(), "after goodbye: {text}");
        match parse_server(&text).expect("a frame of the hub can be read") {
            ServerFrame::Bye { code, .. } => {
                assert!(CloseCode::ALL.iter().any(|known| known.number() == code), "{code}");
                bye = Some(code);
            }
            frame => assert!(is_known, "somebody whom nobody knows hears {frame:?}"),
        }
    }
}
