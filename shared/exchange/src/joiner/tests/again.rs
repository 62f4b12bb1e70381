//! What is asked once more: retries, edited histories, compacted ones.

use super::*;

#[test]
fn a_retry_goes_on_with_the_run_and_doubles_nothing() {
    let mut world = World::default();
    let ask = json!([user("go")]);
    let first = world.chat(&ask);
    let overloaded = json!({ "error": { "message": "slow down", "type": "rate_limit_error" } });
    world.answer_with(first.answer, 429, &overloaded, AnswerEnd::Whole);
    assert_eq!(runs(world.only())[0].status, RunStatus::Error);
    assert!(runs(world.only())[0].error.as_ref().unwrap().may_pass());
    let second = world.chat(&ask);
    assert_eq!((second.why, second.attempt), (PlacementReason::Retry, 2));
    world.answer_with(second.answer, 200, &Value::Null, AnswerEnd::Failed(fact("upstream_cut")));
    let third = world.chat(&ask);
    assert_eq!(third.attempt, 3);
    world.answer(third, &says("there"));
    let view = world.only();
    assert_eq!(messages(view).len(), 1);
    assert_eq!((runs(view).len(), runs(view)[0].status), (1, RunStatus::Complete));
    let retries = runs(view)[0]
        .notes
        .iter()
        .filter(|note| matches!(&note.body, NoteBody::Custom { name, .. } if name == "retry"));
    assert_eq!(retries.count(), 2);
}

#[test]
fn a_retry_after_results_does_not_give_them_twice() {
    let mut world = World::default();
    let first = world.chat(&json!([user("go")]));
    world.answer(first, &calls(&[PARIS]));
    let back = json!([user("go"), called(&[PARIS]), gave(PARIS.0, "sun")]);
    let failed = world.chat(&back);
    world.answer_with(failed.answer, 500, &Value::Null, AnswerEnd::Whole);
    // Another model is asked the same.
    let again = world.ask(&How::default(), &json!({ "model": "fallback", "messages": back }));
    assert_eq!(again.why, PlacementReason::Retry);
    world.answer(again, &says("Sun."));
    let view = world.only();
    assert_eq!(view.anomalies.total, 0, "{:?}", view.anomalies);
    assert_eq!(runs(view)[0].error, None);
    assert_eq!(tools(view)[0].1.state, ToolState::Complete);
}

#[test]
fn whoever_counts_attempts_says_what_is_a_retry() {
    let mut world = World::default();
    let body = json!({ "model": "m", "messages": [user("go")] });
    let first_of = How { attempts_before: Some(0), ..How::default() };
    let again = How { attempts_before: Some(1), ..How::default() };
    let failed = world.ask(&first_of, &body);
    let conversation = failed.conversation.clone();
    world.answer_with(failed.answer, 500, &Value::Null, AnswerEnd::Whole);
    let other = world.ask(&first_of, &body);
    assert_ne!(other.conversation, conversation);
    let retry = world.ask(&again, &body);
    assert_eq!((retry.conversation.clone(), retry.attempt), (conversation, 2));
    // The caller has gone away and is back before the hub has noticed.
    world.answer(retry, &says("x"));
    let in_flight = world.ask(&How { caller: 2, ..first_of.clone() }, &body);
    let back = world.ask(&How { caller: 2, ..again }, &body);
    assert_eq!(back.run, in_flight.run);
    world.answer(back, &says("here"));
    let stale = world.answer_with(in_flight.answer, 200, &Value::Null, AnswerEnd::Cancelled);
    assert!(stale.events.envelopes.is_empty());
    let run = runs(world.view(&stale.conversation))[0];
    assert_eq!((run.status, run.answer().as_str()), (RunStatus::Complete, "here"));
}

#[test]
fn a_session_that_asks_the_same_after_a_failure_tries_again_whatever_it_counts() {
    let mut world = World::default();
    let session = Some("63deb0dd-d2f5-471e-b3ce-7ae3fee9ea7a");
    let how = How { session, attempts_before: Some(0), ..How::default() };
    let body = json!({ "model": "m", "stream": true, "messages": [system("s"), user("go")] });
    let first = world.ask(&how, &body);
    let (run, overloaded) = (first.run.clone(), json!({ "error": { "message": "slow down" } }));
    world.answer_with(first.answer, 429, &overloaded, AnswerEnd::Whole);
    let second = world.ask(&how, &body);
    assert_eq!((second.why, second.attempt, &second.run), (PlacementReason::Retry, 2, &run));
    world.answer_with(second.answer, 200, &Value::Null, AnswerEnd::Failed(fact("upstream_cut")));
    // After a cut the same is asked without a stream.
    let whole = json!({ "model": "m", "messages": [system("s"), user("go")] });
    let third = world.ask(&how, &whole);
    assert_eq!((third.why, third.attempt, &third.run), (PlacementReason::Retry, 3, &run));
    world.answer(third, &says("there"));
    let view = world.only();
    assert_eq!((runs(view).len(), runs(view)[0].status, messages(view).len()), (1, RunStatus::Complete, 2));
    // What did not fail is asked once more by another agent of the session.
    let other = world.ask(&how, &body);
    assert_eq!(other.why, PlacementReason::New);
    world.answer_with(other.answer, 429, &overloaded, AnswerEnd::Whole);
    // So is it with other instructions.
    let strange = json!({ "model": "m", "messages": [system("other"), user("go")] });
    assert_eq!(world.ask(&how, &strange).why, PlacementReason::New);
    // A name alone is no session: agents side by side under it may begin alike.
    let named = How { conversation: Some("mine"), session: None, ..how };
    let failed = world.ask(&named, &body);
    world.answer_with(failed.answer, 429, &overloaded, AnswerEnd::Whole);
    assert_eq!(world.ask(&named, &body).why, PlacementReason::New);
}

#[test]
fn an_edited_history_is_a_conversation_that_names_its_parent() {
    let mut world = World::default();
    let first = world.chat(&json!([user("one")]));
    let (parent, run) = (first.conversation.clone(), first.run.clone());
    world.answer(first, &says("1"));
    let second = world.chat(&json!([user("one"), assistant("1"), user("two")]));
    world.answer(second, &says("2"));
    let edited = world.chat(&json!([user("one"), assistant("1"), user("three")]));
    assert_eq!(edited.why, PlacementReason::Fork);
    let fork = edited.fork_of.clone().unwrap();
    assert_eq!((fork.conversation, fork.run, fork.messages), (parent, run, 2));
    let view = world.view(&edited.conversation);
    assert_eq!(messages(view).len(), 3, "a conversation of its own has the whole history");
    assert!(matches!(&runs(view)[0].notes[0].body, NoteBody::Custom { name, .. } if name == "fork"));
    // The first message edited: nothing in common, so nothing of the other's.
    let other = world.chat(&json!([user("ONE")]));
    assert_eq!(other.why, PlacementReason::New);
}

#[test]
fn a_compacted_history_is_joined_where_its_end_matches() {
    let mut world = World::default();
    let long =
        "A long answer that says more than a word or two, so that nobody else will have said the very same.";
    let first = world.chat(&json!([system("old"), user("one")]));
    let conversation = first.conversation.clone();
    world.answer(first, &says(long));
    let second =
        world.chat(&json!([system("new"), user("Summary: one was asked."), assistant(long), user("two")]));
    assert_eq!((second.why, &second.conversation), (PlacementReason::Tail, &conversation));
    world.answer(second, &calls(&[PARIS, ROME]));
    // In the middle of a loop the calls that are waited for are enough.
    let third = world.chat(&json!([
        user("All else is gone."),
        called(&[PARIS, ROME]),
        gave(PARIS.0, "1"),
        gave(ROME.0, "2")
    ]));
    assert_eq!((third.why, &third.conversation), (PlacementReason::Awaited, &conversation));
    world.answer(third, &says("12"));
    let view = world.only();
    assert!(tools(view).iter().all(|(_, tool)| tool.state == ToolState::Complete));
    assert_eq!(messages(view)[0], ("system".to_owned(), "new".to_owned()), "it replaces itself");
    assert_eq!(messages(view).len(), 3);
}
