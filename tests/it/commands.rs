//! The commands as processes: pipes, exit codes, and what they do while the hub is down.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Output, Stdio};

use serde_json::Value;
use tests::wait::{patiently, within};
use tests::{TestHub, hub};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpListener;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// A command with pipes at all ends.
pub(super) fn start(arguments: &[&str]) -> Child {
    let mut command = Command::new(hub::binary());
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_remove("FANLIGHT_URL").env_remove("NO_COLOR").kill_on_drop(true).spawn().unwrap()
}

/// Runs a command on `input` to its end.
pub(super) async fn run(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = start(arguments);
    let mut stdin = child.stdin.take().unwrap();
    let feed = async {
        // A command that does not want the rest is none of this function's business.
        drop(stdin.write_all(input).await);
        drop(stdin);
    };
    let (output, ()) =
        patiently("the command's end", async { tokio::join!(child.wait_with_output(), feed) }).await;
    output.unwrap()
}

pub(super) fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A run in native events, `lines` of them about a part.
pub(super) fn story(lines: usize) -> String {
    let mut story = String::from(
        "{\"k\":\"run.start\",\"run\":\"r\"}\n{\"k\":\"part.start\",\"run\":\"r\",\"part\":\"p\"}\n",
    );
    for line in 0..lines {
        let delta =
            format!("{{\"k\":\"part.delta\",\"run\":\"r\",\"part\":\"p\",\"text\":\"line {line}\\n\"}}\n");
        story.push_str(&delta);
    }
    story.push_str("{\"k\":\"part.end\",\"run\":\"r\",\"part\":\"p\"}\n{\"k\":\"run.end\",\"run\":\"r\"}\n");
    story
}

/// An address at which nobody listens.
pub(super) async fn nowhere() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

fn tee_to(url: &str) -> Vec<&str> {
    vec!["tee", "--dialect", "fanlight", "--conversation", "c", "--url", url]
}

#[tokio::test]
async fn tee_copies_byte_for_byte_when_there_is_no_hub() {
    let url = format!("http://{}", nowhere().await);
    let bytes: Vec<u8> =
        (0..3_000_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let output = run(&tee_to(&url), &bytes).await;
    assert!(output.status.success());
    assert!(output.stdout == bytes, "the bytes differ");
    assert_eq!(said(&output).matches("not everything reached the hub").count(), 1, "{}", said(&output));
}

#[tokio::test(flavor = "multi_thread")]
async fn tee_says_on_which_machine_an_agent_runs_and_the_list_shows_it() {
    let hub = TestHub::start().await;
    let (url, own) = (hub.url(""), rustix::system::uname());
    let tee = async |conversation: &str, options: &[&str], start: &str| {
        let into = ["tee", "--dialect", "fanlight", "--conversation", conversation, "--url", &url];
        let output = run(&[&into[..], options].concat(), format!("{start}\n").as_bytes()).await;
        assert_eq!((output.status.success(), said(&output)), (true, String::new()));
        let list = hub.json("/v1/conversations").await;
        let rows = list["conversations"].as_array().unwrap();
        let row = rows.iter().find(|row| row["conversation"] == conversation).unwrap();
        row["host"].as_str().map(str::to_owned)
    };
    let start = r#"{"k":"run.start","run":"r"}"#;
    assert_eq!(tee("own", &[], start).await.as_deref(), own.nodename().to_str().ok());
    assert_eq!(tee("given", &["--machine", "box-9"], start).await.as_deref(), Some("box-9"));
    assert_eq!(tee("none", &["--machine", ""], start).await, None, "who does not want to say it does not");
    let says = start.replace('}', r#","host":"far"}"#);
    assert_eq!(tee("said", &[], &says).await.as_deref(), Some("far"), "the stream knows better");
}

#[tokio::test]
async fn tee_is_not_held_up_by_a_hub_that_takes_nothing() {
    // It accepts connections, as the kernel does for it, and never reads.
    let stuck = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", stuck.local_addr().unwrap());
    let bytes = story(600_000);
    assert!(bytes.len() > 32 << 20, "more than the backlog and the kernel's buffers hold");
    let output = run(&tee_to(&url), bytes.as_bytes()).await;
    assert!(output.status.success());
    assert!(output.stdout == bytes.as_bytes(), "the bytes differ");
    assert!(said(&output).contains("slower than the pipe"), "{}", said(&output));
}

/// A `tee` that is fed step by step.
struct Tee {
    child: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Tee {
    fn start(url: &str) -> Self {
        let mut child = start(&tee_to(url));
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, stdin, stdout }
    }

    /// Writes a line, which must come out at once.
    async fn pass(&mut self, line: &str) {
        self.stdin.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        let out = within("the line", self.stdout.next_line()).await.unwrap();
        assert_eq!(out.as_deref(), Some(line));
    }

    async fn finish(mut self) -> Output {
        drop(self.stdin);
        assert_eq!(within("the end of stdout", self.stdout.next_line()).await.unwrap(), None);
        within("the end", self.child.wait_with_output()).await.unwrap()
    }
}

#[tokio::test]
async fn tee_publishes_while_the_pipe_still_runs() {
    let hub = TestHub::start().await;
    let mut viewer = hub.view("c").await;
    let mut tee = Tee::start(&hub.url(""));
    for (seq, line) in (1..).zip(story(2).lines()) {
        tee.pass(line).await;
        viewer.reach(seq).await;
    }
    let output = tee.finish().await;
    assert!(output.status.success());
    assert_eq!(said(&output), "");
    assert_eq!(viewer.text(), "line 0\nline 1\n");
}

#[tokio::test]
async fn tee_delivers_what_it_has_to_a_hub_that_comes_up_later() {
    let address = nowhere().await;
    let mut tee = Tee::start(&format!("http://{address}"));
    let story = story(3);
    let mut lines = story.lines();
    tee.pass(lines.next().unwrap()).await;
    let hub = TestHub::start_at(&address.to_string()).await;
    for line in lines {
        tee.pass(line).await;
    }
    let summary =
        hub.json_until("/v1/conversations/c?summary", |view| view["runs"][0]["status"] == "complete").await;
    assert_eq!(summary["runs"][0]["text"], "line 0\nline 1\nline 2\n");
    let output = tee.finish().await;
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(0), ""));
}

/// Publishes a status again and again. A viewer may get the first ones inside of a snapshot, which `tail --json` does
/// not hold.
async fn say_on(hub: &TestHub, word: &str) -> ! {
    let mut publisher = hub.publisher("c").await;
    loop {
        publisher.says(&format!("{{\"k\":\"status\",\"run\":\"r\",\"text\":\"{word}\"}}")).await;
    }
}

#[tokio::test]
async fn commands_end_quietly_when_nobody_reads_them() {
    let mut fold = start(&["fold", "--dialect", "fanlight"]);
    drop(fold.stdout.take());
    let mut stdin = fold.stdin.take().unwrap();
    stdin.write_all(story(10).as_bytes()).await.unwrap();
    drop(stdin);
    let output = within("fold", fold.wait_with_output()).await.unwrap();
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(0), ""));

    let hub = TestHub::start().await;
    let mut tail = start(&["tail", "c", "--json", "--url", &hub.url("")]);
    let mut stdout = BufReader::new(tail.stdout.take().unwrap()).lines();
    tokio::select! {
        line = within("a line", stdout.next_line()) => assert!(line.unwrap().is_some()),
        never = say_on(&hub, "one") => never,
    }
    drop(stdout);
    let status = tokio::select! {
        status = within("tail's end", tail.wait()) => status.unwrap(),
        never = say_on(&hub, "more") => never,
    };
    assert_eq!(status.code(), Some(0));
}

#[tokio::test]
async fn tail_shows_what_is_published_and_ends_with_the_run() {
    let hub = TestHub::start().await;
    let mut tail = start(&["tail", "c", "--until", "run.end", "--url", &hub.url("")]);
    let mut stdout = tail.stdout.take().unwrap();
    hub.publisher("c").await.says(&story(3)).await;
    let mut text = String::new();
    within("tail's output", stdout.read_to_string(&mut text)).await.unwrap();
    assert!(within("tail's end", tail.wait()).await.unwrap().success());
    assert!(text.contains("│ line 0\n│ line 1\n│ line 2\n└─ complete"), "{text}");
    assert!(!text.contains('\u{1b}'), "colours in a pipe: {text}");
}

#[tokio::test]
async fn tail_gives_one_envelope_a_line_from_a_position() {
    let hub = TestHub::start().await;
    let position = hub.publisher("c").await.says(&story(3)).await;
    let from = format!("{}:2", position.epoch);
    let tail = |level: &'static str| {
        let (from, url) = (from.clone(), hub.url(""));
        async move {
            let arguments = [
                "tail", "c", "--json", "--from", &from, "--until", "run.end", "--level", level, "--url", &url,
            ];
            let output = run(&arguments, b"").await;
            assert!(output.status.success(), "{}", said(&output));
            let lines = String::from_utf8(output.stdout).unwrap();
            lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>()
        }
    };
    let everything = tail("deltas").await;
    let texts: String = everything.iter().filter_map(|envelope| envelope["text"].as_str()).collect();
    assert_eq!((everything[0]["seq"].as_u64(), texts.as_str()), (Some(3), "line 0\nline 1\nline 2\n"));
    let critical: Vec<_> = tail("critical").await.iter().map(|envelope| envelope["k"].clone()).collect();
    assert_eq!(critical, ["part.end", "run.end"]);
}

#[tokio::test]
async fn tail_goes_on_when_the_hub_crashes_and_comes_back() {
    let mut hub = TestHub::start().await;
    let mut tail = start(&["tail", "c", "--json", "--url", &hub.url("")]);
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    let mut noise = BufReader::new(tail.stderr.take().unwrap()).lines();
    let mut seen = async |wanted: &str| {
        within(wanted, async {
            loop {
                let line = lines.next_line().await.unwrap().unwrap();
                if line.contains(wanted) {
                    return;
                }
            }
        })
        .await;
    };
    tokio::select! {
        () = seen("before") => {}
        never = say_on(&hub, "before") => never,
    }
    hub.restart().await;
    within("the outage", async { while !noise.next_line().await.unwrap().unwrap().contains("not there") {} })
        .await;
    tokio::select! {
        () = seen("after") => {}
        never = say_on(&hub, "after") => never,
    }
}

#[tokio::test]
async fn replay_publishes_what_fold_makes_of_the_same_file() {
    let hub = TestHub::start().await;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(story(500).as_bytes()).unwrap();
    let path = file.path().to_str().unwrap();
    let url = hub.url("");
    let arguments =
        ["replay", path, "--dialect", "fanlight", "--conversation", "c", "--speed", "max", "--url", &url];
    let output = run(&arguments, b"").await;
    assert!(output.status.success(), "{}", said(&output));
    let line = String::from_utf8(output.stdout).unwrap();
    assert!(line.starts_with("published 504 events; c stands at "), "{line}");
    let folded = run(&["fold", "--dialect", "fanlight", "--summary"], story(500).as_bytes()).await;
    let folded: Value = serde_json::from_slice(&folded.stdout).unwrap();
    let served = hub.summary("c").await;
    assert_eq!((&served["runs"], &served["anomalies"]), (&folded["runs"], &folded["anomalies"]));
}

#[tokio::test]
async fn exit_codes_tell_failure_from_misuse_and_say_how_to_mend_it() {
    let hub = TestHub::start().await;
    let taken = hub.address().to_string();
    let nobody = format!("http://{}", nowhere().await);
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let into = ["--dialect", "fanlight", "--conversation", "c", "--url", &nobody];
    let cases: [(Vec<&str>, i32, &str); 9] = [
        (vec!["serve", "--log", "memory", "--listen", &taken], 1, "--listen"),
        (vec!["serve", "--listen", "0.0.0.0:0"], 2, "127.0.0.1"),
        (vec!["serve", "--log", "paper"], 2, "--log memory"),
        (
            vec!["serve", "--log", "memory", "--silent-long-after", "59"],
            2,
            "as long as silent_after or longer",
        ),
        (
            vec!["serve", "--log", "memory", "--silent-after", "0", "--silent-long-after", "9"],
            2,
            "or leave it out",
        ),
        ([&["replay", path][..], &into].concat(), 1, "fanlight serve"),
        ([&["replay", "/nowhere/at/all"][..], &into].concat(), 2, "/nowhere/at/all"),
        (vec!["fold", "--dialect", "smoke-signals"], 2, "fanlight"),
        (vec!["dance"], 2, "dance"),
    ];
    for (arguments, code, remedy) in cases {
        let output = run(&arguments, b"").await;
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(remedy), "{arguments:?}: {}", said(&output));
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    for arguments in [["--help"], ["--version"]] {
        assert_eq!(run(&arguments, b"").await.status.code(), Some(0));
    }
}

#[tokio::test]
async fn a_setting_of_the_environment_that_does_not_fit_is_misuse_and_is_named() {
    for (variable, value, names) in [
        ("FANLIGHT_LISTEN", "here", "'here' for '--listen"),
        ("FANLIGHT_IDLE_AFTER", "soon", "'soon' for '--idle-after"),
        ("FANLIGHT_RETAIN_AGE", "soon", "'soon' for '--retain-age"),
        ("FANLIGHT_CONFIG", "/nowhere/at/all.toml", "/nowhere/at/all.toml"),
    ] {
        let mut hub = Command::new(hub::binary());
        let hub = hub.arg("serve").env(variable, value).kill_on_drop(true).output();
        let output = patiently("the end", hub).await.unwrap();
        assert_eq!(output.status.code(), Some(2), "{variable}: {}", said(&output));
        assert!(said(&output).contains(names), "{variable}: {}", said(&output));
    }
}

#[tokio::test]
async fn the_demo_brings_every_conversation_to_life_through_the_public_doors() {
    let mut demo = start(&["serve", "--log", "memory", "--demo", "--listen", "127.0.0.1:0"]);
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines();
    let line = within("the first line", lines.next_line()).await.unwrap().unwrap();
    let url = format!("{}/v1/conversations", line.strip_prefix("listening on ").unwrap());
    let rows = tests::wait::until("five conversations, one over and one failed", async || {
        let list: Value = reqwest::get(&url).await.ok()?.json().await.ok()?;
        let rows = list["conversations"].as_array()?.clone();
        let has = |state: &str| rows.iter().any(|row| row["state"] == state);
        (rows.len() == 5 && has("running") && has("complete") && has("error")).then_some(rows)
    })
    .await;
    for row in rows {
        assert_eq!(row["anomalies"], 0, "{row}");
        assert!(row["title"].is_string(), "{row}");
    }
}

#[tokio::test]
async fn tail_says_how_a_conversation_that_has_ended_is_printed() {
    let hub = TestHub::start().await;
    hub.publisher("c").await.says(&story(3)).await;
    let url = hub.url("");
    let output = run(&["tail", "c", "--json", "--until", "run.end", "--url", &url], b"").await;
    assert!(output.status.success(), "{}", said(&output));
    let how = "export c --format native";
    assert!(
        output.stdout.is_empty() && said(&output).contains(&format!("`fanlight {how}`")),
        "{}",
        said(&output)
    );
    let named: Vec<&str> = how.split(' ').chain(["--url", &url]).collect();
    let output = run(&named, b"").await;
    assert!(output.status.success(), "{}", said(&output));
    let lines = String::from_utf8(output.stdout).unwrap();
    let envelopes: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let texts: String = envelopes.iter().filter_map(|envelope| envelope["text"].as_str()).collect();
    assert_eq!(texts, "line 0\nline 1\nline 2\n");
    assert_eq!(envelopes.last().unwrap()["k"], "run.end");
}
