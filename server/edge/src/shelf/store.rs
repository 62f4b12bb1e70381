//! Where the list of models is kept: in memory, in a file of the hub, or in the log that several hubs share.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agents::Refusal;
use event_log::{EventLog, LogError, SharedSettings, StoredSetting};
use model::code::ErrorCode;
use parking_lot::Mutex;

use super::Kept;
use crate::log_choice::LogChoice;

/// The name of the file beside the log.
const FILE: &str = "forge-models.json";

/// The name of the setting in a shared log.
const SETTING: &str = "forge_models";

/// How often a change is made anew because another hub has changed the list meanwhile.
const TRIES: usize = 10;

/// The list of models, and where it is kept.
#[derive(Debug, Default)]
pub(super) struct Store {
    place: Place,
    /// What holds now, unless hubs share it. The lock is held while the file is written, so changes are written in their order.
    kept: Mutex<Kept>,
}

/// The place where the shelf is kept.
#[derive(Debug, Default)]
enum Place {
    /// In memory alone, for as long as the process runs.
    #[default]
    Memory,
    /// In a file of the hub.
    File(PathBuf),
    /// In a log that hubs share.
    Log(Arc<dyn EventLog>),
}

impl Store {
    /// Reads the list that belongs to this log. A file that cannot be parsed is logged, and the list begins
    /// without changes. Hubs that share a log begin with the list of the first that has one in its file. Waits for the disk.
    pub(super) fn new(choice: &LogChoice, log: &Arc<dyn EventLog>) -> Self {
        let Some(file) = choice.file(FILE) else { return Self::default() };
        let Some(settings) = log.settings() else {
            let kept = Mutex::new(of_file(&file).unwrap_or_default());
            return Self { place: Place::File(file), kept };
        };
        if let Some(kept) = of_file(&file)
            && let Err(error) = adopt(settings, &kept)
        {
            tracing::warn!(file = %file.display(), %error, "the list of models stays in its file");
        }
        Self { place: Place::Log(Arc::clone(log)), kept: Mutex::default() }
    }

    /// The list as it is now. Fails with `log_failed` if the log cannot be read; waits for it where hubs share it.
    pub(super) fn read(&self) -> Result<Kept, Refusal> {
        match &self.place {
            Place::Log(log) => of_log(log.as_ref()).map(|(_, kept)| kept),
            Place::Memory | Place::File(_) => Ok(self.kept.lock().clone()),
        }
    }

    /// Puts what `change` makes of the list in its place. `change` is called again if another hub has changed the list meanwhile. Fails as
    /// `change` does, and with `log_failed` if the list cannot be written: then what held before holds. Waits for the disk.
    pub(super) fn change<T>(
        &self,
        change: impl Fn(&Kept) -> Result<(Kept, T), Refusal>,
    ) -> Result<T, Refusal> {
        let Place::Log(log) = &self.place else {
            let mut kept = self.kept.lock();
            let (new, told) = change(&kept)?;
            if let Place::File(file) = &self.place {
                write(file, &new).map_err(not_written)?;
            }
            *kept = new;
            return Ok(told);
        };
        let settings = log.settings().ok_or_else(|| not_written("the log is not shared"))?;
        for _ in 0..TRIES {
            let (version, kept) = of_log(log.as_ref())?;
            let (new, told) = change(&kept)?;
            let text = serde_json::to_string(&new).map_err(not_written)?;
            if settings.set(SETTING, &text, version).map_err(not_written)? {
                return Ok(told);
            }
        }
        Err(not_written("other hubs change it all the time"))
    }
}

/// The refusal of a change that is not kept.
fn not_written(why: impl std::fmt::Display) -> Refusal {
    Refusal::new(ErrorCode::LogFailed, format!("the list of models cannot be written: {why}"))
}

/// The list in the log that hubs share, with its version.
fn of_log(log: &dyn EventLog) -> Result<(u64, Kept), Refusal> {
    let unread =
        |why: String| Refusal::new(ErrorCode::LogFailed, format!("the list of models cannot be read: {why}"));
    let settings = log.settings().ok_or_else(|| unread(String::from("the log is not shared")))?;
    let StoredSetting { version, text } =
        settings.setting(SETTING).map_err(|error| unread(error.to_string()))?;
    if text.is_empty() {
        return Ok((version, Kept::default()));
    }
    let kept = serde_json::from_str(&text).map_err(|error| unread(error.to_string()))?;
    Ok((version, kept))
}

/// Puts a list into the log that has none.
fn adopt(settings: &dyn SharedSettings, kept: &Kept) -> Result<(), LogError> {
    let text = serde_json::to_string(kept).unwrap_or_default();
    settings.set(SETTING, &text, 0).map(|_was_first| ())
}

/// The list in a file; nothing if there is none or it cannot be parsed.
fn of_file(file: &Path) -> Option<Kept> {
    let bytes = fs::read(file).ok()?;
    match serde_json::from_slice(&bytes) {
        Ok(kept) => Some(kept),
        Err(error) => {
            tracing::warn!(file = %file.display(), %error, "the list of models is not understood and begins anew");
            None
        }
    }
}

/// Writes a list as a whole.
fn write(file: &Path, kept: &Kept) -> io::Result<()> {
    let beside = file.with_extension("json.new");
    fs::write(&beside, serde_json::to_vec_pretty(kept)?)?;
    fs::rename(&beside, file)
}
