//! `fanlight fold`: decodes stdin and writes the view as JSON. It uses no hub and no clock, so that the same
//! bytes always give the same output: times are those of the recording, if it has any.

use std::io::{Read, Write};

use dialects::recording::RecordingReader;
use model::View;
use model::summary::summary;

use super::input::each_piece;
use super::native::decoder;
use super::{CommandError, ResultOutput};
use crate::args::{FoldArgs, StreamDialect};

/// Folds `input` and writes the view. Nonsense in the stream is no failure: it is in the view as anomalies.
pub(crate) fn run(
    args: &FoldArgs,
    input: impl Read,
    mut output: ResultOutput<impl Write>,
) -> Result<(), CommandError> {
    let view = folded(&args.dialect, args.text_calls, input)?;
    let json =
        if args.summary { serde_json::to_string(&summary(&view)) } else { serde_json::to_string(&view) };
    let json = json.map_err(|error| {
        CommandError::new(format!("cannot write the view as JSON: {error}"), "this is a fault of fanlight")
    })?;
    output.line(&json)
}

/// The view of the stream in `input`.
fn folded(dialect: &StreamDialect, text_calls: bool, input: impl Read) -> Result<View, CommandError> {
    let mut recording = RecordingReader::new(decoder(dialect, text_calls)?);
    each_piece(input, |bytes| {
        recording.feed(bytes, &mut |_change| {});
        Ok(())
    })?;
    recording.end(&mut |_change| {});
    Ok(recording.into_view())
}

#[cfg(test)]
mod tests;
