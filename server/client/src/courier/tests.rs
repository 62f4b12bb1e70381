//! Tests of the window; the courier as a whole is tested over sockets.

use super::*;

fn status(text: &str) -> Envelope {
    let event = Event::new(&model::RunId::new("r"), Kind::Status { text: text.into() });
    Envelope { event, seq: 0, at: 0, producer_at: None, publisher: None, by_hub: false }
}

fn window(texts: &[&str]) -> ResendWindow {
    let mut window = ResendWindow::default();
    for text in texts {
        window.push(status(text));
    }
    window
}

#[test]
fn a_window_gives_what_fits_and_one_at_least() {
    let mut window = window(&["a", "b", "cc", "d"]);
    let one = json_bytes(&status("a"));
    let given = |window: &ResendWindow, after, count, bytes| window.after(after, count, bytes).len();
    assert_eq!(window.bytes(), 4 * one + 1);
    assert_eq!(given(&window, 0, 9, 0), 1);
    assert_eq!(given(&window, 0, 9, 2 * one), 2);
    assert_eq!(given(&window, 1, 9, 2 * one), 1);
    assert_eq!(given(&window, 0, 3, u64::MAX), 3);
    assert_eq!((window.next_bytes(2), window.next_bytes(4), window.bytes_after(4)), (one + 1, 0, 0));
    window.drop_to(2);
    assert_eq!((window.begins_after(), window.bytes()), (2, 2 * one + 1));
    assert_eq!(window.after(2, 1, 0), [status("cc")]);
    assert_eq!((window.next_bytes(2), window.bytes_after(3)), (one + 1, one));
}

#[test]
fn i7_a_window_gives_away_what_is_acked_and_nothing_else() {
    let mut window = window(&["a", "b", "c", "d"]);
    window.shrink(1, 3);
    assert_eq!(window.begins_after(), 3);
    window.shrink(0, 3);
    assert_eq!(window.after(3, 9, u64::MAX), [status("d")]);
}
