//! `fanlight export`: writes a conversation to stdout as a file. The file comes from `GET` of the hub's
//! export; a terminal gets it without control characters.

use std::io::IsTerminal as _;

use bytes::Bytes;
use client::{PublishError, download};

use super::{CommandError, ResultOutput, runtime, terminal};
use crate::args::ExportArgs;

/// Downloads the file and writes it as it arrives. Fails where the hub refuses, or the download breaks off:
/// what was written until then is not all of it.
pub(crate) fn run(args: &ExportArgs, mut output: ResultOutput) -> Result<(), CommandError> {
    let address = args.hub.address()?;
    let mut url = address.export(&args.conversation, &args.format);
    for (name, value) in [
        ("steps", &args.steps),
        ("form", &args.form),
        ("unfinished", &args.unfinished),
        ("message", &args.message),
        ("run", &args.run),
    ] {
        if let Some(value) = value {
            url.query_pairs_mut().append_pair(name, value);
        }
    }
    // Files and other programs get the exact bytes.
    let mut shown = std::io::stdout().is_terminal().then(terminal::TerminalSanitizer::default);
    let write = |piece: Bytes| match &mut shown {
        Some(shown) => output.bytes(shown.next(&piece).as_bytes()),
        None => output.bytes(&piece),
    };
    runtime::one_thread()?.block_on(download(&address, url, write))
}

impl From<PublishError> for CommandError {
    fn from(error: PublishError) -> Self {
        match error {
            PublishError::Broken { .. } => {
                Self::new(error.to_string(), "what was written so far is not all of it; try again")
            }
            error => Self::publishing(&error),
        }
    }
}
