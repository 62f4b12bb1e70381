//! What is said to a run in the moment in which it ends.

use super::*;

#[test]
fn what_is_said_to_a_run_that_has_just_ended_is_not_lost() {
    let (words, mut heard) = mpsc::channel(4);
    words.try_send(Word::Consent(ToolCallId::new("a"), Answer::Yes { arguments: None })).unwrap();
    words.try_send(Word::MessagePublished).unwrap();
    assert!(left_unheard(&mut heard));
    assert!(words.try_send(Word::MessagePublished).is_err(), "whoever speaks now hears that nobody listens");
    assert!(!left_unheard(&mut heard));
}
