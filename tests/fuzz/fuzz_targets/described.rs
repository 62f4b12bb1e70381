//! Dialects that users describe: a description in YAML, `-----`, and a stream in that dialect. Whatever is described, the
//! decoder keeps the laws of every other: the same events however the bytes are cut (I11), runs that begin and end.
#![no_main]

use dialects::custom::UserDialect;
use dialects::{DecodeOptions, Decoded};
use fuzz::laws::{Log, check_again};
use fuzz::{dice, halves};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (description, stream) = halves(bytes);
    let Ok(description) = std::str::from_utf8(description) else { return };
    let dialect = match UserDialect::parse(description) {
        Ok(dialect) => dialect,
        Err(error) => return drop(error.to_string()),
    };
    let whole = decoded(&dialect, &[stream]);
    let (head, tail) = stream.split_at(dice(bytes) % (stream.len() + 1));
    assert!(decoded(&dialect, &[head, tail]) == whole, "another result when cut at {}", head.len());
    let mut log = Log::default();
    for envelope in whole.envelopes {
        check_again(&envelope);
        log.take(envelope);
    }
    assert!(log.view.runs.values().all(|run| !run.is_running()), "a run was left open");
});

fn decoded(dialect: &UserDialect, pieces: &[&[u8]]) -> Decoded {
    let mut out = Decoded::default();
    let mut decoder = dialect.decoder(DecodeOptions::default());
    pieces.iter().for_each(|piece| decoder.feed(piece, &mut out));
    decoder.end(&mut out);
    out
}
