//! `fanlight token`: makes, lists and revokes tokens in the data directory of a hub. A running hub reads them
//! again within a second.

use access::{NewToken, Spending, TokenRecord};
use compact_str::CompactString;
use edge::access::{StoreError, TokenStore, spending};
use event_log::clock;

use super::{CommandError, ResultOutput};
use crate::args::{TokenArgs, TokenCommand};

/// Runs the subcommand. A new token is on stdout and nowhere else: only its hash is kept.
pub(crate) fn run(args: TokenArgs, mut output: ResultOutput) -> Result<(), CommandError> {
    match args.command {
        TokenCommand::Create(args) => {
            let new = NewToken {
                name: &args.name,
                grants: args.grants,
                upstreams: args.upstreams.into_iter().map(CompactString::from).collect(),
                budget: args.budget,
                role: args.role.map(CompactString::from),
                lives_ms: args.expires.map(|span| u64::try_from(span.0.as_millis()).unwrap_or(u64::MAX)),
            };
            let store = TokenStore::in_folder(&args.folder.data_dir);
            let secret = store.create(new, clock::now_ms()).map_err(|error| failed(&error))?;
            output.line(secret.reveal())
        }
        TokenCommand::List(folder) => {
            let tokens = TokenStore::in_folder(&folder.data_dir).load().map_err(|error| failed(&error))?;
            let spending = spending(&folder.data_dir).map_err(|error| failed(&error))?;
            let now = clock::now_ms();
            tokens.all().try_for_each(|record| output.line(&told(record, &spending, now)))
        }
        TokenCommand::Revoke(args) => {
            let store = TokenStore::in_folder(&args.folder.data_dir);
            store.change(|tokens| tokens.revoke(&args.name)).map(drop).map_err(|error| failed(&error))
        }
    }
}

/// A line about a token.
fn told(record: &TokenRecord, spending: &Spending, now: u64) -> String {
    let grants = record.grants.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let ends = match record.expires {
        None => String::from("until it is revoked"),
        Some(at) if at <= now => String::from("expired"),
        Some(at) => format!("for {} h", (at - now).div_ceil(3_600_000)),
    };
    let role = record.role.as_ref().map(|role| format!("\trole {role}")).unwrap_or_default();
    let upstreams = match record.upstreams.join(" ") {
        none if none.is_empty() => none,
        upstreams => format!("\tcalls {upstreams}"),
    };
    let budget = record.budget.as_ref().map(|budget| {
        let spent = spending.of(&record.hash, budget, now);
        let estimated = if spent.estimated > 0 { ", partly estimated" } else { "" };
        format!("\tspent {} of {budget} in {} calls{estimated}", spent.cost.amount(), spent.calls)
    });
    format!("{}\t{grants}\t{ends}{role}{upstreams}{}", record.name, budget.unwrap_or_default())
}

/// The failure of the file of tokens, with its remedy.
fn failed(error: &StoreError) -> CommandError {
    let mend = match error {
        StoreError::Io { .. } => {
            "look at the rights of that file and of its directory; --data-dir names another one"
        }
        _ => "`fanlight token list` shows those that there are",
    };
    CommandError::new(error.to_string(), mend)
}
