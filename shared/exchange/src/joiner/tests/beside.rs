//! Loops side by side in one conversation: where what is said in each of them stands.

use super::*;
use model::flow::{ConversationSection, turns};

/// The messages and answers of a conversation in the order in which they are shown.
fn shown(world: &World) -> Vec<String> {
    let sections = turns(world.only());
    let words = sections.iter().map(|section| match section {
        ConversationSection::Message(_, message) => message.text.to_string(),
        ConversationSection::Run(run) => run.run.answer(),
    });
    words.collect()
}

#[test]
fn each_question_stands_above_its_own_answer() {
    let mut world = World::default();
    let how = How { conversation: Some("gathered"), ..How::default() };
    let body = |text: &str| json!({ "model": "m", "messages": [system(&format!("for {text}")), user(text)] });
    let flights: Vec<_> = ["one", "two", "three"].iter().map(|text| world.ask(&how, &body(text))).collect();
    for (placement, text) in flights.into_iter().zip(["1", "2", "3"]) {
        world.answer(placement, &says(text));
    }
    let expected = ["for one", "one", "1", "for two", "two", "2", "for three", "three", "3"];
    assert_eq!(shown(&world), expected);
    // A next turn of the first loop while another one is on its way.
    let other = world.ask(&how, &body("four"));
    let on = json!({ "model": "m",
        "messages": [system("for one"), user("one"), assistant("1"), user("again")] });
    let again = world.ask(&how, &on);
    assert_eq!(again.why, PlacementReason::History);
    world.answer(other, &says("4"));
    world.answer(again, &says("5"));
    assert_eq!(shown(&world)[9..], ["for four", "four", "4", "again", "5"]);
    assert_eq!(world.only().anomalies.total, 0, "{:?}", world.only().anomalies);
}
