//! Our samples have the form of those that the documents print: the same fields of the same types at the same places, the
//! same tables. And what the documents print itself is read without anything odd. Without the documents there is nothing
//! to compare with, and the samples carry the tests alone.

use serde_json::{Map, Value};

use super::{Seed, accepted, accepted_piece, objects, sse};

/// The tables of each document that a test reads, by heading.
const TABLES: [(u32, &str); 4] =
    [(0, "Tool Call Event Types"), (1, "Event Types"), (2, "Event Types"), (3, "Progress Event Types")];

/// `value` with each string, number and switch replaced by the name of its type; what stands in strings as JSON is such
/// a string. The names of fields that a model or a tool chose are its own affair.
fn form(value: &Value) -> Value {
    const FREE: [&str; 4] = ["arguments", "tool_args", "result", "input"];
    match value {
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                let value = if FREE.contains(&name.as_str()) { Value::from("free") } else { form(value) };
                (name.clone(), value)
            };
            Value::Object(fields.iter().map(field).collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(form).collect(),
        Value::String(_) => "text".into(),
        Value::Number(_) => "number".into(),
        Value::Bool(_) => "switch".into(),
        Value::Null => Value::Null,
    }
}

/// The JSON values of a block, whether it is one, or has one in each line.
fn values(block: &str) -> Vec<Value> {
    let block = block.replace("SSE: ", "").replace("data: ", "");
    let whole: Result<Value, _> = serde_json::from_str(&block);
    whole.map_or_else(|_| objects(&block), |value| vec![value]).into_iter().filter(Value::is_object).collect()
}

#[test]
fn our_samples_have_the_form_of_those_in_the_documents() {
    for number in 0..5 {
        let (ours, Some(theirs)) = (Seed::open(number), Seed::document(number)) else { return };
        for (heading, blocks) in ours.headings() {
            for nth in 0..blocks {
                let (our, their) = (values(&ours.block(&heading, nth)), values(&theirs.block(&heading, nth)));
                // Blocks of Python, of pictures and of YAML are held by the tests that read them.
                if their.is_empty() {
                    continue;
                }
                let forms = |values: &[Value]| values.iter().map(form).collect::<Vec<_>>();
                assert_eq!(forms(&our), forms(&their), "seed {number}, {heading}, block {nth}");
            }
        }
    }
    for (number, heading) in TABLES {
        let Some(theirs) = Seed::document(number) else { return };
        assert_eq!(Seed::open(number).table(heading), theirs.table(heading), "seed {number}, {heading}");
    }
    let Some(theirs) = Seed::document(0) else { return };
    for name in Seed::open(0).table("Full Event Type List") {
        let stem = name.replace("Completed", "Started");
        assert!(theirs.text.contains(&name) || theirs.text.contains(&stem), "{name}");
    }
}

#[test]
fn what_the_documents_print_is_read_without_anything_odd() {
    // Bernard's progress is about another tool than the one that is called; its own test renames it.
    let left_out = "Tool Progress Event";
    for (number, dialect) in [(1, "deep-agent"), (2, "forge"), (3, "bernard")] {
        let Some(theirs) = Seed::document(number) else { return };
        let mut story = Vec::new();
        for (heading, blocks) in Seed::open(number).headings() {
            for nth in (0..blocks).filter(|_| heading != left_out) {
                match &values(&theirs.block(&heading, nth))[..] {
                    // The printed events one behind the other are one stream.
                    [event] => story.push(event.clone()),
                    stream => drop(accepted(dialect, &sse(stream))),
                }
            }
        }
        assert!(story.len() > 2, "{dialect}: {story:?}");
        accepted_piece(dialect, &sse(&story));
    }
    let Some(theirs) = Seed::document(0) else { return };
    accepted("ralph", &sse(&values(&theirs.block("Complete SSE Event Flow (After Implementation)", 0))));
}
