//! Everything is found, nothing twice, and what grows is found too.

use model::Envelope;
use model::fold::fold;

use super::word::ranges;
use super::*;

/// Where `word` stands in `view`.
fn look(finder: &mut Finder, view: &View, word: &str) -> Found {
    Word::new(word).map(|it| finder.look(view, word, &it)).unwrap_or_default()
}

fn take(view: &mut View, line: &str) {
    let mut envelope = Envelope::parse(line).unwrap();
    envelope.seq = view.seq + 1;
    fold(view, &envelope, &mut |_| {});
}

fn view() -> View {
    let mut view = View::default();
    for line in [
        r#"{"k":"message","message":"m","role":"user","text":"Where is EMEA?"}"#,
        r#"{"k":"run.start","run":"r"}"#,
        r#"{"k":"part.start","run":"r","part":"t","kind":"thinking"}"#,
        r#"{"k":"part.delta","run":"r","part":"t","text":"one\nemea and emea"}"#,
        r#"{"k":"tool.call","run":"r","tool":"c","name":"sql","arguments":"{\"region\":\"EMEA\"}"}"#,
        r#"{"k":"tool.result","run":"r","tool":"c","output":{"emea":3}}"#,
        r#"{"k":"part.start","run":"r","part":"p","kind":"text"}"#,
        r#"{"k":"part.delta","run":"r","part":"p","text":"Größe of Em"}"#,
    ] {
        take(&mut view, line);
    }
    view
}

#[test]
fn every_kind_of_text_is_looked_through() {
    let found = look(&mut Finder::default(), &view(), " Emea ");
    assert_eq!(found.counts, [1, 0, 2, 1, 1]);
    let kinds: Vec<Kind> = found.hits.iter().map(|hit| hit.kind).collect();
    assert_eq!(kinds, [Kind::Message, Kind::Thinking, Kind::Thinking, Kind::Arguments, Kind::Result]);
    let third = &found.hits[2];
    assert_eq!((third.line, third.before.as_str(), third.word.as_str()), (2, "emea and ", "emea"));
    assert_eq!((found.hits[3].name.as_str(), third.number), ("sql", 1));
}

#[test]
fn what_grows_is_found_when_it_is_there_and_the_order_stays() {
    let (mut view, mut finder) = (view(), Finder::default());
    let before = look(&mut finder, &view, "emea").hits;
    take(&mut view, r#"{"k":"part.delta","run":"r","part":"p","text":"ea rose"}"#);
    let after = look(&mut finder, &view, "emea").hits;
    assert_eq!(after.len(), before.len() + 1);
    assert_eq!(&after[..before.len()], before.as_slice());
    assert_eq!(after.last().unwrap().kind, Kind::Answer);
}

#[test]
fn case_does_not_count_in_any_script_and_positions_are_those_of_the_text() {
    let text = "GRÖSSE größe İstanbul aaa";
    let at = |query: &str| ranges(text, query).map(|range| text.get(range).unwrap()).collect::<Vec<_>>();
    assert_eq!(at("grö"), ["GRÖ", "grö"]);
    assert_eq!(at("stan"), ["stan"]);
    assert_eq!(at("aa"), ["aa"], "hits do not overlap");
    assert_eq!(at("zz"), Vec::<&str>::new());
    assert_eq!(look(&mut Finder::default(), &view(), "e").total(), 0, "one letter is everywhere");
}

#[test]
fn a_text_full_of_hits_is_counted_and_lists_some() {
    let mut view = view();
    let text = "emea ".repeat(500);
    take(&mut view, &format!(r#"{{"k":"part.delta","run":"r","part":"p","text":"{text}"}}"#));
    let found = look(&mut Finder::default(), &view, "emea");
    assert_eq!(found.counts[1], 500);
    assert!(found.hits.len() <= HITS_IN_TEXT_MAX + 5);
}

#[test]
fn nothing_is_said_of_what_was_not_searched() {
    let mut view = view();
    assert_eq!(look(&mut Finder::default(), &view, "nowhere").words(), "Not found in this conversation");
    assert_eq!(look(&mut Finder::default(), &view, "größe").words(), "answer 1");
    let tool = view.runs[0].tools.values_mut().next().unwrap();
    tool.result_ref = Some(model::event::ResultRef { bytes: 400_000, hash: "00".into() });
    let words = look(&mut Finder::default(), &view, "nowhere").words();
    assert_eq!(words, "Not found here: only the beginning of 1 large result was searched");
    let words = look(&mut Finder::default(), &view, "größe").words();
    assert_eq!(words, "answer 1 · only the beginning of 1 large result was searched");
}

#[test]
fn a_link_to_a_call_shows_the_side_that_holds_the_word() {
    let view = view();
    let place = Place::Tool(RunId::new("r"), ToolCallId::new("c"));
    let kind = |word: &str| Sought::first(&view, &place, &Word::new(word).unwrap()).map(|it| it.kind);
    assert_eq!(
        (kind("emea"), kind("region"), kind("zz")),
        (Some(Kind::Result), Some(Kind::Arguments), Some(Kind::Result))
    );
}
