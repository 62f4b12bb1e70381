//! The settings of access control: the table `[access]`, and the arguments of `fanlight token`.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use access::{Budget, Grant, MinuteQuota, PerAct, Quotas, RatedAct};
use serde::{Deserialize, Serialize, Serializer};

use super::amount::LengthOfTime;
use super::identities::{JwtTable, OidcTable, RuleTable};

/// The table `[access]`. Its presence turns access control on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AccessSettings {
    /// The way in which callers are identified.
    #[serde(default)]
    pub(crate) mode: Mode,
    /// The addresses of proxies in front of the hub.
    #[serde(default)]
    pub(crate) proxies: Vec<IpAddr>,
    /// What roles hide, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) roles: BTreeMap<String, RoleSettings>,
    /// Who else signs tokens that the hub takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) jwt: Vec<JwtTable>,
    /// Where people log in besides with a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) oidc: Option<OidcTable>,
    /// What users get whom a trusted proxy names; the first rule that fits decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) rules: Vec<RuleTable>,
    /// Whether the audit log notes who views which conversation.
    #[serde(default)]
    pub(crate) audit_views: bool,
    /// How much one address and one principal may do.
    #[serde(default)]
    pub(crate) limits: LimitSettings,
}

/// The table `[access.limits]`; what it leaves out is as usual.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LimitSettings {
    /// Most open connections of one address.
    pub(crate) connections_per_address: Option<NonZeroU32>,
    /// Logins of one address that may fail in a minute.
    pub(crate) failed_logins_per_minute: Option<NonZeroU32>,
    /// Logins at the provider of identities that one address may begin in a minute.
    pub(crate) provider_logins_per_minute: Option<NonZeroU32>,
    /// Most requests of one principal at the same time.
    pub(crate) requests_per_principal: Option<NonZeroU32>,
    /// Most open sockets of one principal.
    pub(crate) sockets_per_principal: Option<NonZeroU32>,
    /// Frames and requests with events of one principal in a second.
    pub(crate) publishes_per_second: Option<NonZeroU32>,
    /// MiB that the hub receives from one principal in a minute.
    pub(crate) received_mib_per_minute: Option<NonZeroU32>,
    /// MiB that the hub sends one principal in a minute.
    pub(crate) sent_mib_per_minute: Option<NonZeroU32>,
    /// MiB that the hub receives from one address in a minute.
    pub(crate) received_mib_per_minute_per_address: Option<NonZeroU32>,
    /// MiB that the hub sends one address in a minute.
    pub(crate) sent_mib_per_minute_per_address: Option<NonZeroU32>,
    /// Most subscriptions of one principal at once.
    pub(crate) subscriptions_per_principal: Option<NonZeroU32>,
    /// Most subscriptions of one address at once.
    pub(crate) subscriptions_per_address: Option<NonZeroU32>,
    /// Seconds in which a connection agrees on TLS, and in which it brings the head of a request.
    pub(crate) head_s: Option<NonZeroU32>,
    /// Seconds in which the body of somebody who is not known yet has come.
    pub(crate) stranger_body_s: Option<NonZeroU32>,
    /// Frames, and requests with events, of one principal in a minute.
    pub(crate) frames_per_minute: Option<NonZeroU32>,
    /// Frames, and requests with events, of one address in a minute.
    pub(crate) frames_per_minute_per_address: Option<NonZeroU32>,
    /// Conversations that one principal begins in a minute.
    pub(crate) conversations_per_minute: Option<NonZeroU32>,
    /// Conversations that one address begins in a minute.
    pub(crate) conversations_per_minute_per_address: Option<NonZeroU32>,
    /// Searches of one principal in a minute.
    pub(crate) searches_per_minute: Option<NonZeroU32>,
    /// Searches of one address in a minute.
    pub(crate) searches_per_minute_per_address: Option<NonZeroU32>,
    /// Exports of one principal in a minute.
    pub(crate) exports_per_minute: Option<NonZeroU32>,
    /// Exports of one address in a minute.
    pub(crate) exports_per_minute_per_address: Option<NonZeroU32>,
    /// Imports of one principal in a minute.
    pub(crate) imports_per_minute: Option<NonZeroU32>,
    /// Imports of one address in a minute.
    pub(crate) imports_per_minute_per_address: Option<NonZeroU32>,
}

impl LimitSettings {
    /// The bounds that count: those that are set, and the usual ones for the rest.
    pub(crate) fn quotas(self) -> Quotas {
        let usual = Quotas::default();
        let of = |set: Option<NonZeroU32>, usual: u32| set.map_or(usual, NonZeroU32::get);
        let received = of(self.received_mib_per_minute, usual.received_mib_per_minute);
        let sent = of(self.sent_mib_per_minute, usual.sent_mib_per_minute);
        let sockets = of(self.sockets_per_principal, usual.sockets_per_principal);
        // Each of its sockets may follow something.
        let subscriptions =
            of(self.subscriptions_per_principal, usual.subscriptions_per_principal.max(sockets));
        let publishes = of(self.publishes_per_second, usual.publishes_per_second);
        Quotas {
            connections_per_address: of(self.connections_per_address, usual.connections_per_address),
            failed_logins_per_minute: of(self.failed_logins_per_minute, usual.failed_logins_per_minute),
            provider_logins_per_minute: of(self.provider_logins_per_minute, usual.provider_logins_per_minute),
            requests_per_principal: of(self.requests_per_principal, usual.requests_per_principal),
            sockets_per_principal: sockets,
            publishes_per_second: publishes,
            received_mib_per_minute: received,
            sent_mib_per_minute: sent,
            // Unless said, an address has no less than a principal may have that is there alone.
            received_mib_per_minute_per_address: of(
                self.received_mib_per_minute_per_address,
                usual.received_mib_per_minute_per_address.max(received),
            ),
            sent_mib_per_minute_per_address: of(
                self.sent_mib_per_minute_per_address,
                usual.sent_mib_per_minute_per_address.max(sent),
            ),
            subscriptions_per_principal: subscriptions,
            subscriptions_per_address: of(
                self.subscriptions_per_address,
                usual.subscriptions_per_address.max(subscriptions),
            ),
            head_s: of(self.head_s, usual.head_s),
            stranger_body_s: of(self.stranger_body_s, usual.stranger_body_s),
            per_minute: PerAct::each(|act| self.per_minute(act, publishes)),
        }
    }

    /// How often `act` may be done in a minute. Unless said, an address has no less than a principal, and frames are no fewer than twice what
    /// may be published.
    fn per_minute(self, act: RatedAct, publishes_per_second: u32) -> MinuteQuota {
        let usual = act.usual();
        let (principal, address) = match act {
            RatedAct::Frame => (self.frames_per_minute, self.frames_per_minute_per_address),
            RatedAct::Conversation => {
                (self.conversations_per_minute, self.conversations_per_minute_per_address)
            }
            RatedAct::Search => (self.searches_per_minute, self.searches_per_minute_per_address),
            RatedAct::Export => (self.exports_per_minute, self.exports_per_minute_per_address),
            RatedAct::Import => (self.imports_per_minute, self.imports_per_minute_per_address),
        };
        let least = if act == RatedAct::Frame { publishes_per_second.saturating_mul(120) } else { 0 };
        let principal = principal.map_or(usual.principal.max(least), NonZeroU32::get);
        let address = address.map_or(usual.address.max(principal), NonZeroU32::get);
        MinuteQuota { principal, address }
    }
}

/// The table `[access.roles.NAME]`: what is hidden from whoever has that role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RoleSettings {
    /// What is hidden everywhere: thinking, arguments, results, costs, users.
    #[serde(default)]
    pub(crate) hide: Vec<String>,
    /// Tools whose arguments and results are hidden, `*` standing for any characters.
    #[serde(default)]
    pub(crate) hide_tools: Vec<String>,
}

/// The ways in which callers are identified.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// By tokens that the hub has made.
    #[default]
    Tokens,
    /// By tokens of the hub, which makes the first one where nobody could come in.
    #[serde(rename = "first-run")]
    FirstRun,
}

/// Serializes the flag as the table for which it stands.
pub(super) fn access_table<S: Serializer>(mode: &impl Serialize, to: S) -> Result<S::Ok, S::Error> {
    serde_json::json!({ "mode": mode }).serialize(to)
}

/// See [`super::CliCommand::Audit`].
#[derive(Debug, clap::Args)]
pub(crate) struct AuditArgs {
    /// What to do about the audit log
    #[command(subcommand)]
    pub(crate) command: AuditCommand,
}

/// What is done about the audit log.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum AuditCommand {
    /// Look whether anything in the log was changed, put in or taken out since it was written
    Verify(FolderArgs),
}

/// See [`super::CliCommand::Token`].
#[derive(Debug, clap::Args)]
pub(crate) struct TokenArgs {
    /// What to do about tokens
    #[command(subcommand)]
    pub(crate) command: TokenCommand,
}

/// What is done about tokens.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token, and print it once
    Create(CreateArgs),
    /// List the tokens, without what lets anybody in
    List(FolderArgs),
    /// Take a token back; whoever uses it is cut off within seconds
    Revoke(RevokeArgs),
}

/// The folder in which tokens are kept.
#[derive(Debug, clap::Args)]
pub(crate) struct FolderArgs {
    /// The directory of what the hub keeps
    #[arg(long, value_name = "DIR", env = "FANLIGHT_DATA_DIR", default_value = "fanlight-data")]
    pub(crate) data_dir: PathBuf,
}

/// See [`TokenCommand::Create`].
#[derive(Debug, clap::Args)]
pub(crate) struct CreateArgs {
    /// A name of its own, by which it is listed and revoked
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
    /// What it may do: view, publish, control, import, export or admin, of conversations whose names match, * being any characters;
    /// may be repeated: view:*, view,publish:team-a-*
    #[arg(long = "grant", value_name = "RIGHTS:PATTERN", required = true)]
    pub(crate) grants: Vec<Grant>,
    /// The role that says what is hidden from it, as [access.roles.NAME] of the hub's fanlight.toml has it
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Option<String>,
    /// An upstream of the proxy that it may call, * being any characters, with the hub's key where the hub has one; may be
    /// repeated [default: all of them, with keys of the caller's own]
    #[arg(long = "upstream", value_name = "NAME")]
    pub(crate) upstreams: Vec<String>,
    /// How much its calls with the hub's keys may cost: 5.00usd/day, 0.5usd/hour, 100eur/month, or 20usd for all time
    #[arg(long, value_name = "MONEY/PERIOD", requires = "upstreams")]
    pub(crate) budget: Option<Budget>,
    /// How long it is good for: 12h, 7d [default: until it is revoked]
    #[arg(long, value_name = "TIME")]
    pub(crate) expires: Option<LengthOfTime>,
    #[command(flatten)]
    pub(crate) folder: FolderArgs,
}

/// See [`TokenCommand::Revoke`].
#[derive(Debug, clap::Args)]
pub(crate) struct RevokeArgs {
    /// The name of the token
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) folder: FolderArgs,
}

#[cfg(test)]
mod tests {
    //! Tests of the limits that count.

    use super::*;

    #[test]
    fn an_address_may_have_no_less_than_one_principal_unless_the_settings_say_so() {
        let quotas = |text: &str| {
            let quotas = toml::from_str::<LimitSettings>(text).expect("settings").quotas();
            [quotas.received_mib_per_minute_per_address, quotas.sent_mib_per_minute_per_address]
        };
        assert_eq!(quotas(""), [16_384, 32_768]);
        assert_eq!(quotas("received_mib_per_minute = 100\nsent_mib_per_minute = 100"), [16_384, 32_768]);
        assert_eq!(quotas("received_mib_per_minute = 20000\nsent_mib_per_minute = 40000"), [20_000, 40_000]);
        let set = "received_mib_per_minute_per_address = 5\nsent_mib_per_minute_per_address = 6\n";
        assert_eq!(quotas(&format!("{set}received_mib_per_minute = 20000")), [5, 6]);
    }
}
