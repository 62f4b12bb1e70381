//! A real Firefox with one page, driven over `WebDriver BiDi`: what another engine makes of the page. Chromium is the browser of the other
//! tests, so this knows a few commands.
//!
//! ```text
//! test ─▶ {"id": 7, "method": "script.callFunction", "params": {…}} ─▶ Firefox (--remote-debugging-port)
//!      ◀─ {"type": "success", "id": 7, "result": {…}}                 and events in between, such as log.entryAdded
//! ```

use std::path::PathBuf;
use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::sync::Mutex;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::browser::{Screen, keeps_pictures, screenshot_path};
use crate::wait::{patiently, until, within};

/// What Firefox says on stderr when it can be driven, before its address.
const LISTENS: &str = "WebDriver BiDi listening on ws://";

/// A Firefox with one page and a fresh profile. It ends when this is dropped.
#[derive(Debug)]
pub struct FirefoxPage {
    driver: Mutex<Driver>,
    /// The page, as Firefox names it.
    context: String,
    _process: Child,
    _profile: TempDir,
}

/// The socket to Firefox.
#[derive(Debug)]
struct Driver {
    socket: WebSocketStream<TcpStream>,
    /// The number of the newest command.
    number: u64,
    /// Errors and warnings that pages wrote to the console.
    complaints: Vec<String>,
}

impl FirefoxPage {
    /// Starts Firefox.
    ///
    /// # Panics
    /// When there is none (`apt-get install firefox-esr`), or it does not start.
    pub async fn open(screen: Screen) -> Self {
        let program = installed().expect("firefox is on the search path (apt-get install firefox-esr)");
        let profile = tempfile::tempdir().expect("a folder for the profile");
        let scheme = u8::from(!screen.dark);
        let settings = format!(
            "user_pref(\"layout.css.prefers-color-scheme.content-override\", {scheme});\n\
             user_pref(\"browser.shell.checkDefaultBrowser\", false);\n\
             user_pref(\"datareporting.policy.dataSubmissionEnabled\", false);\n\
             user_pref(\"app.update.enabled\", false);\n\
             user_pref(\"network.captive-portal-service.enabled\", false);\n\
             user_pref(\"network.connectivity-service.enabled\", false);\n\
             user_pref(\"services.settings.server\", \"data:,\");\n"
        );
        std::fs::write(profile.path().join("user.js"), settings).expect("settings of the profile");
        let mut process = Command::new(program)
            .args(["--headless", "--no-remote", "--remote-debugging-port", "0", "--profile"])
            .arg(profile.path())
            .env("HOME", profile.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("Firefox starts");
        let address = listens(&mut process).await;
        let stream = TcpStream::connect(&address).await.expect("Firefox listens");
        let opened = tokio_tungstenite::client_async(format!("ws://{address}/session"), stream);
        let (socket, _answer) = within("a socket to Firefox", opened).await.expect("a socket");
        let mut driver = Driver { socket, number: 0, complaints: Vec::new() };
        driver.command("session.new", json!({"capabilities": {}})).await.expect("a session");
        driver.command("session.subscribe", json!({"events": ["log.entryAdded"]})).await.expect("events");
        let tree = driver.command("browsingContext.getTree", json!({})).await.expect("pages");
        let context = tree.pointer("/contexts/0/context").and_then(Value::as_str).expect("a page").to_owned();
        let viewport =
            json!({"context": context, "viewport": {"width": screen.width, "height": screen.height}});
        driver.command("browsingContext.setViewport", viewport).await.expect("a viewport");
        Self { driver: Mutex::new(driver), context, _process: process, _profile: profile }
    }

    /// What a command returns.
    async fn command(&self, method: &str, params: Value) -> Value {
        self.driver.lock().await.command(method, params).await.expect("firefox does it")
    }

    /// Goes to `url`.
    ///
    /// # Panics
    /// When it does not load.
    pub async fn goto(&self, url: &str) {
        let params = json!({"context": self.context, "url": url, "wait": "complete"});
        self.command("browsingContext.navigate", params).await;
    }

    /// What `script` (the body of a function) returns, as JSON; null where it returns nothing.
    ///
    /// # Panics
    /// When it throws.
    pub async fn run(&self, script: &str) -> Value {
        self.try_run(script).await.unwrap_or_else(|why| panic!("{script}: {why}"))
    }

    /// Runs `script` as [`Self::run`] does; fails, in words, where the page goes away meanwhile, or the script throws.
    async fn try_run(&self, script: &str) -> Result<Value, String> {
        let declaration = format!("async () => JSON.stringify((await (() => {{ {script}\n }})()) ?? null)");
        let params = json!({"functionDeclaration": declaration, "target": {"context": self.context}, "awaitPromise": true});
        let told = self.driver.lock().await.command("script.callFunction", params).await?;
        let text = told.pointer("/result/value").and_then(Value::as_str).ok_or_else(|| told.to_string())?;
        Ok(serde_json::from_str(text).expect("JSON"))
    }

    /// Waits until `script` returns what is `wanted`; returns it. Where it asks something of an element that is not there yet it
    /// returned null.
    ///
    /// # Panics
    /// When the time is up.
    pub async fn run_until(&self, script: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let asked = format!(
            "try {{ return (() => {{ {script}\n }})() }} catch (error) {{ if (error instanceof TypeError) return null; throw error }}"
        );
        until(script, async || {
            Some(self.try_run(&asked).await.unwrap_or_default()).filter(|value| wanted(value))
        })
        .await
    }

    /// Waits until `script` returns true.
    pub async fn holds(&self, script: &str) {
        self.run_until(script, |value| value == &Value::Bool(true)).await;
    }

    /// Waits until the page has painted `seq`.
    pub async fn painted(&self, seq: u64) {
        let script = format!(
            "return Number(document.querySelector('[data-t=transcript]')?.dataset.seq ?? 0) >= {seq}"
        );
        self.holds(&script).await;
    }

    /// Presses and releases a key.
    pub async fn press(&self, key: &str) {
        let keys = json!([{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]);
        let actions = json!([{"type": "key", "id": "keyboard", "actions": keys}]);
        self.command("input.performActions", json!({"context": self.context, "actions": actions})).await;
    }

    /// Errors and warnings that pages wrote to the console.
    pub async fn console_errors(&self) -> Vec<String> {
        self.driver.lock().await.complaints.clone()
    }

    /// Keeps a picture of the window as `name`, if [`keeps_pictures`].
    ///
    /// # Panics
    /// When it cannot be taken or written.
    pub async fn screenshot(&self, name: &str) {
        if !keeps_pictures() {
            return;
        }
        let told = self.command("browsingContext.captureScreenshot", json!({"context": self.context})).await;
        let png = told.get("data").and_then(Value::as_str).expect("a picture");
        let path = screenshot_path(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).expect("a folder for pictures");
        }
        std::fs::write(path, STANDARD.decode(png).expect("base64")).expect("the picture is written");
    }
}

impl Driver {
    /// Sends a command and waits for its answer. What pages write to the console meanwhile is kept. Fails, in words, where Firefox refuses it.
    ///
    /// # Panics
    /// When Firefox goes away.
    async fn command(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.number += 1;
        let command = json!({"id": self.number, "method": method, "params": params}).to_string();
        self.socket.send(Message::text(command)).await.expect("Firefox listens");
        within(method, async {
            loop {
                let message = self.socket.next().await.expect("an answer").expect("a message");
                let Ok(text) = message.to_text() else { continue };
                let Ok(told) = serde_json::from_str::<Value>(text) else { continue };
                let word = |place: &str| told.pointer(place).and_then(Value::as_str).unwrap_or_default();
                if word("/method") == "log.entryAdded" {
                    if matches!(word("/params/level"), "error" | "warn") {
                        self.complaints.push(word("/params/text").to_owned());
                    }
                } else if told.get("id").and_then(Value::as_u64) == Some(self.number) {
                    return if word("/type") == "success" {
                        Ok(told.get("result").cloned().unwrap_or_default())
                    } else {
                        Err(format!("{method}: {told}"))
                    };
                }
            }
        })
        .await
    }
}

/// The program, where it is on the path.
fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let places = std::env::split_paths(&path);
    let programs = places.flat_map(|place| ["firefox", "firefox-esr"].map(|name| place.join(name)));
    programs.into_iter().find(|program| program.is_file())
}

/// Waits until Firefox can be driven; returns its address.
async fn listens(process: &mut Child) -> String {
    let stderr = process.stderr.take().expect("it was asked for");
    let mut lines = BufReader::new(stderr).lines();
    let address = patiently("Firefox", async {
        while let Some(line) = lines.next_line().await.expect("readable") {
            if let Some((_, address)) = line.split_once(LISTENS) {
                return address.trim().trim_end_matches('/').to_owned();
            }
        }
        panic!("Firefox ended");
    })
    .await;
    // Its output has to be read on, or it stops when the pipe is full.
    tokio::spawn(async move { while let Ok(Some(_line)) = lines.next_line().await {} });
    address
}
