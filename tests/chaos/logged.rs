//! Hubs that keep a log on disk, and what can be asked of them.

use std::net::SocketAddr;
use std::path::Path;

use model::{View, snapshot};
use tests::wait::within;
use tests::{TestHub, TestViewer};

/// A hub that keeps its log in `folder`, with more options of `fanlight serve`.
pub(crate) async fn hub_with_log(folder: &Path, options: &[&str]) -> TestHub {
    let log = format!("sqlite:{}", folder.join("log.db").display());
    // The trace of hundreds of starts is of no interest.
    let always = ["--log", &log, "--trace", "error"];
    TestHub::start_with(&[&always, options].concat()).await
}

/// A conversation as the hub has it; nothing is nothing yet.
pub(crate) async fn view(hub: SocketAddr, conversation: &str) -> View {
    let url = format!("http://{hub}/v1/conversations/{conversation}");
    // A connection of its own for each: what the hub holds is counted.
    let answer = within(&url, reqwest::get(&url)).await.unwrap();
    if answer.status() == 404 {
        return View::default();
    }
    assert_eq!(answer.status(), 200, "{conversation}");
    snapshot::decode(&answer.bytes().await.unwrap()).unwrap()
}

/// The viewer comes to see what the hub has. Nobody speaks but the hub itself, which may have more to say of a run whose
/// publisher is gone.
pub(crate) async fn agree(hub: SocketAddr, viewer: &mut TestViewer) {
    viewer.live().await;
    loop {
        let view = view(hub, viewer.conversation().as_str()).await;
        viewer.reach(view.seq).await;
        if viewer.view().seq == view.seq {
            assert_eq!(viewer.hash(), snapshot::hash(&view), "{}", viewer.conversation());
            return;
        }
    }
}
