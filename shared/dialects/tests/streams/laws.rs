//! The laws of events, for each fixture.

use crate::lawful::assert_lawful;
use crate::own::own;

#[test]
fn every_stream_gives_lawful_events() {
    for stream in own().into_iter().filter(|stream| stream.dialect != "fanlight") {
        let what = stream.path.display().to_string();
        assert_lawful(&stream.decoded(), stream.options().run_goes_on, &what);
    }
}
