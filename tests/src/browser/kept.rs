//! Chromium and its driver, which pages use one after the other: starting them costs two seconds of CPU, more than most tests need.
//!
//! Each page gets a window in a browser context of its own, as private windows have: cookies, storage and cache are empty, and go with it.
//! What belongs to the browser lives on a runtime of this module, since that of a test ends with the test.
//!
//! ```text
//! open ─▶ an idle browser, or a new one ─▶ context and window ─▶ the test ─▶ context disposed ─▶ idle
//!                                                                └ it panics ─▶ killed
//! ```

use std::future::Future;
use std::io::{BufRead as _, BufReader, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use fantoccini::{Client, ClientBuilder};
use futures_util::{SinkExt as _, StreamExt as _};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::wait::within;

/// The runtime of all connections to browsers.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().build().expect("a runtime for the browsers")
});

/// Browsers without a page.
static IDLE: Mutex<Vec<KeptBrowser>> = Mutex::new(Vec::new());

/// Kills the group `$0` and removes the folder `$1` when the other end of its stdin is closed, be it because this process has ended.
const GUARD: &str = "read -r _; kill -KILL -- \"-$0\"; rm -rf \"$1\"";

/// A Chromium and its driver. Both end when this is dropped, and when this process ends.
#[derive(Debug)]
pub(super) struct KeptBrowser {
    /// The connection to the driver.
    pub(super) client: Client,
    /// The process group of the driver, which its browser belongs to.
    pub(super) group: u32,
    /// The connection to the browser itself, which knows of contexts.
    devtools: DevTools,
    /// The window that the browser began with. It stays, since Chromium ends with its last one.
    first: String,
    /// The context of the page, where there is one.
    context: Option<String>,
    /// Whoever ends both when its stdin is closed.
    _guard: Child,
}

/// A socket to Chromium.
#[derive(Debug)]
struct DevTools {
    socket: WebSocketStream<TcpStream>,
    /// The number of the newest command.
    number: u64,
}

/// Runs `work` where the browsers' connections live.
async fn there<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    RUNTIME.spawn(work).await.unwrap_or_else(|ended| std::panic::resume_unwind(ended.into_panic()))
}

impl KeptBrowser {
    /// A browser with a new and empty page, of which nothing is left from pages before.
    ///
    /// # Panics
    /// When chromium or chromedriver is missing: `apt-get install chromium chromium-driver`.
    pub(super) async fn with_page() -> Self {
        there(async {
            let idle = IDLE.lock().pop();
            let mut browser = match idle {
                Some(browser) => browser,
                None => Self::start().await,
            };
            browser.open_page().await;
            browser
        })
        .await
    }

    /// Ends the page; the next test may have the browser then.
    pub(super) async fn give_back(mut self) {
        there(async move {
            if self.close_page().await.is_ok() {
                IDLE.lock().push(self);
            }
        })
        .await;
    }

    /// The same, without waiting for it.
    pub(super) fn give_back_later(self) {
        drop(RUNTIME.spawn(self.give_back()));
    }

    async fn start() -> Self {
        let port = free_port();
        let mut driver = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("chromedriver starts (apt-get install chromium chromium-driver)");
        let profile = tempfile::tempdir().expect("a folder for the profile");
        let guard = guard(driver.id(), &profile);
        listens(&mut driver).await;
        let mut builder = ClientBuilder::new(hyper_util::client::legacy::connect::HttpConnector::new());
        builder.capabilities(capabilities(profile.path()).as_object().expect("an object").clone());
        let url = format!("http://127.0.0.1:{port}");
        let client = within("chromium", builder.connect(&url)).await.expect("a session");
        let devtools = DevTools::connect(profile.path()).await;
        let first = within("a window", client.window()).await.expect("the first window").into();
        // The guard removes it.
        drop(profile.keep());
        Self { client, group: driver.id(), devtools, first, context: None, _guard: guard }
    }

    async fn open_page(&mut self) {
        let made = self.devtools.command("Target.createBrowserContext", json!({})).await.expect("a context");
        let context = word(&made, "browserContextId");
        let page = json!({"url": "about:blank", "browserContextId": context, "newWindow": true});
        self.context = Some(context);
        let made = self.devtools.command("Target.createTarget", page).await.expect("a page");
        let window = word(&made, "targetId");
        self.show(window).await.expect("the new page");
    }

    async fn close_page(&mut self) -> Result<(), String> {
        if let Some(context) = self.context.take() {
            self.devtools
                .command("Target.disposeBrowserContext", json!({"browserContextId": context}))
                .await?;
        }
        self.show(self.first.clone()).await
    }

    /// Makes the driver drive the page `window`.
    async fn show(&self, window: String) -> Result<(), String> {
        let window = window.try_into().map_err(|error| format!("{error:?}"))?;
        let shown = within("a window", self.client.switch_to_window(window)).await;
        shown.map_err(|error| error.to_string())
    }
}

impl DevTools {
    /// Connects to the Chromium with this profile, where it says its address.
    async fn connect(profile: &Path) -> Self {
        let said = std::fs::read_to_string(profile.join("DevToolsActivePort")).expect("chromium's address");
        let (port, path) = said.trim().split_once('\n').expect("a port and a path");
        let address = format!("127.0.0.1:{port}");
        let stream = TcpStream::connect(&address).await.expect("chromium listens");
        let opened = tokio_tungstenite::client_async(format!("ws://{address}{path}"), stream);
        let (socket, _answer) = within("a socket to chromium", opened).await.expect("a socket");
        Self { socket, number: 0 }
    }

    /// What a command returns; fails, in words, where Chromium refuses it or goes away.
    async fn command(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.number += 1;
        let command = json!({"id": self.number, "method": method, "params": params}).to_string();
        self.socket.send(Message::text(command)).await.map_err(|error| error.to_string())?;
        within(method, async {
            while let Some(message) = self.socket.next().await {
                let message = message.map_err(|error| error.to_string())?;
                let told: Value = message
                    .to_text()
                    .map(serde_json::from_str)
                    .map_or(Value::Null, Result::unwrap_or_default);
                if told.get("id").and_then(Value::as_u64) == Some(self.number) {
                    return told.get("result").cloned().ok_or_else(|| format!("{method}: {told}"));
                }
            }
            Err(format!("{method}: chromium has gone"))
        })
        .await
    }
}

/// The text `name` of an answer.
fn word(answer: &Value, name: &str) -> String {
    answer.get(name).and_then(Value::as_str).expect("chromium names what it has made").to_owned()
}

/// Starts who ends the group of the driver, and removes the profile.
fn guard(group: u32, profile: &TempDir) -> Child {
    let mut guard = Command::new("bash");
    guard.args(["-c", GUARD, &group.to_string()]).arg(profile.path());
    // In a group of its own: an interrupt of the tests is not for it.
    guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    guard.spawn().expect("bash starts")
}

/// Waits until chromedriver listens.
async fn listens(driver: &mut Child) {
    let stdout = driver.stdout.take().expect("it was asked for");
    let (started, starts) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        if lines.any(|line| line.contains("started successfully")) && started.send(()).is_ok() {
            // Its output has to be read on, or it stops when the pipe is full.
            lines.for_each(drop);
        }
    });
    within("chromedriver", starts).await.expect("chromedriver goes on");
}

/// A port for chromedriver, which listens on it in both families of addresses. One that it chose itself would be free in one
/// of them, and may be taken by some connection in the other; nobody is given those below the range for connections.
fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id();
    let ports = std::iter::repeat_with(|| {
        let next = first.wrapping_mul(97).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        15_000 + u16::try_from(next % 15_000).expect("less than 15,000")
    });
    // A machine may have no addresses of the sixth version at all.
    let is_taken = |address: IpAddr, port: u16| {
        TcpListener::bind((address, port)).is_err_and(|error| error.kind() == ErrorKind::AddrInUse)
    };
    let families = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
    let is_free = |port: &u16| families.iter().all(|address| !is_taken(*address, *port));
    ports.take(1_000).find(is_free).expect("a free port")
}

/// How the browser is started.
fn capabilities(profile: &Path) -> Value {
    let args = [
        "--headless=new".to_owned(),
        "--no-sandbox".to_owned(),
        "--disable-gpu".to_owned(),
        "--disable-quic".to_owned(),
        "--no-first-run".to_owned(),
        "--disable-background-networking".to_owned(),
        "--disable-component-update".to_owned(),
        "--disable-sync".to_owned(),
        "--disable-background-timer-throttling".to_owned(),
        "--disable-renderer-backgrounding".to_owned(),
        "--disable-backgrounding-occluded-windows".to_owned(),
        "--hide-scrollbars".to_owned(),
        "--window-size=1440,900".to_owned(),
        format!("--user-data-dir={}", profile.display()),
    ];
    json!({
        "browserName": "chrome",
        "goog:chromeOptions": {"args": args},
        "goog:loggingPrefs": {"browser": "ALL"},
    })
}
