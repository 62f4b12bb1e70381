//! A real Chromium, driven through its driver: nothing that an earlier page kept is there for a new one.

mod kept;

use std::path::{Path, PathBuf};

use fantoccini::Client;
use fantoccini::wd::WebDriverCompatibleCommand;
use kept::KeptBrowser;
use serde_json::{Value, json};

use crate::process::{self, ChildProcess, cpu};
use crate::wait::{DEADLINE, until, within};

/// A page in a browser that nobody else uses meanwhile. It ends with this, and where the test fails the browser does too.
#[derive(Debug)]
pub struct BrowserPage {
    /// The process group of the browser.
    group: u32,
    client: Client,
    /// The browser itself, until the page is closed.
    browser: Option<KeptBrowser>,
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

/// Whether tests keep pictures that nothing but a person looks at: unless `FANLIGHT_PICTURES` is `no`, as it is in the gate, where
/// taking them would be a fifth of what the browsers do.
pub fn keeps_pictures() -> bool {
    std::env::var_os("FANLIGHT_PICTURES").is_none_or(|said| said != "no")
}

impl BrowserPage {
    /// Opens an empty page.
    ///
    /// # Panics
    /// When chromium or chromedriver is missing: `apt-get install chromium chromium-driver`.
    pub async fn open(screen: Screen) -> Self {
        let browser = KeptBrowser::with_page().await;
        let page = Self { group: browser.group, client: browser.client.clone(), browser: Some(browser) };
        page.resize(screen).await;
        // What other pages said is theirs.
        page.console_errors().await;
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

    /// Keeps a picture of the window as `name`, for a person to look at, if [`keeps_pictures`].
    ///
    /// # Panics
    /// When it cannot be taken or written.
    pub async fn screenshot(&self, name: &str) {
        if keeps_pictures() {
            self.picture(name).await;
        }
    }

    /// Keeps a picture of the window as `name`, always.
    ///
    /// # Panics
    /// When it cannot be taken or written.
    pub async fn picture(&self, name: &str) {
        let png = within("a screenshot", self.client.screenshot()).await.expect("a picture");
        let path = screenshot_path(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).expect("a folder for pictures");
        }
        std::fs::write(path, png).expect("the picture is written");
    }

    /// Ends the page.
    pub async fn close(mut self) {
        if let Some(browser) = self.browser.take() {
            browser.give_back().await;
        }
    }
}

impl Drop for BrowserPage {
    /// A test that fails may leave anything behind: its browser ends with it.
    fn drop(&mut self) {
        if let Some(browser) = self.browser.take().filter(|_| !std::thread::panicking()) {
            browser.give_back_later();
        }
    }
}

/// The processes of the group that render pages.
fn renderers(group: u32) -> Vec<u32> {
    let renders = |pid: u32| {
        let words = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let its_group = process::stat(pid).and_then(|fields| fields.get(2).copied());
        words.contains("--type=renderer") && its_group == Some(u64::from(group))
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
