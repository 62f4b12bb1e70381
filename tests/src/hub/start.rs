//! How the process of a hub is started.

use std::path::PathBuf;

use tokio::process::Command;

use super::binary;

/// How the process of a hub is started, beside its options.
#[derive(Debug, Default, Clone)]
pub struct HubStart {
    /// The beginning of its command line, such as [`crate::TestMachine::enter`] gives it; nothing for a plain child of the test.
    pub through: Vec<String>,
    /// The token that the test's requests come with.
    pub token: Option<String>,
    /// The file that gets its trace; without one the trace goes where that of the test goes.
    pub trace: Option<PathBuf>,
}

impl HubStart {
    /// The command that starts the program.
    pub(super) fn command(&self) -> Command {
        let mut words = self.through.iter();
        let mut command = match words.next() {
            Some(first) => {
                let mut command = Command::new(first);
                command.args(words).arg(binary());
                command
            }
            None => Command::new(binary()),
        };
        if let Some(path) = &self.trace {
            let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
            command.stderr(file.expect("a file for the trace"));
        }
        command
    }

    /// What the test asks the hub with.
    pub(super) fn client(&self) -> reqwest::Client {
        let bearer = self.token.as_ref().map(|token| format!("Bearer {token}").parse().expect("a header"));
        let headers = bearer.map(|bearer| (reqwest::header::AUTHORIZATION, bearer)).into_iter().collect();
        reqwest::Client::builder().default_headers(headers).build().expect("a client")
    }
}
