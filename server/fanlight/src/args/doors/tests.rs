//! Tests of what can be set about doors.

use std::collections::BTreeMap;

use super::*;
use crate::args::layers;

/// The door `name` of a file with this in `[compat]`.
fn door(name: &str, toml: &str) -> Result<DoorSettings, String> {
    let all: BTreeMap<String, DoorEntry> = layers::fit(layers::table(toml)?)?;
    all.get(name).unwrap().door(name, |agent| agent == "helper")
}

#[test]
fn a_door_is_the_name_of_its_agent_or_a_table() {
    let helper = DoorSettings { agent: Some("helper".into()), ..DoorSettings::default() };
    assert_eq!(door("forge", "forge = \"helper\""), Ok(helper.clone()));
    let all = "[forge]\nagent = \"helper\"\nhang_up = \"go_on\"\nping_seconds = 5";
    let wanted = DoorSettings { hang_up: Some(HangUp::GoOn), ping: Some(Duration::from_secs(5)), ..helper };
    assert_eq!(door("forge", all), Ok(wanted));
    let stops = DoorSettings { hang_up: Some(HangUp::Stop), ..DoorSettings::default() };
    assert_eq!(door("openai", "[openai]\nhang_up = \"stop\""), Ok(stops));
}

#[test]
fn what_does_not_fit_is_named() {
    for (name, toml, what) in [
        ("agno", "agno = \"helper\"", "the doors are ag-ui, ai-sdk, bernard"),
        ("forge", "forge = \"nobody\"", "[agents.nobody]"),
        ("openai", "openai = \"helper\"", "which its clients name"),
        ("forge", "[forge]\nhang_up = \"wait\"", "there are stop and go_on"),
        ("forge", "[forge]\nping_seconds = 0", "it is 1 to 3600"),
        ("forge", "[forge]\npings = 1", "pings"),
        ("forge", "forge = 7", "a table with agent"),
    ] {
        let why = door(name, toml).unwrap_err();
        assert!(why.contains(what), "{toml}: {why}");
    }
}
