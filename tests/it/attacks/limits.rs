//! More than one address or principal may do: each bound is reached by one and costs the other nothing.

use model::limits::STREAMS_OPEN_PER_PRINCIPAL_MAX;
use serde_json::Value;
use tests::TestHub;
use tests::wait::{until, within};
use tests::wire::WebSocketWire;

use super::jwt::{refused, settings};
use crate::access::{get, tell, unauthenticated};

pub(super) fn too_many(answer: &reqwest::Response) -> bool {
    answer.status() == 429 && answer.headers().contains_key("retry-after")
}

pub(super) async fn greeted(hub: &TestHub, token: &str) -> WebSocketWire {
    let mut wire = WebSocketWire::connect_in_silence(hub.address()).await;
    wire.send_text(format!(r#"{{"t":"hello","versions":["1"],"token":"{token}"}}"#)).await;
    wire
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_logins_that_fail_bar_their_address_for_a_while_at_every_door() {
    let settings = settings();
    let hub = settings
        .hub("[access]\nproxies = [\"127.0.0.1\"]\n[access.limits]\nfailed_logins_per_minute = 3\n", &[])
        .await;
    // While the token becomes known, the address of the harness itself is behind the proxy and not counted.
    let token = hub.token_for("ann", &["view:*"]).await;
    let from = |address: &'static str, token: &str| {
        hub.request("GET", "/v1/access").bearer_auth(token).header("x-forwarded-for", address).send()
    };
    for _ in 0..3 {
        let answer = from("203.0.113.7", "fanlight_wrong").await.unwrap();
        assert_eq!(crate::access::refusal(answer).await, unauthenticated());
    }
    let barred = from("203.0.113.7", &token).await.unwrap();
    assert!(too_many(&barred));
    let said: Value = barred.json().await.unwrap();
    assert!(said["detail"].as_str().unwrap().contains("3 logins from this address have failed"), "{said}");
    let form = hub.request("POST", "/login").header("x-forwarded-for", "203.0.113.7").body("token=x");
    assert!(too_many(&form.send().await.unwrap()), "the form counts with it");
    // What a stranger writes in front of the address of the proxy changes nothing.
    let forged = from("198.51.100.9, 203.0.113.7", &token).await.unwrap();
    assert!(too_many(&forged));
    assert!(from("198.51.100.9", &token).await.unwrap().status().is_success(), "others go on");
    until("the address to be heard again", async || {
        from("203.0.113.7", &token).await.ok()?.status().is_success().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_sockets_that_guess_bar_their_address_too() {
    let settings = settings();
    let hub = settings.hub("[access.limits]\nfailed_logins_per_minute = 2\n", &[]).await;
    for _ in 0..2 {
        assert_eq!(greeted(&hub, "fanlight_wrong").await.end().await, (Some(4401), Some(4401)));
    }
    let barred = hub.request("GET", "/v1/access").bearer_auth("fanlight_wrong").send().await.unwrap();
    assert!(too_many(&barred));
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_a_principal_has_so_many_requests_and_sockets_open_and_others_are_not_counted() {
    let settings = settings();
    let limits = "[access.limits]\nrequests_per_principal = 2\nsockets_per_principal = 2\n";
    let hub = settings.hub(limits, &[]).await;
    let ann = hub.token_for("ann", &["view,publish:*"]).await;
    let bob = hub.token_for("bob", &["view,publish:*"]).await;
    assert!(tell(&hub, &ann, "c", "hello").await.status().is_success());
    let streams = [
        get(&hub, &ann, "/v1/conversations/c/events").await,
        get(&hub, &ann, "/v1/conversations/c/events").await,
    ];
    let third = get(&hub, &ann, "/v1/access").await;
    assert!(too_many(&third));
    assert!(third.text().await.unwrap().contains("already has 2 requests open"));
    assert!(get(&hub, &bob, "/v1/access").await.status().is_success());
    drop(streams);
    until("its requests to be over", async || {
        get(&hub, &ann, "/v1/access").await.status().is_success().then_some(())
    })
    .await;
    let mut sockets = [greeted(&hub, &ann).await, greeted(&hub, &ann).await];
    for socket in &mut sockets {
        assert!(socket.text().await.unwrap().contains("welcome"));
    }
    assert_eq!(greeted(&hub, &ann).await.end().await, (Some(4008), Some(4008)));
    assert!(greeted(&hub, &bob).await.text().await.unwrap().contains("welcome"));
    drop(sockets);
    until("a socket of it to be welcome", async || {
        let mut wire = greeted(&hub, &ann).await;
        wire.text().await.is_ok_and(|text| text.contains("welcome")).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_one_principal_has_half_of_the_streams_and_others_have_theirs() {
    let settings = settings();
    let hub = settings.hub("", &[]).await;
    let ann = hub.token_for("ann", &["view,publish:*"]).await;
    let bob = hub.token_for("bob", &["view,publish:*"]).await;
    assert!(tell(&hub, &ann, "c", "hello").await.status().is_success());
    let mut streams = Vec::new();
    for number in 0..STREAMS_OPEN_PER_PRINCIPAL_MAX {
        let stream = get(&hub, &ann, "/v1/conversations/c/events").await;
        assert_eq!(stream.status(), 200, "stream {number}");
        streams.push(stream);
    }
    for path in ["/v1/conversations/c/events", "/v1/conversations/c/wait?until=run.end"] {
        let refused = get(&hub, &ann, path).await;
        assert!(too_many(&refused), "{path}");
        let said = refused.text().await.unwrap();
        let expected =
            format!("of this principal {STREAMS_OPEN_PER_PRINCIPAL_MAX} streams and waits are open");
        assert!(said.contains(&expected), "{said}");
        assert_eq!(get(&hub, &bob, "/v1/conversations/c/events").await.status(), 200);
    }
    streams.pop();
    until("the place of the stream that ended", async || {
        (get(&hub, &ann, "/v1/conversations/c/events").await.status() == 200).then_some(())
    })
    .await;
}

/// Publishes frames, one after the other and as fast as they are answered, until one is refused because there were too many.
async fn too_fast(wire: &mut WebSocketWire) {
    for number in 0_u64.. {
        let frame = format!(
            r#"{{"t":"pub","id":{number},"conv":"c","durability":"memory","events":[{{"k":"status","run":"r","text":"x"}}]}}"#
        );
        wire.send_text(frame).await;
        let said = wire.text().await.unwrap();
        if said.contains("too_many") {
            assert!(said.contains("more than 1 frame or request a second: wait"), "{said}");
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_who_publishes_too_fast_is_told_so_and_others_are_not() {
    let settings = settings();
    let hub = settings.hub("[access.limits]\npublishes_per_second = 1\n", &[]).await;
    let ann = hub.token_for("ann", &["view,publish:*"]).await;
    let bob = hub.token_for("bob", &["view,publish:*"]).await;
    let mut wire = greeted(&hub, &ann).await;
    assert!(wire.text().await.unwrap().contains("welcome"));
    // Fewer requests over HTTP than may come at once, so it is the frames before that use up what is left. On a busy machine a second may
    // pass between the refusal of a frame and the request behind it, and then one more is taken.
    let mut is_barred = false;
    for _ in 0..9 {
        within("a frame that is refused", too_fast(&mut wire)).await;
        is_barred = too_many(&tell(&hub, &ann, "c", "x").await);
        if is_barred {
            break;
        }
    }
    assert!(is_barred, "over HTTP it is the same principal");
    assert!(tell(&hub, &bob, "c", "x").await.status().is_success());
}

/// Whether the hub answers a request on a connection; it ends one that is over the bound without a word.
async fn is_answered(stream: &mut tokio::net::TcpStream) -> bool {
    let request = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";
    let mut byte = [0];
    // What is written to a connection that has ended may fail, or be lost.
    tokio::io::AsyncWriteExt::write_all(stream, request).await.is_ok()
        && tokio::io::AsyncReadExt::read(stream, &mut byte).await.is_ok_and(|count| count > 0)
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_an_address_has_so_many_connections_open() {
    let settings = settings();
    let hub = settings.hub("[access.limits]\nconnections_per_address = 4\n", &[]).await;
    let mut open = Vec::new();
    let closed = within("a connection that is closed at once", async {
        loop {
            let mut stream = tokio::net::TcpStream::connect(hub.address()).await.unwrap();
            if !is_answered(&mut stream).await {
                return open.len();
            }
            open.push(stream);
        }
    })
    .await;
    assert!(closed <= 4, "{closed} were open");
    open.clear();
    until("connections to be taken again", async || {
        hub.request("GET", "/healthz").send().await.ok()?.status().is_success().then_some(())
    })
    .await;
    let said = refused_limit(&settings).await;
    assert!(said.contains("failed_logins_per_minute"), "{said}");
}

/// Events with so many KiB of text in one body.
pub(super) fn events_of(kib: usize) -> String {
    let text = "x".repeat(kib << 10);
    format!(
        "{{\"k\":\"run.start\",\"run\":\"r\"}}\n{{\"k\":\"part.start\",\"run\":\"r\",\"part\":\"p\",\"kind\":\"text\"}}\n\
         {{\"k\":\"part.delta\",\"run\":\"r\",\"part\":\"p\",\"text\":\"{text}\"}}\n"
    )
}

/// Publishes so many KiB of text.
pub(super) async fn tell_much(
    hub: &TestHub,
    token: &str,
    conversation: &str,
    kib: usize,
) -> reqwest::Response {
    let path = format!("/v1/conversations/{conversation}/events");
    hub.request("POST", &path).bearer_auth(token).body(events_of(kib)).send().await.unwrap()
}

/// How often somebody was refused or slowed down for bytes that went this way.
pub(super) async fn over(hub: &TestHub, token: &str, way: &str) -> u64 {
    let page = get(hub, token, "/metrics").await.text().await.unwrap();
    let line = format!("fanlight_over_quota_total{{way=\"{way}\"}} ");
    page.lines().find_map(|it| it.strip_prefix(&line)?.parse().ok()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_who_sends_more_bytes_than_it_may_waits_and_others_do_not() {
    let settings = settings();
    let hub = settings.hub("[access.limits]\nreceived_mib_per_minute = 1\n", &[]).await;
    let ann = hub.token_for("ann", &["view,publish,control:*"]).await;
    let bob = hub.token_for("bob", &["view,publish:*"]).await;
    assert!(tell_much(&hub, &ann, "c", 1_000).await.status().is_success());
    let refused = within("a refusal", async {
        loop {
            let answer = tell_much(&hub, &ann, "c", 30).await;
            if !answer.status().is_success() {
                return answer;
            }
        }
    })
    .await;
    assert!(too_many(&refused));
    let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert!(
        refused
            .text()
            .await
            .unwrap()
            .contains("has sent more than 1 MiB within a minute: wait, or send less")
    );
    assert!(over(&hub, &bob, "received").await > 0);
    assert!(get(&hub, &ann, "/v1/conversations/c").await.status().is_success(), "it may see");
    let stop = hub.request("POST", "/v1/conversations/c/commands").bearer_auth(&ann);
    let stopped = stop.body(r#"{"id":"1","command":"stop"}"#).send().await.unwrap();
    assert_ne!(stopped.status(), 429, "whoever stops something gets through");
    assert!(tell_much(&hub, &bob, "d", 500).await.status().is_success(), "others are not counted");
    until("its bytes to be paid for", async || {
        tell(&hub, &ann, "c", "again").await.status().is_success().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_who_fetches_more_bytes_than_it_may_waits_and_others_do_not() {
    let settings = settings();
    let hub = settings.hub("[access.limits]\nsent_mib_per_minute = 1\n", &[]).await;
    let ann = hub.token_for("ann", &["view,publish,export:*"]).await;
    let bob = hub.token_for("bob", &["view,publish:*"]).await;
    for (name, kib) in [("large", 900), ("small", 40)] {
        assert!(tell_much(&hub, &ann, name, kib).await.status().is_success());
    }
    let exported = get(&hub, &ann, "/v1/conversations/large/export/jsonl").await;
    assert!(exported.bytes().await.unwrap().len() > 900 << 10, "what has begun comes whole");
    let refused = within("a refusal", async {
        loop {
            let answer = get(&hub, &ann, "/v1/conversations/small").await;
            if !answer.status().is_success() {
                return answer;
            }
            assert!(answer.bytes().await.unwrap().len() > 40 << 10);
        }
    })
    .await;
    assert!(too_many(&refused));
    assert!(
        refused
            .text()
            .await
            .unwrap()
            .contains("has fetched more than 1 MiB within a minute: wait, or ask for less")
    );
    assert!(get(&hub, &ann, "/v1/access").await.status().is_success(), "what holds no conversation");
    assert!(tell(&hub, &ann, "c", "x").await.status().is_success(), "it may say");
    let mut live = greeted(&hub, &ann).await;
    assert!(live.text().await.unwrap().contains("welcome"));
    live.send_text(r#"{"t":"sub","sub":1,"conv":"small"}"#.to_owned()).await;
    assert!(live.text().await.unwrap().contains("subbed"), "and watch");
    assert!(get(&hub, &bob, "/v1/conversations/large").await.status().is_success(), "others are not counted");
    assert!(over(&hub, &bob, "sent").await > 0);
    until("its bytes to be paid for", async || {
        get(&hub, &ann, "/v1/access?conversation=c").await.status().is_success().then_some(())?;
        get(&hub, &ann, "/v1/conversations/c").await.status().is_success().then_some(())
    })
    .await;
}

/// The id of the next ack, past heartbeats.
pub(super) async fn acked(wire: &mut WebSocketWire) -> u64 {
    loop {
        let said: Value = serde_json::from_str(&wire.text().await.unwrap()).unwrap();
        if said["t"] != "hb" {
            assert_eq!(said["t"], "ack", "{said}");
            return said["id"].as_u64().unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_a_socket_that_sends_more_bytes_than_it_may_is_read_more_slowly() {
    const FRAMES: u64 = 19;
    let settings = settings();
    let hub = settings.hub("[access.limits]\nreceived_mib_per_minute = 1\n", &[]).await;
    let [ann, bob] =
        [hub.token_for("ann", &["publish:*"]).await, hub.token_for("bob", &["view,publish:*"]).await];
    let frame = |id: u64| {
        let text = "x".repeat(60 << 10);
        format!(
            r#"{{"t":"pub","id":{id},"conv":"c","durability":"memory","events":[{{"k":"part.delta","part":"p","text":"{text}","run":"r"}}]}}"#
        )
    };
    let mut wires = [greeted(&hub, &ann).await, greeted(&hub, &bob).await];
    for wire in &mut wires {
        assert!(wire.text().await.unwrap().contains("welcome"));
    }
    let [mut fast, mut other] = wires;
    let sending = async {
        for id in 0..FRAMES {
            fast.send_text(frame(id)).await;
        }
        for id in 0..FRAMES {
            assert_eq!(acked(&mut fast).await, id);
        }
    };
    let beside = async {
        until("the socket to be slowed down", async || {
            (over(&hub, &bob, "received").await > 0).then_some(())
        })
        .await;
        other.send_text(frame(7)).await;
        assert_eq!(acked(&mut other).await, 7);
    };
    // Every frame is taken, in order, and the socket stays open; another principal is answered meanwhile.
    tests::wait::patiently("all acks", async { tokio::join!(sending, beside) }).await;
}

#[test]
fn the_document_has_the_numbers_of_the_settings_and_the_names_of_tests_that_are_there() {
    let document = include_str!("../../../docs/limits.md");
    let (_, table) = document.split_once("## Of one address and one principal").unwrap();
    let (quotas, grouped) = (access::Quotas::default(), |number: u32| match number {
        0..1_000 => number.to_string(),
        1_000_000.. => format!("{},{:03},{:03}", number / 1_000_000, number / 1_000 % 1_000, number % 1_000),
        _ => format!("{},{:03}", number / 1_000, number % 1_000),
    });
    for (name, number) in [
        ("connections_per_address", quotas.connections_per_address),
        ("failed_logins_per_minute", quotas.failed_logins_per_minute),
        ("provider_logins_per_minute", quotas.provider_logins_per_minute),
        ("requests_per_principal", quotas.requests_per_principal),
        ("sockets_per_principal", quotas.sockets_per_principal),
        ("publishes_per_second", quotas.publishes_per_second),
        ("received_mib_per_minute", quotas.received_mib_per_minute),
        ("sent_mib_per_minute", quotas.sent_mib_per_minute),
        ("received_mib_per_minute_per_address", quotas.received_mib_per_minute_per_address),
        ("sent_mib_per_minute_per_address", quotas.sent_mib_per_minute_per_address),
        ("subscriptions_per_principal", quotas.subscriptions_per_principal),
        ("subscriptions_per_address", quotas.subscriptions_per_address),
        ("head_s", quotas.head_s),
        ("stranger_body_s", quotas.stranger_body_s),
    ] {
        let row = format!("| `{name}` | {}", grouped(number));
        assert!(table.contains(&row), "{row}");
    }
    for act in access::RatedAct::ALL {
        let (name, quota) = (act.setting(), quotas.per_minute.of(act));
        for (end, number) in [("", quota.principal), ("_per_address", quota.address)] {
            let row = format!("| `{name}{end}` | {}", grouped(number));
            assert!(table.contains(&row), "{row}");
        }
    }
    let tests = [
        include_str!("limits.rs"),
        include_str!("by_address.rs"),
        include_str!("by_kind.rs"),
        include_str!("slow.rs"),
        include_str!("../several_access.rs"),
        include_str!("../../../server/edge/src/access/bounds.rs"),
        include_str!("../../../server/edge/src/http/access/counted.rs"),
        include_str!("../../../server/edge/src/frozen/moving.rs"),
        include_str!("../../../server/access/src/quota.rs"),
        include_str!("../../../server/access/src/quota/bytes.rs"),
        include_str!("../../../server/access/src/sessions.rs"),
        include_str!("../../../server/access/src/oidc.rs"),
        include_str!("../../../server/log/src/postgres/tests/shared.rs"),
        include_str!("../../../server/access/src/tokens/tests.rs"),
        include_str!("../../../server/access/src/audit/budget.rs"),
        include_str!("../../../server/access/src/audit/views.rs"),
        include_str!("../../../server/hub/src/hub/viewer_roster.rs"),
    ];
    let named = table.split('`').filter(|word| word.starts_with("i7_") || word.starts_with("attack_"));
    for name in named {
        assert!(tests.iter().any(|file| file.contains(&format!("fn {name}("))), "no test is named {name}");
    }
}

async fn refused_limit(settings: &super::jwt::Settings) -> String {
    refused(settings, "[access.limits]\nfailed_logins_per_minute = 0\n").await
}

/// A call of each API, and where and how its clients are told that they ask too much, and that nobody knows them.
const CALLS: [(&str, &str, [&str; 2]); 5] = [
    ("/proxy/openai/v1/chat/completions", "/error/code", ["rate_limit_exceeded", "invalid_api_key"]),
    ("/proxy/openai/v1/responses", "/error/code", ["rate_limit_exceeded", "invalid_api_key"]),
    ("/proxy/anthropic/v1/messages", "/error/type", ["rate_limit_error", "authentication_error"]),
    (
        "/proxy/gemini/v1beta/models/m:generateContent",
        "/error/status",
        ["RESOURCE_EXHAUSTED", "UNAUTHENTICATED"],
    ),
    ("/proxy/ollama/api/chat", "/title", ["too_many", "unauthenticated"]),
];

#[tokio::test(flavor = "multi_thread")]
async fn i7_calls_through_the_proxy_are_refused_in_the_words_of_their_vendor() {
    let upstream = |name: &str| format!("[upstreams.{name}]\nurl = \"http://127.0.0.1:9\"\n");
    let upstreams = ["openai", "anthropic", "gemini", "ollama"].map(upstream).concat();
    let limits = |requests: u32, failures: u32| {
        format!(
            "[access.limits]\nrequests_per_principal = {requests}\nfailed_logins_per_minute = {failures}\n"
        )
    };
    let (files, others) = (settings(), settings());
    let hub = files.hub(&format!("{}{upstreams}", limits(1, 1_000)), &[]).await;
    let strict = others.hub(&format!("{}{upstreams}", limits(1_000, 1)), &[]).await;
    let ann = hub.token_for("ann", &["view,publish:*"]).await;
    assert!(tell(&hub, &ann, "c", "hello").await.status().is_success());
    // The place of the request before may be given back only after its answer was read.
    let open = until("a stream", async || {
        let answer = get(&hub, &ann, "/v1/conversations/c/events").await;
        answer.status().is_success().then_some(answer)
    })
    .await;
    let call = async |hub: &TestHub, path: &str, token: &str| {
        let request = hub.request("POST", path).header("fanlight-token", token).body("{}");
        let answer = request.send().await.unwrap();
        let retry = answer.headers().contains_key("retry-after");
        let status = answer.status().as_u16();
        (status, retry, answer.json::<Value>().await.unwrap())
    };
    let words = |body: &Value, pointer: &str| body.pointer(pointer).cloned().unwrap_or_default();
    let detail = |body: &Value| {
        let error = &body["error"];
        error["message"].as_str().or(error.as_str()).unwrap_or_default().to_owned()
    };
    for (path, pointer, [busy, _]) in CALLS {
        let (status, retry, body) = call(&hub, path, &ann).await;
        assert_eq!((status, retry, words(&body, pointer)), (429, true, busy.into()), "{path}: {body}");
        assert!(detail(&body).contains("already has 1 request open"), "{path}: {body}");
    }
    // Strangers are told so in the same words, but not which upstreams there are.
    for (path, pointer, [_, unknown]) in CALLS {
        let (status, _, body) = call(&hub, path, "fanlight_wrong").await;
        assert_eq!((status, words(&body, pointer)), (401, unknown.into()), "{path}: {body}");
        let elsewhere = path.split('/').skip(3).collect::<Vec<_>>().join("/");
        assert_eq!(call(&hub, &format!("/proxy/none/{elsewhere}"), "fanlight_wrong").await.2, body);
    }
    assert_eq!(call(&strict, "/proxy/openai/v1/models", "fanlight_wrong").await.0, 401);
    for (path, pointer, [busy, _]) in CALLS {
        let (status, retry, body) = call(&strict, path, "fanlight_wrong").await;
        assert_eq!((status, retry, words(&body, pointer)), (429, true, busy.into()), "{path}: {body}");
        assert!(detail(&body).contains("logins from this address"), "{path}: {body}");
    }
    drop(open);
}
