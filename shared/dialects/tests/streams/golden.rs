//! Each fixture gives exactly the events that stand beside it in `events/`. After a change that is meant, `cargo xtask
//! bless` writes them anew; read the difference before you commit it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::events::lines;
use crate::own::{FIXTURES, own};
use crate::stream::Stream;

#[test]
fn golden_fixtures_give_their_events() {
    let is_blessing = std::env::var_os("FANLIGHT_BLESS").is_some();
    let mut wrong = String::new();
    for stream in own() {
        let (path, got) = (events_of(&stream), lines(&stream.decoded()));
        if is_blessing {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, got).unwrap();
            continue;
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        if expected != got {
            write!(wrong, "\n{}:\n--- expected\n{expected}--- got\n{got}", stream.path.display()).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn events_of(stream: &Stream) -> PathBuf {
    Path::new(FIXTURES).join(stream.dialect).join("events").join(format!("{}.txt", stream.name()))
}
