//! The arguments of `fanlight move`.

use std::path::PathBuf;

/// See [`super::CliCommand::Move`].
#[derive(Debug, clap::Args)]
pub(crate) struct MoveArgs {
    /// The log to copy from, as `fanlight serve --log` takes it; no hub may use it meanwhile
    #[arg(long, value_name = "LOG")]
    pub(crate) from: String,
    /// The log to copy to; conversations that it has already are kept as they are
    #[arg(long, value_name = "LOG")]
    pub(crate) to: String,
    /// The directory of a log that is just called sqlite
    #[arg(long, value_name = "DIR", env = "FANLIGHT_DATA_DIR", default_value = "fanlight-data")]
    pub(crate) data_dir: PathBuf,
}
