//! Cases of imported histories: an import is complete or absent.

use std::sync::Arc;

use model::frame::Durability;
use model::{Envelope, testkit};

use super::material::{
    append, at, checkpoint, document, events, everything, id, items, names, query, read, settle, sized,
    stored, wait,
};
use super::{LogUnderTest, cases};
use crate::{Append, Attachment, EndedToolCall, ImportId, LogError, SearchDocumentKind};

cases! {
    Passing:
        an_import_is_a_conversation_once_it_is_adopted,
        a_conversation_that_was_imported_goes_on,
        nobody_sees_an_import_before;
    Lasting:
        an_import_is_there_after_a_restart,
        an_import_that_breaks_off_leaves_nothing,
        an_import_that_is_abandoned_leaves_nothing,
        an_import_of_which_a_piece_is_missing_is_refused,
        an_import_of_which_nothing_came_is_refused,
        a_name_that_is_taken_is_not_taken_again,
        two_imports_do_not_mix,
        an_import_may_begin_behind_its_beginning,
        what_an_import_brings_is_found_and_counted;
}

const IMPORT: ImportId = ImportId(7);

/// Stages `history` for "c" in pieces of ten.
fn stage(trial: &LogUnderTest<'_>, import: ImportId, history: &[Arc<Envelope>]) {
    for piece in history.chunks(10) {
        let (id, after) = (id("c"), at(piece.first().map_or(0, |first| first.seq - 1)));
        trial.log().stage(import, Append::of(&id, &after, piece));
    }
}

fn adopt(
    trial: &LogUnderTest<'_>,
    import: ImportId,
    name: &str,
    history: &[Arc<Envelope>],
) -> Result<(), LogError> {
    let adopted = trial.log().adopt(import, checkpoint(name, history, 0), Vec::new(), Vec::new());
    wait(trial.log(), adopted, Durability::Stored.min(trial.log().durability()))
}

fn an_import_is_a_conversation_once_it_is_adopted(trial: &mut LogUnderTest<'_>) {
    stage(trial, IMPORT, &events(1, 95));
    assert_eq!(adopt(trial, IMPORT, "c", &events(1, 95)), Ok(()));
    assert_eq!(read(trial.log(), "c", 0), events(1, 95));
    assert_eq!(trial.log().gap(&id("c")), Ok(None));
    assert_eq!(trial.log().count(), 1);
}

fn a_conversation_that_was_imported_goes_on(trial: &mut LogUnderTest<'_>) {
    stage(trial, IMPORT, &events(1, 25));
    adopt(trial, IMPORT, "c", &events(1, 25)).expect("all was staged");
    append(trial.log(), "c", 25, &events(26, 27));
    settle(trial.log());
    assert_eq!(read(trial.log(), "c", 20), events(21, 27));
}

fn nobody_sees_an_import_before(trial: &mut LogUnderTest<'_>) {
    stage(trial, IMPORT, &events(1, 25));
    settle(trial.log());
    assert_eq!(trial.log().read(&id("c"), 0, 10), Err(LogError::Unknown));
    assert_eq!(trial.log().count(), 0);
    assert_eq!(trial.log().continues(&id("c"), 0), Ok(()));
}

fn an_import_is_there_after_a_restart(trial: &mut LogUnderTest<'_>) {
    stage(trial, IMPORT, &events(1, 95));
    adopt(trial, IMPORT, "c", &events(1, 95)).expect("all was staged");
    trial.crash();
    let found = trial.log().load(&id("c")).expect("readable").expect("it is there");
    assert_eq!((found.position.seq, found.view), (95, testkit::folded(&events(1, 95))));
    assert_eq!(read(trial.log(), "c", 0), events(1, 95));
}

fn an_import_that_breaks_off_leaves_nothing(trial: &mut LogUnderTest<'_>) {
    stage(trial, IMPORT, &events(1, 95));
    settle(trial.log());
    trial.crash();
    assert_eq!(trial.log().count(), 0);
    assert!(adopt(trial, IMPORT, "c", &events(1, 95)).is_err(), "it was of another life");
    assert!(trial.log().load(&id("c")).expect("readable").is_none());
}

fn an_import_that_is_abandoned_leaves_nothing(trial: &mut LogUnderTest<'_>) {
    stage(trial, IMPORT, &events(1, 95));
    trial.log().abandon(IMPORT);
    trial.log().abandon(ImportId(8));
    settle(trial.log());
    assert!(adopt(trial, IMPORT, "c", &events(1, 95)).is_err());
    assert_eq!(trial.log().count(), 0);
}

fn an_import_of_which_a_piece_is_missing_is_refused(trial: &mut LogUnderTest<'_>) {
    stage(trial, IMPORT, &events(1, 10));
    stage(trial, IMPORT, &events(21, 30));
    assert_eq!(adopt(trial, IMPORT, "c", &events(1, 30)), Err(LogError::SetAside));
    assert_eq!(trial.log().count(), 0);
}

fn an_import_of_which_nothing_came_is_refused(trial: &mut LogUnderTest<'_>) {
    assert_eq!(adopt(trial, IMPORT, "c", &events(1, 30)), Err(LogError::SetAside));
    assert_eq!(trial.log().count(), 0);
}

fn a_name_that_is_taken_is_not_taken_again(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 3));
    stage(trial, IMPORT, &sized(1, 30, 9));
    assert_eq!(adopt(trial, IMPORT, "c", &sized(1, 30, 9)), Err(LogError::SetAside));
    assert_eq!((read(trial.log(), "c", 0), trial.log().count()), (events(1, 3), 1));
}

fn two_imports_do_not_mix(trial: &mut LogUnderTest<'_>) {
    let (one, other) = (ImportId(1), ImportId(2));
    stage(trial, one, &events(1, 10));
    stage(trial, other, &sized(1, 10, 9));
    stage(trial, one, &events(11, 20));
    adopt(trial, one, "one", &events(1, 20)).expect("all was staged");
    adopt(trial, other, "other", &sized(1, 10, 9)).expect("all was staged");
    assert_eq!(
        (read(trial.log(), "one", 0), read(trial.log(), "other", 0)),
        (events(1, 20), sized(1, 10, 9))
    );
}

fn an_import_may_begin_behind_its_beginning(trial: &mut LogUnderTest<'_>) {
    stage(trial, IMPORT, &events(11, 30));
    adopt(trial, IMPORT, "c", &events(1, 30)).expect("all was staged");
    assert_eq!(read(trial.log(), "c", 10), events(11, 30));
    assert_eq!(trial.log().read(&id("c"), 0, 10), Err(LogError::Gone { begins_after: 10 }));
    assert_eq!(trial.log().load(&id("c")).expect("readable").map(|found| found.position), Some(at(30)));
}

fn what_an_import_brings_is_found_and_counted(trial: &mut LogUnderTest<'_>) {
    let (id, after, history) = (id("c"), at(0), events(1, 3));
    let mut piece = Append::of(&id, &after, &history);
    piece.documents = vec![document(SearchDocumentKind::Text, "p1", 1, "needle in the hay")];
    piece.attachments = vec![Attachment { hash: "00ff".into(), json: "[1]".into() }];
    trial.log().stage(IMPORT, piece);
    settle(trial.log());
    assert_eq!(items(trial.log(), &query("needle")), Vec::<String>::new());
    assert_eq!(trial.log().attachment(&id, "00ff"), Ok(None));
    let calls = vec![EndedToolCall { name: "run_sql".into(), failed: false, latency_ms: Some(3) }];
    let mut state = checkpoint("c", &history, 0);
    state.row.title = Some(String::from("imported"));
    stored(trial.log(), trial.log().adopt(IMPORT, state, calls, Vec::new()));
    assert_eq!(items(trial.log(), &query("needle")), ["p1"]);
    assert_eq!(trial.log().attachment(&id, "00ff").expect("readable").as_deref(), Some("[1]"));
    assert_eq!(trial.log().tools().expect("figures").first().map(|tool| tool.calls), Some(1));
    assert_eq!(names(trial.log(), &everything()), ["c"]);
}
