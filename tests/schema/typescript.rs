//! The types as TypeScript has them.

use std::fmt::Write as _;

use crate::shape::{Definition, Field, Type, Types};

const HEAD: &str = "\
// What travels between clients and the hub. Made by `cargo xtask schema` from schema/*.json: do not edit.
//
// A later version of the hub may send kinds, frames, words and members that are not here.

";

const TAIL: &str = "\
/** An event as the hub sends it: with `at`, and with `seq` unless it is ephemeral. */
export type Envelope = Event & { at: number };

/** Not an event of the hub's: stands in a subscription's events for everything that was before it. */
export interface Snapshot {
  k: \"snapshot\";
  epoch: string;
  seq: number;
  state: View;
}
";

/// The file with all `types`.
pub(crate) fn write(types: &Types) -> String {
    let mut file = String::from(HEAD);
    for (name, doc, definition) in &types.all {
        comment(&mut file, "", doc);
        match definition {
            Definition::Object(fields) => {
                writeln!(file, "export interface {name} {{").unwrap();
                for field in fields {
                    member(&mut file, field);
                }
                file.push_str("}\n\n");
            }
            Definition::Alias(alias) => writeln!(file, "export type {name} = {};\n", inline(alias)).unwrap(),
        }
    }
    file + TAIL
}

fn member(file: &mut String, field: &Field) {
    comment(file, "  ", &field.doc);
    let mark = if field.required { "" } else { "?" };
    writeln!(file, "  {}{mark}: {};", field.name, inline(&field.holds)).unwrap();
}

fn comment(file: &mut String, indent: &str, doc: &str) {
    match doc.lines().collect::<Vec<_>>().as_slice() {
        [] => {}
        [line] => writeln!(file, "{indent}/** {line} */").unwrap(),
        lines => {
            writeln!(file, "{indent}/**").unwrap();
            for line in lines {
                writeln!(file, "{}", format!("{indent} * {line}").trim_end()).unwrap();
            }
            writeln!(file, "{indent} */").unwrap();
        }
    }
}

fn inline(holds: &Type) -> String {
    let all = |many: &[Type], between: &str| many.iter().map(inline).collect::<Vec<_>>().join(between);
    match holds {
        Type::Text => "string".into(),
        Type::Integer => "number".into(),
        Type::Truth => "boolean".into(),
        Type::Any => "unknown".into(),
        Type::Null => "null".into(),
        Type::Words(words) => words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" | "),
        Type::List(item) if matches!(**item, Type::Or(_) | Type::Words(_)) => format!("({})[]", inline(item)),
        Type::List(item) => format!("{}[]", inline(item)),
        Type::Map(value) => format!("Record<string, {}>", inline(value)),
        Type::Tuple(many) => format!("[{}]", all(many, ", ")),
        Type::Or(many) => all(many, " | "),
        Type::Named(name) => name.clone(),
    }
}
