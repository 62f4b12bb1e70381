//! Where the database is: a URL as PostgreSQL's own programs take it, without what they have a file or a variable for.
//!
//! `postgres://user@one:5432,two:5432/name?sslmode=verify-full&target_session_attrs=read-write`
//!
//! The password is in no text that this type gives: neither in `Debug` nor in `Display`.
//!
//! | option | here |
//! |---|---|
//! | `sslmode` | `disable`, or `require`, `verify-ca`, `verify-full`, which all verify certificate and name |
//! | `sslrootcert` | a file of certificates in PEM that are trusted instead of the system's |
//! | `target_session_attrs` | `any` becomes `read-write` |
//! | `connect_timeout` | 5 s where it is not given |
//!
//! Without `sslmode` and `sslrootcert` a connection to this machine is plain; any other is encrypted. All
//! further options are those of `tokio_postgres`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

/// How long a connection may take to be made, where the URL does not say.
const CONNECT: Duration = Duration::from_secs(5);

/// How long sent bytes may stay without an answer of the network before a connection counts as broken.
const SILENT: Duration = Duration::from_secs(10);

/// Where a database is and how it is reached.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    /// Hosts, user, database and all options but those of TLS; holds the password.
    pub(super) config: Config,
    /// Decided when the URL is read, from `sslmode` and the hosts.
    pub(super) is_encrypted: Encryption,
    /// A file with certificates that are trusted, and no others.
    pub(super) roots: Option<PathBuf>,
}

/// Whether connections speak TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encryption {
    /// Connections speak TLS, and the certificate must fit.
    Verified,
    /// Connections do not speak TLS.
    Off,
}

impl PostgresUrl {
    /// Sets the password, unless the URL has one.
    #[must_use]
    pub fn with_password(mut self, password: &[u8]) -> Self {
        if self.config.get_password().is_none() {
            self.config.password(password);
        }
        self
    }

    /// Whether a password is known.
    pub fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }

    /// The hosts with their ports, as they are looked up in a password file.
    pub fn hosts(&self) -> Vec<(String, u16)> {
        let port = |place: usize| {
            let ports = self.config.get_ports();
            ports.get(place).or_else(|| ports.first()).copied().unwrap_or(5432)
        };
        let hosts = self.config.get_hosts().iter().enumerate();
        hosts.map(|(place, host)| (name(host), port(place))).collect()
    }

    /// The name of the database. As in PostgreSQL's own programs, that of the user where the URL names none.
    pub fn database(&self) -> &str {
        self.config.get_dbname().or(self.config.get_user()).unwrap_or("postgres")
    }

    /// The user that the connections are made as.
    pub fn user(&self) -> &str {
        self.config.get_user().unwrap_or("postgres")
    }
}

/// A host as it stands in the URL: its name or address, or the folder of its socket.
fn name(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(path) => path.display().to_string(),
    }
}

/// Whether all hosts are this machine.
fn is_near(config: &Config) -> bool {
    config.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => matches!(name.as_str(), "localhost" | "127.0.0.1" | "::1"),
        #[cfg(unix)]
        Host::Unix(_) => true,
    })
}

impl FromStr for PostgresUrl {
    type Err = String;

    /// Reads a URL. Errors name the option and never repeat the URL, which may hold a password.
    fn from_str(text: &str) -> Result<Self, String> {
        let (place, options) = text.split_once('?').unwrap_or((text, ""));
        let mut ours = (None, None);
        let mut rest = Vec::new();
        for option in options.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("sslmode", value)) => ours.0 = Some(value),
                Some(("sslrootcert", value)) => ours.1 = Some(PathBuf::from(value)),
                _ => rest.push(option),
            }
        }
        let (mode, roots) = ours;
        let plain = if rest.is_empty() { place.to_owned() } else { format!("{place}?{}", rest.join("&")) };
        let mut config = Config::from_str(&plain).map_err(|error| reason(&error))?;
        if config.get_hosts().is_empty() {
            return Err(String::from("the URL names no host"));
        }
        let is_encrypted = match mode {
            Some("disable") => Encryption::Off,
            Some("require" | "verify-ca" | "verify-full") => Encryption::Verified,
            None if is_near(&config) && roots.is_none() => Encryption::Off,
            None => Encryption::Verified,
            Some(other) => {
                let known = "disable, require, verify-ca and verify-full; the last three verify the certificate and the name";
                return Err(format!("sslmode={other:?} is not known here: there are {known}"));
            }
        };
        config.ssl_mode(if is_encrypted == Encryption::Verified {
            SslMode::Require
        } else {
            SslMode::Disable
        });
        if config.get_target_session_attrs() == TargetSessionAttrs::Any {
            // After a failover the first host may be one that cannot be written.
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        config.tcp_user_timeout(SILENT).keepalives_idle(SILENT).application_name("fanlight");
        Ok(Self { config, is_encrypted, roots })
    }
}

/// What is wrong with a URL, without the URL: the source of the error names it.
fn reason(error: &tokio_postgres::Error) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string);
    format!("the URL of the database does not fit: {}", source.unwrap_or_else(|| error.to_string()))
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<_> = self.hosts().into_iter().map(|(host, port)| format!("{host}:{port}")).collect();
        write!(f, "postgres://{}@{}/{}", self.user(), hosts.join(","), self.database())
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_in_no_text_of_a_url() {
        let text =
            "postgres://fan:hunter2@db1:5433,db2:5434/log?sslmode=verify-full&target_session_attrs=any";
        let url: PostgresUrl = text.parse().unwrap();
        assert_eq!(url.to_string(), "postgres://fan@db1:5433,db2:5434/log");
        assert!(!format!("{url:?}").contains("hunter2") && url.has_password());
        assert_eq!(url.config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
        for wrong in [
            "postgres://fan:hunter2@db1/log?sslmode=prefer",
            "postgres://fan:hunter2@db1/log?hunter=2",
            "postgres://:hunter2@:x/",
        ] {
            let refused = wrong.parse::<PostgresUrl>().unwrap_err();
            assert!(!refused.contains("hunter2"), "{refused}");
        }
    }

    #[test]
    fn what_leaves_this_machine_is_encrypted_unless_it_is_said_otherwise() {
        let encryption = |text: &str| text.parse::<PostgresUrl>().unwrap().is_encrypted;
        assert_eq!(encryption("postgres://fan@127.0.0.1/log"), Encryption::Off);
        assert_eq!(encryption("postgres://fan@127.0.0.1,db2/log"), Encryption::Verified);
        assert_eq!(encryption("postgres://fan@db2/log"), Encryption::Verified);
        assert_eq!(encryption("postgres://fan@db2/log?sslmode=disable"), Encryption::Off);
        assert_eq!(encryption("postgres://fan@localhost/log?sslmode=require"), Encryption::Verified);
    }

    #[test]
    fn a_password_from_elsewhere_does_not_replace_that_of_the_url() {
        let url: PostgresUrl = "postgres://fan@db1/log".parse().unwrap();
        assert!(url.with_password(b"x").has_password());
        let url: PostgresUrl = "postgres://fan:own@db1/log".parse().unwrap();
        assert_eq!(url.with_password(b"x").config.get_password(), Some(b"own".as_slice()));
    }
}
