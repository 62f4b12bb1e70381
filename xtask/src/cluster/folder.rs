//! The temporary folder of a cluster, with files that only its owner can read.

use crate::failure::{CommandFailure, CommandResult};
use std::fmt::Write as _;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, chown};
use std::path::{Path, PathBuf};

/// Who runs the databases when root starts the cluster: they refuse to run as root.
const DATABASE_USER: &str = "postgres";

/// A folder of this process, with mode 0700. Dropping it removes it with everything inside.
#[derive(Debug)]
pub(super) struct ClusterFolder {
    path: PathBuf,
    /// User and group of the databases, where root started the cluster.
    database_owner: Option<(u32, u32)>,
}

impl ClusterFolder {
    pub(super) fn create() -> CommandResult<Self> {
        let path = std::env::temp_dir().join(format!("fanlight-cluster-{}", std::process::id()));
        let making = CommandFailure::io(format!("making {}", path.display()));
        DirBuilder::new().mode(0o700).create(&path).map_err(making)?;
        let mut folder = Self { path, database_owner: None };
        if crate::debian::is_root() {
            let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
            folder.database_owner = Some(ids_of(&users, DATABASE_USER).ok_or_else(|| {
                CommandFailure::new(format!("there is no user `{DATABASE_USER}` to run the databases"))
                    .mend("apt-get install -y postgresql")
            })?);
            folder.give_to_databases(&folder.path)?;
        }
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The user that the databases run as, where it is not the one who started the cluster.
    pub(super) fn database_user(&self) -> Option<&'static str> {
        self.database_owner.map(|_| DATABASE_USER)
    }

    /// Writes a file that its owner alone may read: the caller.
    pub(super) fn write(&self, name: &str, text: &str) -> CommandResult<PathBuf> {
        let path = self.path.join(name);
        let writing = || CommandFailure::io(format!("writing {}", path.display()));
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(&path);
        file.map_err(writing())?.write_all(text.as_bytes()).map_err(writing())?;
        Ok(path)
    }

    /// Writes a file with 48 random letters of hexadecimal.
    pub(super) fn secret(&self, name: &str) -> CommandResult<PathBuf> {
        self.write(name, &random()?)
    }

    /// Lets the databases own what is at `path`.
    pub(super) fn give_to_databases(&self, path: &Path) -> CommandResult {
        let Some((user, group)) = self.database_owner else { return Ok(()) };
        chown(path, Some(user), Some(group))
            .map_err(CommandFailure::io(format!("giving {} to {DATABASE_USER}", path.display())))
    }
}

impl Drop for ClusterFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            crate::console::complain(format!("removing {}: {error}", self.path.display()));
        }
    }
}

/// 192 random bits as 48 letters of hexadecimal.
pub(super) fn random() -> CommandResult<String> {
    let mut bytes = [0; 24];
    let mut source = fs::File::open("/dev/urandom").map_err(CommandFailure::io("opening /dev/urandom"))?;
    source.read_exact(&mut bytes).map_err(CommandFailure::io("reading /dev/urandom"))?;
    let mut text = String::new();
    for byte in bytes {
        // Writing to a string cannot fail.
        let _written = write!(text, "{byte:02x}");
    }
    Ok(text)
}

/// User and group number of `name` in a text like `/etc/passwd`.
fn ids_of(users: &str, name: &str) -> Option<(u32, u32)> {
    let line = users.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let mut numbers = line.split(':').skip(1);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests;
