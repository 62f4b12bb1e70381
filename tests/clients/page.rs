//! A page of `docs/integrations/`: its program and its line, run as they stand there.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use tempfile::TempDir;
use tests::TestHub;
use tests::hub::binary;
use tests::stand_in::StandIn;
use tests::upstream;
use tests::wait::patiently;
use tokio::process::Command;

use tests::installed;

const PAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/integrations");

/// What a page tells its reader to do.
#[derive(Debug)]
struct Page {
    program: String,
    /// `python` or `node`.
    interpreter: String,
    file: String,
    /// What follows `fanlight tee`.
    tee: Vec<String>,
}

impl Page {
    fn read(name: &str) -> Self {
        let path = Path::new(PAGES).join(name).with_extension("md");
        let text = std::fs::read_to_string(&path).unwrap();
        let program = ["python", "js"].into_iter().find_map(|language| fenced(&text, language));
        let line = fenced(&text, "sh").expect("a line to type");
        let (agent, tee) = line.trim().split_once(" | fanlight tee ").expect("a pipe into tee");
        let (interpreter, file) = agent.split_once(' ').expect("an interpreter and a file");
        Self {
            program: program.expect("a program"),
            interpreter: interpreter.to_owned(),
            file: file.to_owned(),
            tee: tee.split_whitespace().map(str::to_owned).collect(),
        }
    }

    /// The conversation that the line publishes to.
    fn conversation(&self) -> &str {
        let mut words = self.tee.iter().skip_while(|word| *word != "--conversation");
        words.nth(1).expect("the name of a conversation")
    }

    /// The program, where nothing of this machine's settings reaches it.
    fn agent(&self, folder: &TempDir, upstream: &StandIn) -> Command {
        std::fs::write(folder.path().join(&self.file), &self.program).unwrap();
        let mut agent = match self.interpreter.as_str() {
            "python" => installed::python(),
            "node" => {
                std::os::unix::fs::symlink(installed::node_modules(), folder.path().join("node_modules"))
                    .unwrap();
                installed::node()
            }
            other => panic!("the page runs its program with {other}"),
        };
        isolated(&mut agent, folder, upstream);
        agent.arg(&self.file).current_dir(folder.path()).kill_on_drop(true);
        agent
    }
}

/// Lets `agent` see nothing of this machine's settings, and ask `upstream` in place of any model.
pub(crate) fn isolated(agent: &mut Command, folder: &TempDir, upstream: &StandIn) {
    agent.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", folder.path());
    agent.env("OPENAI_BASE_URL", upstream.url("/v1")).env("OPENAI_API_KEY", "none");
    agent.env("ANTHROPIC_BASE_URL", upstream.url("")).env("ANTHROPIC_API_KEY", "none");
    // What the frameworks tell their makers stays here.
    agent.env("OPENAI_AGENTS_DISABLE_TRACING", "1").env("AGNO_TELEMETRY", "false");
}

/// The first block of `language` in the page `name`.
pub(crate) fn block(name: &str, language: &str) -> String {
    let path = Path::new(PAGES).join(name).with_extension("md");
    fenced(&std::fs::read_to_string(path).unwrap(), language).expect("such a block")
}

/// The first block of `language` in a page.
fn fenced(text: &str, language: &str) -> Option<String> {
    let (_, block) = text.split_once(&format!("```{language}\n"))?;
    block.split_once("```").map(|(block, _)| block.to_owned())
}

/// Does what the page `name` says, and gives the short form of what is seen of it, once all of it is over.
pub(crate) async fn follow(name: &str) -> Value {
    let page = Page::read(name);
    let (hub, upstream, folder) = (TestHub::start().await, upstream::start().await, TempDir::new().unwrap());
    let mut agent =
        page.agent(&folder, &upstream).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines: Stdio = agent.stdout.take().unwrap().try_into().unwrap();
    let tee =
        Command::new(binary()).arg("tee").args(&page.tee).args(["--url", &hub.url("")]).stdin(lines).output();
    let (agent, tee) = patiently(name, async { tokio::join!(agent.wait_with_output(), tee) }).await;
    let (agent, tee) = (agent.unwrap(), tee.unwrap());
    assert!(agent.status.success(), "{name}: {}", String::from_utf8_lossy(&agent.stderr));
    assert!(tee.status.success(), "{name}: {}", String::from_utf8_lossy(&tee.stderr));
    let path = format!("/v1/conversations/{}?summary", page.conversation());
    let seen = hub.json_until(&path, |seen| {
        let runs = seen["runs"].as_array();
        runs.is_some_and(|runs| !runs.is_empty() && runs.iter().all(|run| run["status"] != "running"))
    });
    seen.await
}
