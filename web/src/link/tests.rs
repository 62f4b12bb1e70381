//! Tests of the link's machine.

use model::frame::{LogHealth, ServerFrame};

use super::*;

fn closed(code: u16) -> Input {
    Input::Closed { code, reason: "why".to_owned() }
}

fn away(in_ms: u64, attempt: u32, since: u64, is_stale: bool) -> Status {
    Status::Reconnecting { in_ms, attempt, since, is_stale }
}

fn ended(code: u16, why: &str) -> Status {
    Status::Ended { code, why: why.to_owned() }
}

fn up() -> Link {
    let mut link = Link::default();
    assert_eq!(link.step(Input::Start, 0, 0), Act::Connect);
    assert_eq!(link.status(0), Status::Connecting);
    assert_eq!(link.step(Input::Opened, 5, 0), Act::Hello);
    assert_eq!(link.step(Input::Welcomed { hb_ms: 20_000 }, 10, 0), Act::Subscribe);
    assert!(link.is_up());
    link
}

#[test]
fn a_lost_link_is_tried_again_after_the_wait_and_at_once_when_woken() {
    let mut link = up();
    assert_eq!(link.step(closed(1006), 1_000, 0), Act::Rest);
    assert_eq!(link.status(1_000), away(250, 1, 1_000, false));
    assert_eq!(link.step(Input::Tick, 1_100, 0), Act::Rest);
    assert_eq!(link.step(Input::Tick, 1_250, 0), Act::Connect);
    assert_eq!(link.step(closed(1006), 1_300, 0), Act::Rest);
    assert_eq!(link.status(1_300), away(500, 2, 1_000, false));
    assert_eq!(link.step(Input::Wake, 1_301, 0), Act::Connect);
    assert_eq!(link.step(Input::Wake, 1_302, 0), Act::Rest);
    let status = link.status(70_000);
    assert_eq!(status, away(0, 2, 1_000, true));
}

#[test]
fn a_handshake_or_a_silence_that_lasts_too_long_is_given_up() {
    let mut link = Link::default();
    link.step(Input::Start, 0, 0);
    assert_eq!(link.step(Input::Tick, 10_000, 0), Act::Rest);
    assert_eq!(link.step(Input::Tick, 10_001, 0), Act::Drop);
    let mut link = up();
    link.step(Input::Heard, 30_000, 0);
    assert_eq!(link.step(Input::Tick, 80_000, 0), Act::Rest);
    assert_eq!(link.step(Input::Tick, 80_001, 0), Act::Drop);
}

#[test]
fn the_hub_decides_whether_and_when_the_page_comes_back() {
    let mut link = up();
    let bye = |reconnect| Input::Bye { reconnect, retry_ms: 2_000, reason: "drain".to_owned() };
    link.step(bye(true), 0, 0);
    link.step(closed(4000), 0, 0);
    assert_eq!(link.status(0), away(2_000, 1, 0, false));
    let mut link = up();
    link.step(closed(4505), 0, 0);
    assert_eq!(link.status(0), ended(4505, "why"));
    assert_eq!(link.step(Input::Wake, 1, 0), Act::Rest);
    let mut link = up();
    link.step(bye(false), 0, 0);
    link.step(closed(1000), 0, 0);
    assert_eq!(link.status(0), ended(1000, "drain"));
}

#[test]
fn nothing_is_tried_while_the_machine_is_offline() {
    let mut link = up();
    link.step(Input::Offline, 0, 0);
    link.step(closed(1006), 0, 0);
    assert_eq!(link.status(0), Status::Offline);
    assert_eq!(link.step(Input::Tick, 99_000, 0), Act::Rest);
    assert_eq!(link.step(Input::Wake, 99_001, 0), Act::Connect);
}

#[test]
fn a_machine_without_network_says_so_at_once_though_the_socket_is_open() {
    let mut link = up();
    link.step(Input::Heard, 1_000, 0);
    link.step(Input::Offline, 2_000, 0);
    assert_eq!(link.status(2_000), Status::Offline);
    // A frame came all the same: there is a way to the hub.
    link.step(Input::Heard, 2_500, 0);
    assert_eq!(link.status(2_500), Status::Up);
    // When the socket is gone nothing is tried.
    link.step(closed(1006), 3_000, 0);
    assert_eq!(link.status(3_000), Status::Offline);
    let mut link = up();
    link.step(Input::Offline, 2_000, 0);
    link.step(Input::Wake, 3_000, 0);
    assert_eq!(link.status(3_000), Status::Up);
}

#[test]
fn a_socket_without_a_word_is_not_called_live() {
    let mut link = up();
    link.step(Input::Heard, 1_000, 0);
    assert_eq!(link.status(41_000), Status::Up);
    assert_eq!(link.status(42_000), Status::Silent(41));
    assert_eq!(link.step(Input::Tick, 42_000, 0), Act::Rest);
    assert!(link.is_up());
    link.step(Input::Heard, 42_500, 0);
    assert_eq!(link.status(42_500), Status::Up);
}

#[test]
fn a_link_is_lost_when_its_socket_is_gone() {
    let gone = [away(0, 1, 0, false), Status::Offline, ended(4500, "")];
    for status in gone {
        assert!(status.is_lost_since(&Status::Up) && status.is_lost_since(&Status::Silent(40)));
        assert!(!status.is_lost_since(&Status::Connecting) && !status.is_lost_since(&Status::Offline));
    }
    assert!(!Status::Silent(40).is_lost_since(&Status::Up) && !Status::Up.is_lost_since(&Status::Up));
}

#[test]
fn an_end_says_what_to_do() {
    for code in CloseCode::ALL.into_iter().map(CloseCode::number).chain([1000, 1008, 4999]) {
        let Ending { title, advice } = ending(code);
        assert!(!title.is_empty() && advice.contains("eload"), "{code}");
    }
    assert_ne!(ending(4505), ending(4999));
}

fn health(log: LogHealth, since: Option<u64>) -> ServerFrame {
    ServerFrame::Health { log, since, detail: None }
}

#[test]
fn a_log_that_cannot_write_is_told_until_the_hub_says_that_it_writes() {
    let full = log_after(None, &health(LogHealth::DiskFull, Some(5)), 9);
    assert_eq!(full, Some((LogHealth::DiskFull, 5)));
    let failing = log_after(full, &health(LogHealth::DiskFailing, Some(7)), 9);
    assert_eq!(failing, Some((LogHealth::DiskFailing, 7)));
    assert_eq!(log_after(failing, &health(LogHealth::Well, None), 10), None);
}

#[test]
fn the_welcome_of_a_hub_takes_back_what_an_earlier_one_said_of_its_log() {
    let welcome = concat!(
        r#"{"t":"welcome","version":"1","session":"s41","ts":1795300000123,"hb_ms":20000,"#,
        r#""limits":{"inbound_frame_bytes":1048576,"subscriptions_per_socket":256,"events_per_publish":10000,"#,
        r#""part_bytes":10485760,"ring_bytes":8388608,"ring_events":20000,"snapshot_bytes":1048576},"features":[]}"#,
    );
    let welcome = model::frame::parse_server(welcome).unwrap();
    assert!(matches!(welcome, ServerFrame::Welcome(_)));
    assert_eq!(log_after(Some((LogHealth::DiskFull, 5)), &welcome, 9), None);
}

#[test]
fn a_log_that_fails_without_a_time_fails_since_the_page_heard_of_it() {
    assert_eq!(
        log_after(None, &health(LogHealth::DiskFailing, None), 42),
        Some((LogHealth::DiskFailing, 42))
    );
}

#[test]
fn frames_about_other_things_change_nothing_that_is_told_of_the_log() {
    let presence = model::frame::parse_server(r#"{"t":"presence","sub":1,"viewers":3}"#).unwrap();
    assert!(matches!(presence, ServerFrame::Presence { .. }));
    let full = Some((LogHealth::DiskFull, 5));
    assert_eq!(log_after(full, &presence, 9), full);
    assert_eq!(log_after(None, &presence, 9), None);
}

#[test]
fn the_way_to_the_hub_takes_at_least_a_millisecond_and_is_unknown_without_an_answer() {
    assert_eq!(round_trip(100, 112, true), Some(12));
    assert_eq!(round_trip(100, 100, true), Some(1));
    assert_eq!(round_trip(100, 90, true), Some(1));
    assert_eq!(round_trip(100, 112, false), None);
}

#[test]
fn a_later_word_about_the_link_outlives_the_time_of_an_earlier_one() {
    assert!(is_still_told(Some("first"), "first"));
    assert!(!is_still_told(Some("second"), "first"));
    assert!(!is_still_told(None, "first"));
}
