//! A model's server that answers with what no client expects, another trick each time.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::neighbours::stand_low;

const SSE: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

const TOO_FEW: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n{";

/// Starts it on a thread of its own, which stands behind the viewers as those of the other neighbours do; where it listens.
/// It ends with the process.
pub(crate) async fn start() -> SocketAddr {
    let (told, address) = oneshot::channel();
    std::thread::spawn(|| {
        stand_low();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            told.send(listener.local_addr().unwrap()).unwrap();
            let mut number = 0;
            while let Ok((stream, _from)) = listener.accept().await {
                tokio::spawn(answer(stream, number));
                number += 1;
            }
        });
    });
    address.await.unwrap()
}

/// A piece of a chunked body.
fn piece(bytes: &str) -> String {
    format!("{:x}\r\n{bytes}\r\n", bytes.len())
}

/// An event of a stream, with this `delta`.
fn event(delta: &str) -> String {
    format!(
        "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n"
    )
}

/// A call that is begun and goes no further.
fn call(index: usize) -> String {
    let function = r#""function":{"name":"f","arguments":"{"}"#;
    event(&format!(r#"{{"tool_calls":[{{"index":{index},"id":"t{index}",{function}}}]}}"#))
}

/// What is sent once, and what is sent again and again.
fn trick(number: usize) -> (String, String) {
    let word = event(r#"{"content":"word "}"#);
    match number % 6 {
        // A line without an end.
        0 => (SSE.to_owned(), piece(&"x".repeat(60_000))),
        // An answer without an end.
        1 => (SSE.to_owned(), piece(&word.repeat(500))),
        // Headers without an end.
        2 => ("HTTP/1.1 200 OK\r\n".to_owned(), format!("x-header: {}\r\n", "y".repeat(4_000))),
        // A piece that is none, in the middle.
        3 => (format!("{SSE}{}zz\r\n", piece(&word)), String::new()),
        // Thousands of calls at once.
        4 => (format!("{SSE}{}0\r\n\r\n", piece(&(0..5_000).map(call).collect::<String>())), String::new()),
        // Less than was said.
        _ => (TOO_FEW.to_owned(), String::new()),
    }
}

async fn answer(mut stream: TcpStream, number: usize) {
    let mut asked = [0; 4_096];
    if stream.read(&mut asked).await.is_err() {
        return;
    }
    let (once, again) = trick(number);
    if stream.write_all(once.as_bytes()).await.is_err() {
        return;
    }
    while !again.is_empty() && stream.write_all(again.as_bytes()).await.is_ok() {}
}
