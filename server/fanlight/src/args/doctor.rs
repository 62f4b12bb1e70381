//! The arguments of `fanlight doctor`.

use super::client::HubArgs;

/// See [`super::CliCommand::Doctor`].
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Look also at an upstream of the proxy, through the hub: `openai`, `anthropic`, or a name from its settings
    #[arg(long, value_name = "NAME")]
    pub(crate) upstream: Option<String>,
    /// The base URL that the agent has for that upstream [default: the hub's `/proxy/NAME/v1`]
    #[arg(long, value_name = "URL", requires = "upstream")]
    pub(crate) base_url: Option<String>,
    /// Ask that model for one short answer, to see whether it streams; the provider counts it
    #[arg(long, value_name = "MODEL", requires = "upstream")]
    pub(crate) model: Option<String>,
    /// One JSON object for each check
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}
