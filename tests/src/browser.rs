//! A real Chromium, driven through its driver: one browser with a fresh profile for each page object.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};

use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::process::{self, ChildProcess, cpu};
use crate::wait::{DEADLINE, until, within};

/// A browser with one page. Everything it started ends with it, also when a test fails.
#[derive(Debug)]
pub struct BrowserPage {
    driver: Child,
    /// The process group of the driver, which its browser belongs to.
    group: Option<u32>,
    client: Client,
    _profile: TempDir,
}

/// The window and the colours with which a page is opened.
#[derive(Debug, Clone, Copy)]
pub struct Screen {
    /// Width of the window in CSS pixels.
    pub width: u32,
    /// Height of the window in CSS pixels.
    pub height: u32,
    /// Whether the system prefers dark colours.
    pub dark: bool,
}

/// A desktop window in light colours.
pub const DESKTOP: Screen = Screen { width: 1440, height: 900, dark: false };

/// The path of the screenshot `name` of the tests.
pub fn screenshot_path(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/screenshots");
    folder.join(format!("{name}.png"))
}

impl BrowserPage {
    /// Starts a browser.
    ///
    /// # Panics
    /// When chromium or chromedriver is missing: `apt-get install chromium chromium-driver`.
    pub async fn open(screen: Screen) -> Self {
        let port = free_port();
        let mut driver = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .process_group(0)
            .spawn()
            .expect("chromedriver starts (apt-get install chromium chromium-driver)");
        listens(&mut driver).await;
        let profile = tempfile::tempdir().expect("a folder for the profile");
        let capabilities = capabilities(profile.path(), screen);
        let mut builder = ClientBuilder::new(hyper_util::client::legacy::connect::HttpConnector::new());
        builder.capabilities(capabilities.as_object().expect("an object").clone());
        let url = format!("http://127.0.0.1:{port}");
        let client = within("chromium", builder.connect(&url)).await.expect("a session");
        let group = driver.id();
        let page = Self { driver, group, client, _profile: profile };
        page.resize(screen).await;
        page
    }

    /// The viewport and the colour scheme: a headless window is smaller inside than it was asked to be.
    pub async fn resize(&self, screen: Screen) {
        let Screen { width, height, dark } = screen;
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", metrics).await;
        let scheme = if dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.devtools("Emulation.setEmulatedMedia", features).await;
    }

    /// Goes to `url`.
    ///
    /// # Panics
    /// When it does not load.
    pub async fn goto(&self, url: &str) {
        within(url, self.client.goto(url)).await.expect("the page loads");
    }

    /// Loads the page again.
    ///
    /// # Panics
    /// When it does not load.
    pub async fn reload(&self) {
        within("a reload", self.client.refresh()).await.expect("the page loads");
    }

    /// What `script` (the body of a function) returns.
    ///
    /// # Panics
    /// When it throws.
    pub async fn run(&self, script: &str) -> Value {
        within(script, self.client.execute(script, Vec::new()))
            .await
            .unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// What `script` returns; nothing where it throws, or where the page is too busy to answer.
    pub async fn attempt(&self, script: &str) -> Option<Value> {
        let answer = tokio::time::timeout(DEADLINE, self.client.execute(script, Vec::new())).await;
        answer.ok()?.ok()
    }

    /// Waits until `script` returns what is `wanted`; returns it. Where it asks something of an element that is not there yet it
    /// returned null.
    ///
    /// # Panics
    /// When it throws anything else, or the time is up.
    pub async fn run_until(&self, script: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let asked = format!(
            "try {{ return (() => {{ {script}\n }})() }} \
             catch (error) {{ if (error instanceof TypeError) return null; throw error }}"
        );
        until(script, async || Some(self.run(&asked).await).filter(|value| wanted(value))).await
    }

    /// Waits until `script` returns true.
    pub async fn holds(&self, script: &str) {
        self.run_until(script, |value| value == &Value::Bool(true)).await;
    }

    /// The text of the elements with `data-t="name"`, in order.
    pub async fn text(&self, name: &str) -> String {
        let value = self.run(&text_of(name)).await;
        value.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the text of the elements with `data-t="name"` is as `wanted`.
    pub async fn text_until(&self, name: &str, wanted: impl Fn(&str) -> bool) {
        self.run_until(&text_of(name), |value| value.as_str().is_some_and(&wanted)).await;
    }

    /// Waits until the page has painted `seq`.
    pub async fn painted(&self, seq: u64) {
        self.holds(&format!(
            "return Number(document.querySelector('[data-t=transcript]')?.dataset.seq ?? 0) >= {seq}"
        ))
        .await;
    }

    /// Presses and releases `key` on the page: a letter, or a key by the browser's name, such as `Escape`.
    pub async fn press(&self, key: &str) {
        // Keys with names write nothing, except for the end of a line.
        let (text, code) = match key {
            "Enter" => ("\r", 13),
            "Escape" => ("", 27),
            "Tab" => ("", 9),
            "ArrowUp" => ("", 38),
            "ArrowDown" => ("", 40),
            key => (key, 0),
        };
        let down = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        for (kind, text) in [(down, text), ("keyUp", "")] {
            // The code 0 is that of a key without one.
            let event = json!({"type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code});
            self.devtools("Input.dispatchKeyEvent", event).await;
        }
    }

    /// Presses and releases a key that writes nothing: its name, and its code as Windows numbers keys. `modifiers` is a sum: Alt 1, Ctrl 2,
    /// Meta 4, Shift 8.
    pub async fn key(&self, key: &str, code: u32, modifiers: u32) {
        for kind in ["rawKeyDown", "keyUp"] {
            let event =
                json!({"type": kind, "key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers});
            self.devtools("Input.dispatchKeyEvent", event).await;
        }
    }

    /// What a developer-tools command returns.
    ///
    /// # Panics
    /// When it fails.
    pub async fn devtools(&self, command: &str, params: Value) -> Value {
        let body = json!({"cmd": command, "params": params});
        let raw = RawCommand { path: "goog/cdp/execute", body };
        within(command, self.client.issue_cmd(raw)).await.unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    /// Errors and warnings that the page wrote to its console since the last call.
    ///
    /// # Panics
    /// When the browser does not tell.
    pub async fn console_errors(&self) -> Vec<String> {
        let raw = RawCommand { path: "se/log", body: json!({"type": "browser"}) };
        let entries = within("the console", self.client.issue_cmd(raw)).await.expect("the console's entries");
        let entries = entries.as_array().cloned().unwrap_or_default();
        let bad = entries.iter().filter(|entry| entry["level"] == "SEVERE" || entry["level"] == "WARNING");
        bad.map(|entry| entry["message"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// CPU time of the processes that render pages, in seconds.
    pub fn renderer_cpu_s(&self) -> f64 {
        renderers(self.group).iter().map(|pid| cpu(*pid).as_secs_f64()).sum()
    }

    /// Resident memory of the processes that render pages, in bytes.
    pub fn renderer_bytes(&self) -> u64 {
        renderers(self.group).iter().map(|pid| ChildProcess::of(*pid).resident_bytes).sum()
    }

    /// Keeps a picture of the window as `name`.
    ///
    /// # Panics
    /// When it cannot be taken or written.
    pub async fn screenshot(&self, name: &str) {
        let png = within("a screenshot", self.client.screenshot()).await.expect("a picture");
        let path = screenshot_path(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).expect("a folder for pictures");
        }
        std::fs::write(path, png).expect("the picture is written");
    }

    /// Ends the browser.
    ///
    /// # Panics
    /// When it does not end.
    pub async fn close(mut self) {
        within("the browser's end", self.client.clone().close()).await.expect("it closes");
        self.driver.kill().await.expect("chromedriver ends");
    }
}

impl Drop for BrowserPage {
    /// A test that fails does not get to [`BrowserPage::close`]: its browser would stay for ever.
    fn drop(&mut self) {
        let Some(group) = self.group else { return };
        let mut kill = std::process::Command::new("kill");
        kill.args(["-KILL", "--", &format!("-{group}")]).stderr(Stdio::null());
        // After an orderly end there is no such group any more.
        drop(kill.status());
    }
}

/// The processes of the group that render pages.
fn renderers(group: Option<u32>) -> Vec<u32> {
    let renders = |pid: u32| {
        let words = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let its_group = process::stat(pid).and_then(|fields| fields.get(2).copied());
        words.contains("--type=renderer") && group.is_some() && its_group == group.map(u64::from)
    };
    process::all().filter(|pid| renders(*pid)).collect()
}

fn text_of(name: &str) -> String {
    // Buttons and headers inside an answer are not the model's text.
    format!(
        "return [...document.querySelectorAll('[data-t={name}]')].map(e => {{ const c = e.cloneNode(true); \
         c.querySelectorAll('[data-t=furniture]').forEach(f => f.remove()); return c.textContent }}).join('')"
    )
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

/// Waits until chromedriver listens.
async fn listens(driver: &mut Child) {
    let stdout = driver.stdout.take().expect("it was asked for");
    let mut lines = BufReader::new(stdout).lines();
    within("chromedriver", async {
        while let Some(line) = lines.next_line().await.expect("readable") {
            if line.contains("started successfully") {
                return;
            }
        }
        panic!("chromedriver ended");
    })
    .await;
    // Its output has to be read on, or it stops when the pipe is full.
    tokio::spawn(async move { while let Ok(Some(_line)) = lines.next_line().await {} });
}

fn capabilities(profile: &Path, screen: Screen) -> Value {
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
        format!("--window-size={},{}", screen.width, screen.height),
        format!("--user-data-dir={}", profile.display()),
    ];
    json!({
        "browserName": "chrome",
        "goog:chromeOptions": {"args": args},
        "goog:loggingPrefs": {"browser": "ALL"},
    })
}

/// A command that only Chromium's driver knows.
#[derive(Debug)]
struct RawCommand {
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for RawCommand {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _url: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(self.body.to_string()))
    }
}
