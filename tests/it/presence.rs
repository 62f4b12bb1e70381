//! Who else is here: viewers of a conversation know each other by name where access control is on and their role lets
//! them.

use model::frame::ServerFrame;
use tests::TestHub;
use tests::wait::within;
use tests::wire::WebSocketWire;

use super::access::{get, tell};
use super::access_roles::{with_role, with_roles};

/// A socket of `token` that views `c`.
async fn viewing(hub: &TestHub, token: &str) -> WebSocketWire {
    let mut wire = WebSocketWire::connect_in_silence(hub.address()).await;
    wire.send_text(format!(r#"{{"t":"hello","versions":["1"],"token":"{token}"}}"#)).await;
    assert!(wire.text().await.unwrap().contains("welcome"));
    wire.send_text(r#"{"t":"sub","sub":1,"conv":"c"}"#.to_owned()).await;
    wire
}

/// The next presence frame: how many, and who.
async fn presence(wire: &mut WebSocketWire) -> (u64, Vec<String>) {
    within("a presence frame", async {
        loop {
            if let ServerFrame::Presence { viewers, names, .. } = wire.frame().await {
                return (viewers, names.iter().map(ToString::to_string).collect());
            }
        }
    })
    .await
}

/// Reads until it is told that `names` are here, and that there are `viewers`.
async fn here(wire: &mut WebSocketWire, viewers: u64, names: &[&str]) {
    let mut last = None;
    while last.as_ref().is_none_or(|(count, told): &(u64, Vec<String>)| *count != viewers || told != names) {
        last = Some(presence(wire).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn viewers_see_who_else_is_here_by_name_each_once_until_they_go() {
    let hub = with_roles().await;
    let ann = hub.token_for("ann", &["view,publish:*"]).await;
    let bob = hub.token_for("bob", &["view:*"]).await;
    assert!(tell(&hub, &ann, "c", "hello").await.status().is_success());
    let mut first = viewing(&hub, &ann).await;
    here(&mut first, 1, &["ann"]).await;
    let second = viewing(&hub, &ann).await;
    here(&mut first, 2, &["ann"]).await;
    let mut other = viewing(&hub, &bob).await;
    here(&mut first, 3, &["ann", "bob"]).await;
    here(&mut other, 3, &["ann", "bob"]).await;
    // Whoever reads events over plain HTTP is here too.
    let carol = hub.token_for("carol", &["view:*"]).await;
    let reading = get(&hub, &carol, "/v1/conversations/c/events").await;
    here(&mut first, 4, &["ann", "bob", "carol"]).await;
    drop((second, reading));
    here(&mut first, 2, &["ann", "bob"]).await;
    drop(other);
    here(&mut first, 1, &["ann"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_hides_users_is_told_how_many_and_never_who() {
    let hub = with_roles().await;
    let ann = hub.token_for("ann", &["view,publish:*"]).await;
    let bob = hub.token_for("bob", &["view:*"]).await;
    let guest = with_role(&hub, "guest", "view:*").await;
    assert!(tell(&hub, &ann, "c", "hello").await.status().is_success());
    let mut seen = viewing(&hub, &ann).await;
    here(&mut seen, 1, &["ann"]).await;
    let mut wire = viewing(&hub, &guest).await;
    here(&mut wire, 2, &[]).await;
    here(&mut seen, 2, &["ann", "guest"]).await;
    // One goes and another comes: those who see names hear of it, and for a guest nothing has changed but the number.
    let other = viewing(&hub, &bob).await;
    here(&mut wire, 3, &[]).await;
    here(&mut seen, 3, &["ann", "bob", "guest"]).await;
    drop(other);
    here(&mut wire, 2, &[]).await;
    let streamed = get(&hub, &guest, "/v1/conversations/c/events").await;
    let mut said = String::new();
    let mut body = futures_util::StreamExt::map(streamed.bytes_stream(), Result::unwrap);
    within("a presence event", async {
        while !said.contains("event: presence") || !said.ends_with("\n\n") {
            said.push_str(
                std::str::from_utf8(&futures_util::StreamExt::next(&mut body).await.unwrap()).unwrap(),
            );
        }
    })
    .await;
    assert!(said.contains(r#""viewers":"#) && !said.contains("names") && !said.contains("ann"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_access_control_it_is_told_how_many_are_here() {
    let hub = TestHub::start_in_memory().await;
    let mut first = viewing(&hub, "").await;
    here(&mut first, 1, &[]).await;
    let _second = viewing(&hub, "").await;
    here(&mut first, 2, &[]).await;
}
