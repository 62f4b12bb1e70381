//! Headers of an upstream's answer that the proxy strikes: those that the hub alone writes, and orders to a web server
//! before the hub.

use tests::raw;
use tests::{ScriptedServer, ServerStep};

use super::proxy::{ASKS, END, STREAM, hub_before, piece};

/// What an upstream may not say to the hub's callers, nor to a server before the hub.
const FORGED: [(&str, &str); 7] = [
    ("Fanlight-Conversation", "somebody-elses"),
    ("fanlight-anything", "1"),
    ("X-Accel-Redirect", "/private/keys.txt"),
    ("X-Sendfile", "/etc/passwd"),
    ("X-LIGHTTPD-send-file", "/etc/passwd"),
    ("X-LiteSpeed-Location", "/private/"),
    ("X-Reproxy-URL", "http://127.0.0.1:9/"),
];

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_forges_no_header_of_the_hub_and_orders_no_server_before_it() {
    let origin = ScriptedServer::start(|_| {
        let own =
            [("x-accel-buffering", "no"), ("x-own", "kept"), ("trailer", "x-sum, fanlight-conversation")];
        let headers = [&STREAM[..], &FORGED[..], &own].concat();
        vec![
            ServerStep::begin("200 OK", &headers),
            ServerStep::piece(&piece("Hi.")),
            ServerStep::piece(END),
            ServerStep::end(&[("fanlight-conversation", "somebody-elses"), ("x-sum", "42")]),
        ]
    })
    .await;
    let hub = hub_before(&origin).await;
    for (path, named) in [
        ("/proxy/x/v1/models", None),
        ("/proxy/x/~mine/v1/chat/completions", Some("mine")),
        // Answered before the hub knows the name: then there is none, and no other one.
        ("/proxy/x/v1/chat/completions", None),
    ] {
        let answer = raw::call(hub.address(), &raw::post(path, &[("TE", "trailers")], ASKS)).await;
        let told = answer.all("fanlight-conversation");
        assert!(!told.contains(&"somebody-elses") && told.len() <= 1, "{path}: {answer:?}");
        if named.is_some() {
            assert_eq!(told.first().copied(), named, "{path}");
        }
        for (name, _) in &FORGED[1..] {
            assert_eq!(answer.header(name), None, "{path}");
        }
        assert_eq!(answer.header("x-own"), Some("kept"));
        assert_eq!(answer.header("x-accel-buffering"), Some("no"));
        assert_eq!(answer.trailers, [(String::from("x-sum"), String::from("42"))], "{path}");
    }
}
