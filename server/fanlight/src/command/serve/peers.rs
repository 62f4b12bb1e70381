//! Several hubs on one log: how others reach this one, and the secret that they have in common.

use std::path::Path;

use edge::{LogChoice, PeersConfig};

use crate::args::ServeSettings;
use crate::command::CommandError;

/// How this hub shares its log; nothing if it is alone there. Fails if only one of both is given, if the log
/// is not in PostgreSQL, or if the secret does not fit.
pub(super) fn peers(settings: &ServeSettings, log: &LogChoice) -> Result<Option<PeersConfig>, CommandError> {
    let wrong = |what: String| CommandError::Usage {
        what,
        mend: String::from(
            "give both --hub-address http://HOST:PORT and --hub-secret-file FILE, with --log postgres://…; `fanlight docs several-hubs` says more",
        ),
    };
    let (address, file) = match (&settings.hub_address, &settings.hub_secret_file) {
        (None, None) => return Ok(None),
        (Some(address), Some(file)) => (address, file),
        (Some(_), None) => return Err(wrong(String::from("hub_address without hub_secret_file"))),
        (None, Some(_)) => return Err(wrong(String::from("hub_secret_file without hub_address"))),
    };
    if !matches!(log, LogChoice::Postgres { .. }) {
        return Err(wrong(String::from("only a log in PostgreSQL can be shared by several hubs")));
    }
    let secret = read(file).map_err(wrong)?;
    PeersConfig::new(address, &secret).map(Some).map_err(|error| wrong(error.to_string()))
}

/// The secret in `file`, which others may not read. Fails if others may read it.
fn read(file: &Path) -> Result<String, String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let about = std::fs::metadata(file);
        let about = about.map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
        if about.permissions().mode() & 0o077 != 0 {
            return Err(format!("{} may be read by others; chmod 0600", file.display()));
        }
    }
    std::fs::read_to_string(file).map_err(|error| format!("{} cannot be read: {error}", file.display()))
}
