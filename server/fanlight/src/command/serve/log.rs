//! Where events are kept: what `--log` says, and the password that it leaves out.
//!
//! | `--log` | events are kept |
//! |---|---|
//! | `memory` | until the hub stops |
//! | `sqlite` | in `fanlight.db` in the data directory |
//! | `sqlite:PATH` | in that file |
//! | `postgres://USER@HOST/DATABASE` | in PostgreSQL; a missing password comes from `PGPASSWORD`, then the password file |

use std::path::{Path, PathBuf};

use edge::LogChoice;
use event_log::PostgresUrl;

use super::CommandError;
use crate::args::ServeSettings;

/// The variable in which PostgreSQL's own programs look for a password.
const PASSWORD: &str = "PGPASSWORD";
/// The variable that names their file of passwords.
const PASSWORD_FILE: &str = "PGPASSFILE";

/// Where a hub with these settings keeps events.
pub(super) fn log(settings: &ServeSettings) -> Result<LogChoice, CommandError> {
    choice(&settings.log, &settings.data_dir, settings.log_max_bytes)
}

/// Where `log` says that events are kept, with the data directory and the bound of a file. Opens nothing.
pub(crate) fn choice(log: &str, data_dir: &Path, max_bytes: Option<u64>) -> Result<LogChoice, CommandError> {
    let sqlite = |path| LogChoice::Sqlite { path, max_bytes };
    match log.split_once(':') {
        None if log == "memory" => Ok(LogChoice::Memory),
        None if log == "sqlite" => Ok(sqlite(data_dir.join("fanlight.db"))),
        Some(("sqlite", path)) if !path.is_empty() => Ok(sqlite(PathBuf::from(path))),
        Some(("postgres" | "postgresql", _)) => postgres(log, data_dir, max_bytes),
        _ => {
            // Of a URL that is not known nothing is repeated: it may hold a password.
            let what = format!("there is no log {:?}", log.split_once(':').map_or(log, |(kind, _)| kind));
            let mend = String::from(
                "use --log memory, --log sqlite, --log sqlite:PATH or --log postgres://USER@HOST/DATABASE",
            );
            Err(CommandError::Usage { what, mend })
        }
    }
}

/// The log in PostgreSQL, with a password from where PostgreSQL's own programs have it.
fn postgres(log: &str, data_dir: &Path, max_bytes: Option<u64>) -> Result<LogChoice, CommandError> {
    let wrong = |what: String| CommandError::Usage {
        what,
        mend: String::from("`fanlight docs operations` says what the URL of a log in PostgreSQL looks like"),
    };
    if max_bytes.is_some() {
        return Err(wrong(String::from("log_max_bytes bounds a log on disk, not one in PostgreSQL")));
    }
    let mut url: PostgresUrl = log.parse().map_err(wrong)?;
    if !url.has_password() {
        let password = std::env::var_os(PASSWORD).and_then(|word| word.into_string().ok());
        let password = password.or_else(|| read_password(&password_file()?, &url));
        if let Some(password) = password {
            url = url.with_password(password.as_bytes());
        }
    }
    Ok(LogChoice::Postgres { url: Box::new(url), folder: data_dir.to_owned() })
}

/// The file with passwords, if one is named or is where it usually is.
fn password_file() -> Option<PathBuf> {
    let usual = || std::env::home_dir().map(|home| home.join(".pgpass"));
    std::env::var_os(PASSWORD_FILE).map(PathBuf::from).or_else(usual)
}

/// The password for `url` in `file`; one that others may read is left alone, as PostgreSQL's own programs do.
fn read_password(file: &Path, url: &PostgresUrl) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(file).ok()?.permissions().mode();
        if mode & 0o077 != 0 {
            tracing::warn!(file = %file.display(), "the file with passwords may be read by others and is not used; chmod 0600");
            return None;
        }
    }
    url.hosts().iter().find_map(|(host, port)| find_password(&text, host, *port, url))
}

/// The password in the first line of `text` that fits: `host:port:database:user:password`, with `*` for anything.
fn find_password(text: &str, host: &str, port: u16, url: &PostgresUrl) -> Option<String> {
    let wanted = [host, &port.to_string(), url.database(), url.user()];
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields(line);
        let (password, place) = fields.split_last()?;
        let fits = place.len() == wanted.len()
            && place.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted);
        fits.then(|| password.clone())
    })
}

/// The fields of a line. A backslash stands before what belongs to a field.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field) = (Vec::new(), String::new());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => field.extend(characters.next()),
            ':' if fields.len() < 4 => fields.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    fields.push(field);
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_found_by_host_port_database_and_user() {
        let url: PostgresUrl = "postgres://fan@db1:5433,db2/log".parse().unwrap();
        let text = "# db1:5433:log:fan:no\ndb9:*:*:*:no\ndb1:5432:log:fan:no\ndb1:5433:log:fan:se\\:c\\\\ret:x\n*:*:*:*:any";
        assert_eq!(find_password(text, "db1", 5433, &url).as_deref(), Some("se:c\\ret:x"));
        assert_eq!(find_password(text, "db2", 5433, &url).as_deref(), Some("any"));
        assert_eq!(find_password("db1:5433:other:fan:no\nshort:line", "db1", 5433, &url), None);
    }
}
