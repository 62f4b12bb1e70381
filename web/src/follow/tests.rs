//! Tests of when the view follows.

use super::*;

fn place(top: f64, content: f64) -> Place {
    Place { top, window: 100.0, content }
}

#[test]
fn it_follows_from_the_start_and_through_growth() {
    let mut follow = Follow::default();
    follow.scrolled(place(900.0, 1000.0), true);
    follow.scrolled(place(1900.0, 2000.0), true);
    assert!(follow.is_on());
}

#[test]
fn a_move_up_releases_and_growth_does_not_bring_it_back() {
    let mut follow = Follow::default();
    follow.scrolled(place(900.0, 1000.0), true);
    follow.scrolled(place(860.0, 1000.0), true);
    assert!(!follow.is_on());
    follow.scrolled(place(860.0, 5000.0), true);
    assert!(!follow.is_on());
}

#[test]
fn only_a_move_down_to_the_end_brings_it_back() {
    let mut follow = Follow::default();
    follow.scrolled(place(900.0, 1000.0), true);
    follow.release();
    follow.scrolled(place(900.0, 1000.0), true);
    assert!(!follow.is_on());
    follow.scrolled(place(850.0, 1000.0), true);
    follow.scrolled(place(880.0, 1000.0), true);
    assert!(!follow.is_on());
    follow.scrolled(place(893.0, 1000.0), true);
    assert!(follow.is_on());
    follow.release();
    follow.resume();
    assert!(follow.is_on());
}

#[test]
fn content_that_shrinks_is_no_move_of_the_reader() {
    let mut follow = Follow::default();
    follow.scrolled(place(900.0, 1000.0), true);
    follow.scrolled(place(400.0, 500.0), true);
    assert!(follow.is_on());
}

#[test]
fn the_browsers_own_small_corrections_are_no_move_of_the_reader() {
    let mut follow = Follow::default();
    follow.scrolled(place(900.0, 1000.0), false);
    follow.scrolled(place(895.0, 1040.0), false);
    assert!(follow.is_on());
    follow.scrolled(place(700.0, 1080.0), false);
    assert!(!follow.is_on());
}
