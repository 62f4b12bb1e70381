//! `fanlight import`: creates a conversation from a file that `export --format native` wrote. The file is
//! sent as it is read, so its size does not matter here; the hub imports all of it or nothing.

use std::io;

use bytes::Bytes;
use client::{HttpPublisher, PublishError};
use futures_util::stream;
use model::ConversationId;
use serde::Deserialize;
use tokio::fs::File;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};

use super::{CommandError, ResultOutput, runtime, terminal};
use crate::args::ImportArgs;

/// The longest first line, in bytes.
const HEADER_BYTES_MAX: u64 = 64 << 10;

/// How many bytes are sent at a time.
const PIECE_BYTES: usize = 64 << 10;

/// The first line of the file, as far as it is needed.
#[derive(Deserialize)]
struct ImportHeader {
    /// The name that the conversation had.
    conversation: ConversationId,
}

/// Sends the file and prints the position of the conversation. Fails if the file is no export, if the hub
/// refuses it, and if the name is taken.
pub(crate) fn run(args: &ImportArgs, mut output: ResultOutput) -> Result<(), CommandError> {
    let address = args.hub.address()?;
    let (conversation, taken) = runtime::one_thread()?.block_on(async {
        let input: Box<dyn AsyncRead + Send + Unpin> = match &args.file {
            Some(path) => Box::new(File::open(path).await.map_err(|error| CommandError::Usage {
                what: format!("cannot read {}: {error}", path.display()),
                mend: String::from("name a file that is there"),
            })?),
            None => Box::new(tokio::io::stdin()),
        };
        let mut input = BufReader::with_capacity(PIECE_BYTES, input);
        let mut first = Vec::new();
        let read = (&mut input).take(HEADER_BYTES_MAX).read_until(b'\n', &mut first).await;
        read.map_err(|error| {
            CommandError::new(format!("cannot read the file: {error}"), "look at where it comes from")
        })?;
        let conversation = match &args.conversation {
            Some(name) => name.clone(),
            None => named(&first)?,
        };
        let body = stream::try_unfold((Some(Bytes::from(first)), input), |(first, mut input)| async {
            let piece = if let Some(first) = first {
                first
            } else {
                let mut piece = vec![0; PIECE_BYTES];
                let read = input.read(&mut piece).await?;
                piece.truncate(read);
                Bytes::from(piece)
            };
            Ok::<_, io::Error>((!piece.is_empty()).then_some((piece, (None, input))))
        });
        let taken = HttpPublisher::new(address).import(&conversation, body).await;
        Ok::<_, CommandError>((conversation, taken.map_err(|error| failure(&error))?))
    })?;
    let done = format!("imported {} events; {conversation} stands at {}", taken.events, taken.position);
    output.line(&terminal::line(&done))
}

/// The name of the conversation in the first line.
fn named(first: &[u8]) -> Result<ConversationId, CommandError> {
    let header: Result<ImportHeader, _> = serde_json::from_slice(first);
    header.map(|header| header.conversation).map_err(|error| CommandError::Usage {
        what: format!("the file does not begin as an export does: {error}"),
        mend: String::from("write it with `fanlight export CONVERSATION --format native`"),
    })
}

/// The error for a failed import.
fn failure(error: &PublishError) -> CommandError {
    match error {
        PublishError::Refused { message, .. } if message.starts_with("conversation_exists") => {
            CommandError::new(error.to_string(), "give it another name with --conversation")
        }
        error => CommandError::publishing(error),
    }
}
