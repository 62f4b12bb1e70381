//! Tests of the list of models.

use super::*;

fn agents() -> impl Iterator<Item = &'static str> {
    ["helper", "other"].into_iter()
}

fn names(shelf: &Shelf) -> Vec<String> {
    let told = |model: &Model| format!("{}/{}={}", model.provider, model.id, model.display_name());
    shelf.models(agents()).unwrap().iter().map(told).collect()
}

#[test]
fn models_are_the_agents_and_what_was_made_of_them() {
    let shelf = Shelf::default();
    assert_eq!(names(&shelf), ["fanlight/helper=helper", "fanlight/other=other"]);
    let named = Change { display_name: Some("My own".to_owned()), ..Change::default() };
    shelf.add(agents(), ("openai", "gpt/5"), &named, 7).unwrap();
    let favorite = Change { favorited: Some(true), ..Change::default() };
    assert!(shelf.update(agents(), ("fanlight", "other"), &favorite).unwrap().is_favorite());
    assert!(shelf.update(agents(), ("openai", "gpt/5"), &favorite).unwrap().is_favorite());
    assert_eq!(shelf.update(agents(), ("openai", "none"), &favorite).unwrap_err().code.status(), 404);
    shelf.remove(agents(), ("fanlight", "helper")).unwrap();
    assert_eq!(names(&shelf), ["fanlight/other=other", "openai/gpt/5=My own"], "what it is named stays");
    assert!(shelf.remove(agents(), ("fanlight", "helper")).is_err());
    assert_eq!(shelf.fetch("fanlight", 2).unwrap(), (1, 1));
    shelf.turn("openai", Power::Off).unwrap();
    assert_eq!(names(&shelf), ["fanlight/helper=helper", "fanlight/other=other"]);
    let providers = shelf.providers(agents()).unwrap();
    assert_eq!(providers, [("fanlight".to_owned(), 2, true), ("openai".to_owned(), 1, false)]);
    shelf.turn("openai", Power::On).unwrap();
    assert_eq!(names(&shelf).len(), 3);
    assert!(shelf.turn("nobody", Power::Off).is_err() && shelf.fetch("openai", 2).is_err());
}

#[test]
fn so_many_models_have_room() {
    let shelf = Shelf::default();
    for number in 0..FORGE_MODELS_MAX {
        shelf.add(agents(), ("p", &number.to_string()), &Change::default(), 0).unwrap();
    }
    let more = shelf.add(agents(), ("p", "more"), &Change::default(), 0).unwrap_err();
    assert_eq!(more.code, ErrorCode::TooMany);
    assert_eq!(shelf.add(agents(), ("p", "7"), &Change::default(), 0).unwrap().id, "7", "it is there");
    let long = "x".repeat(ID_BYTES_MAX + 1);
    assert_eq!(
        shelf.add(agents(), ("p", &long), &Change::default(), 0).unwrap_err().code,
        ErrorCode::BadRequest
    );
}
