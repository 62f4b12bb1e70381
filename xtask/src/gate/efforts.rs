//! What the tasks of an operator take, which `tests/e2e/tasks.rs` counts and keeps as a line in a file for each.

use crate::console::say;
use crate::failure::{CommandFailure, CommandResult};
use crate::workspace::Workspace;
use std::path::PathBuf;

/// The lines, in a folder.
#[derive(Debug)]
pub(super) struct Efforts(PathBuf);

impl Efforts {
    /// The lines of the tests of this workspace, which keep them in `target/` wherever cargo builds.
    pub(super) fn of(ws: &Workspace) -> Self {
        Self(ws.root().join("target/tasks"))
    }

    /// Removes the lines of an earlier run.
    pub(super) fn forget(&self) -> CommandResult {
        match std::fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(CommandFailure::io("removing what the tasks took before")(error))
            }
            _ => Ok(()),
        }
    }

    /// Prints them in the order of the names of their files, and that there are none where no test kept one.
    pub(super) fn tell(&self) -> CommandResult {
        let lines = self.lines().map_err(CommandFailure::io("reading what the tasks took"))?;
        say("\nwhat the tasks of an operator take (docs/operator.md)");
        for line in if lines.is_empty() { vec!["not counted".to_owned()] } else { lines } {
            say(format!("  {line}"));
        }
        Ok(())
    }

    fn lines(&self) -> std::io::Result<Vec<String>> {
        let folder = match std::fs::read_dir(&self.0) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            folder => folder?,
        };
        let mut files: Vec<PathBuf> =
            folder.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
        files.sort();
        files.iter().map(|file| Ok(std::fs::read_to_string(file)?.trim_end().to_owned())).collect()
    }
}

#[cfg(test)]
mod tests {
    //! What was kept is told in order, and that of an earlier run is not.

    use super::*;

    #[test]
    fn lines_are_read_in_order_and_forgotten() {
        let folder = std::env::temp_dir().join(format!("fanlight-efforts-{}", std::process::id()));
        let efforts = Efforts(folder.clone());
        efforts.forget().unwrap();
        assert_eq!(efforts.lines().unwrap(), Vec::<String>::new());
        std::fs::create_dir_all(&folder).unwrap();
        for number in [2, 1] {
            std::fs::write(folder.join(format!("{number}.txt")), format!("{number}. a task\n")).unwrap();
        }
        assert_eq!(efforts.lines().unwrap(), ["1. a task", "2. a task"]);
        efforts.forget().unwrap();
        assert_eq!(efforts.lines().unwrap(), Vec::<String>::new());
    }
}
