//! Tests of what counts as the answer of a run.

use model::event::{ErrorFact, Event, Kind, PartKind, RunEnd};
use model::{Envelope, PartId, RunId, View};

use super::*;

/// What doors say in place of an answer.
const FAILURES: [&str; 2] = ["Stopped by a person.", "the run was stopped"];

fn telling(breaks: Breaks) -> Telling<'static> {
    Telling { breaks, failures: &FAILURES }
}

/// A run that said this, and then ended so.
fn run(text: &str, status: RunStatus, failure: Option<&str>) -> RunView {
    let (mut view, run) = (View::default(), RunId::new("r"));
    let part = PartId::new("p");
    let said = Kind::PartDelta { part: part.clone(), off: None, text: text.into() };
    let error = failure.map(|message| {
        Kind::Error(ErrorFact {
            code: "http_401".into(),
            message: message.to_owned(),
            retryable: None,
            retry_after_ms: None,
        })
    });
    let kinds = [Kind::PartStart { part, kind: PartKind::Text }, said];
    let end = Kind::RunEnd(RunEnd { status, ..RunEnd::default() });
    for kind in kinds.into_iter().chain(error).chain([end]) {
        let (event, seq) = (Event::new(&run, kind), view.seq + 1);
        let envelope = Envelope { event, seq, at: 1, producer_at: None, publisher: None, by_hub: false };
        model::fold::fold(&mut view, &envelope, &mut |_change| {});
    }
    view.runs.get(&run).unwrap().clone()
}

#[test]
fn a_whole_answer_is_itself_and_no_beginning_of_it() {
    let whole = run("Well then.", RunStatus::Complete, None);
    let is = |words: &str, heard| is_answer(&whole, words, heard, &telling(Breaks::Off));
    assert!(is("Wellthen.", ReceivedAnswer::All));
    assert!(!is("Well", ReceivedAnswer::All), "only who hung up has a part of it");
    assert!(is("Well", ReceivedAnswer::Part) && is("", ReceivedAnswer::Part));
    assert!(!is("Wellnow", ReceivedAnswer::Part));
    assert!(!is("WellError:cut", ReceivedAnswer::All));
}

#[test]
fn a_failure_may_stand_in_the_words_of_the_door_and_of_its_client() {
    let failed = run("Well", RunStatus::Error, Some("who are you?"));
    let is = |words: &str, breaks| is_answer(&failed, words, ReceivedAnswer::All, &telling(breaks));
    for words in ["Well", "We", "whoareyou?", "Wellwhoareyou?", "WellError:whoareyou?", "Error:whoareyou?"] {
        assert!(is(words, Breaks::Never), "{words}");
    }
    assert!(!is("Somethingelse", Breaks::Never) && !is("Error:cut", Breaks::Never));
    assert!(is("WellError:cut", Breaks::Off) && is("Error:cut", Breaks::Off));
    assert!(!is("OtherError:cut", Breaks::Off));
}

#[test]
fn a_run_that_was_stopped_is_told_so() {
    let stopped = run("", RunStatus::Cancelled, None);
    for words in FAILURES.map(plain) {
        assert!(is_answer(&stopped, &words, ReceivedAnswer::All, &telling(Breaks::Never)), "{words}");
    }
}
