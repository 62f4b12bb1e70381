//! `fanlight audit verify`: looks whether the lines of a hub's audit log follow one another. Needs no hub.

use edge::access::verify;

use super::{CommandError, ResultOutput};
use crate::args::{AuditArgs, AuditCommand};

/// Does what was asked for.
pub(crate) fn run(args: &AuditArgs, mut output: ResultOutput) -> Result<(), CommandError> {
    let AuditCommand::Verify(folder) = &args.command;
    let report = verify(&folder.data_dir).map_err(|error| {
        CommandError::new(error.to_string(), "--data-dir names the directory of what the hub keeps")
    })?;
    if let Some((file, line, why)) = report.fault {
        return Err(CommandError::new(
            format!("{file}:{line}: the audit log was changed: {why}"),
            "what stands before that line is as it was written; compare the rest with a copy from elsewhere",
        ));
    }
    output.line(&format!(
        "{} entries, up to {} with the hash {}",
        report.entries, report.head.n, report.head.hash
    ))
}
