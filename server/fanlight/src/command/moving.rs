//! `fanlight move`: copies all conversations from one log to another and compares each.

use std::sync::Arc;

use edge::{LogChoice, open_log};
use event_log::{EventLog, ListQuery, LogError};

use super::serve::log::choice;
use super::{CommandError, ResultOutput, runtime};
use crate::args::MoveArgs;

/// Rows of the list that are read at once.
const PAGE: usize = 500;

/// What was copied so far.
#[derive(Default)]
struct Sum {
    /// Conversations that are in both logs now.
    conversations: u64,
    /// Their events that were copied one by one.
    events: u64,
    /// Events before those, which the log had no more; their states were copied.
    left_out: u64,
    /// Conversations that were not copied.
    failed: u64,
}

/// Copies all conversations, and says how many. What cannot be copied is named, and the rest is copied all the same.
pub(crate) fn run(args: &MoveArgs, mut output: ResultOutput) -> Result<(), CommandError> {
    let choose = |log: &str| choice(log, &args.data_dir, None);
    let (from, to) = (choose(&args.from)?, choose(&args.to)?);
    if from == to || from == LogChoice::Memory || to == LogChoice::Memory {
        return Err(CommandError::Usage {
            what: String::from("--from and --to must be two logs that last"),
            mend: String::from("`fanlight docs operations` says how a log is moved"),
        });
    }
    let (from, to) = (open(&from, "--from")?, open(&to, "--to")?);
    let sum = runtime::many_threads()?.block_on(copy_all(from.as_ref(), to.as_ref(), &mut output));
    for (log, name) in [(&from, "--from"), (&to, "--to")] {
        log.close()
            .map_err(|error| CommandError::new(format!("{name}: {error}"), "fix the log and try again"))?;
    }
    let Sum { conversations, events, left_out, failed } = sum?;
    let older = if left_out == 0 {
        String::new()
    } else {
        format!("; {left_out} events before them are in their states alone")
    };
    output.line(&format!(
        "{conversations} conversations with {events} events are in both logs, equal by hash{older}"
    ))?;
    if failed > 0 {
        let what = format!("{failed} conversations were not copied, see above");
        return Err(CommandError::new(
            what,
            "fix what is named and run it again: what is there already is refused and stays",
        ));
    }
    Ok(())
}

/// Opens a log. Fails if a hub uses it.
fn open(choice: &LogChoice, name: &str) -> Result<Arc<dyn EventLog>, CommandError> {
    open_log(choice).map_err(|error| {
        CommandError::new(
            format!("{name} was not opened: {error}"),
            "stop the hub that uses it, or name another log",
        )
    })
}

/// Copies the conversations of `from` page by page. A conversation that fails is named on stdout. Fails if
/// the list cannot be read.
async fn copy_all(
    from: &dyn EventLog,
    to: &dyn EventLog,
    output: &mut ResultOutput,
) -> Result<Sum, CommandError> {
    let (mut sum, mut query) = (Sum::default(), ListQuery { limit: PAGE, ..ListQuery::default() });
    let unreadable = |error: LogError| {
        CommandError::new(format!("--from: {error}"), "see `fanlight docs operations`, repair")
    };
    loop {
        let rows = event_log::blocking(|| from.list(&query)).map_err(unreadable)?;
        let Some(last) = rows.last() else { return Ok(sum) };
        query.after = Some((last.at, last.conversation.clone()));
        for row in rows {
            let name = row.conversation.clone();
            match hub::copy(from, to, row, sum.conversations + sum.failed).await {
                Ok(Some(copied)) => {
                    sum.conversations += 1;
                    sum.events += copied.events;
                    sum.left_out += copied.left_out;
                }
                Ok(None) => {}
                Err(error) => {
                    sum.failed += 1;
                    output.line(&format!("{name}: {error}"))?;
                }
            }
        }
    }
}
