//! `fanlight fold`: stdin in a dialect → the view as JSON. Without a hub and without a clock, so that the same bytes
//! always give the same output: times are those of the recording, where it has any.

use std::io::{Read, Write};

use shared::dialect::Decoded;
use shared::event::Class;
use shared::fold::{complete, fold};
use shared::{View, summary::summary};

use super::native::decoder;
use super::{Failure, Output};
use crate::args::{FoldArgs, Spoken};

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;

/// Folds `input` and writes the view.
pub(crate) fn run(args: &FoldArgs, input: impl Read, mut output: Output<impl Write>) -> Result<(), Failure> {
    let view = folded(&args.dialect, args.text_calls, input)?;
    let json =
        if args.summary { serde_json::to_string(&summary(&view)) } else { serde_json::to_string(&view) };
    let json = json.map_err(|error| {
        Failure::new(format!("cannot write the view as JSON: {error}"), "this is a fault of fanlight")
    })?;
    output.line(&json)
}

fn folded(dialect: &Spoken, text_calls: bool, mut input: impl Read) -> Result<View, Failure> {
    let mut decoder = decoder(dialect, text_calls)?;
    let mut view = View::default();
    let mut now = 0;
    let mut decoded = Decoded::default();
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let read = match input.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => {
                return Err(Failure::new(
                    format!("cannot read stdin: {error}"),
                    "look at what stdin is connected to",
                ));
            }
        };
        decoder.feed(buffer.get(..read).unwrap_or_default(), &mut decoded);
        absorb(&mut view, &mut now, &mut decoded);
    }
    decoder.end(&mut decoded);
    absorb(&mut view, &mut now, &mut decoded);
    if now == 0 {
        forget_times(&mut view);
    }
    Ok(view)
}

/// The recording has no times: what the calls took is then not 0 ms, but known only where the publisher says it.
fn forget_times(view: &mut View) {
    for tool in view.runs.values_mut().flat_map(|run| run.tools.values_mut()) {
        tool.pending_at = None;
        tool.executing_at = None;
    }
}

/// Numbers the events as a hub would and folds them.
///
/// `now` is the recording's own time; what has none happens when the event before it did.
fn absorb(view: &mut View, now: &mut u64, decoded: &mut Decoded) {
    for mut envelope in decoded.envelopes.drain(..) {
        *now = envelope.producer_at.unwrap_or(*now);
        envelope.at = *now;
        if envelope.event.kind.class() != Class::Ephemeral {
            envelope.seq = view.seq.saturating_add(1);
        }
        complete(view, &mut envelope.event);
        fold(view, &envelope, &mut |_change| {});
    }
}

#[cfg(test)]
mod tests;
