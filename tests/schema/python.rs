//! The types as Python has them: `TypedDict`s that checkers of types know since 3.10, made without any package.

use std::fmt::Write as _;

use crate::shape::{Definition, Field, Type, Types};

/// Words that cannot name a member in a class.
const KEYWORDS: [&str; 4] = ["from", "class", "in", "is"];

const HEAD: &str = r#""""What travels between clients and the hub. Made by `cargo xtask schema` from schema/*.json: do not edit.

A later version of the hub may send kinds, frames, words and members that are not here.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Union

"#;

const TAIL: &str = r#"Envelope = Event
"""An event as the hub sends it: with `at`, and with `seq` unless it is ephemeral."""


class Snapshot(TypedDict):
    """Not an event of the hub's: stands in a subscription's events for everything that was before it."""

    k: Literal["snapshot"]
    epoch: str
    seq: int
    state: View
"#;

/// The file with all `types`.
pub(crate) fn write(types: &Types) -> String {
    let mut file = String::from(HEAD);
    for (name, doc, definition) in &types.all {
        match definition {
            Definition::Object(fields) => object(&mut file, name, doc, fields),
            Definition::Alias(alias) => {
                writeln!(file, "{name} = {}", inline(alias)).unwrap();
                if !doc.is_empty() {
                    writeln!(file, "{}", docstring("", doc)).unwrap();
                }
                file.push('\n');
            }
        }
    }
    file + TAIL
}

/// Two classes where some members are needed and some not: all versions of Python since 3.10 can say that.
fn object(file: &mut String, name: &str, doc: &str, fields: &[Field]) {
    let (needed, free): (Vec<_>, Vec<_>) = fields.iter().partition(|field| field.required);
    let base = if needed.is_empty() || free.is_empty() { name.to_owned() } else { format!("_{name}") };
    let total = if needed.is_empty() { ", total=False" } else { "" };
    let first = if needed.is_empty() { &free } else { &needed };
    if first.iter().any(|field| KEYWORDS.contains(&field.name.as_str())) {
        writeln!(file, "{base} = TypedDict(\n    \"{base}\",\n    {{").unwrap();
        for field in first {
            writeln!(file, "        \"{}\": {},", field.name, inline(&field.holds)).unwrap();
        }
        writeln!(file, "    }},{}\n)", if needed.is_empty() { "\n    total=False," } else { "" }).unwrap();
        if !doc.is_empty() {
            writeln!(file, "{}", docstring("", doc)).unwrap();
        }
        file.push('\n');
    } else {
        class(file, &format!("{base}(TypedDict{total})"), if base == name { doc } else { "" }, first);
    }
    if base != name {
        class(file, &format!("{name}({base}, total=False)"), doc, &free);
    }
}

fn class(file: &mut String, head: &str, doc: &str, fields: &[&Field]) {
    writeln!(file, "\nclass {head}:").unwrap();
    if !doc.is_empty() {
        writeln!(file, "{}\n", docstring("    ", doc)).unwrap();
    }
    for field in fields {
        writeln!(file, "    {}: {}", field.name, inline(&field.holds)).unwrap();
        if !field.doc.is_empty() {
            writeln!(file, "{}", docstring("    ", &field.doc)).unwrap();
        }
    }
    file.push('\n');
}

fn docstring(indent: &str, doc: &str) -> String {
    let lines: Vec<String> = doc
        .lines()
        .map(|line| if line.is_empty() { String::new() } else { format!("{indent}{line}") })
        .collect();
    let text = lines.join("\n");
    let end = if doc.contains('\n') { format!("\n{indent}") } else { String::new() };
    format!("{indent}\"\"\"{}{end}\"\"\"", text.trim_start())
}

fn inline(holds: &Type) -> String {
    let all = |many: &[Type]| many.iter().map(inline).collect::<Vec<_>>().join(", ");
    match holds {
        Type::Text => "str".into(),
        Type::Integer => "int".into(),
        Type::Truth => "bool".into(),
        Type::Any => "Any".into(),
        Type::Null => "None".into(),
        Type::Words(words) => format!(
            "Literal[{}]",
            words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ")
        ),
        Type::List(item) => format!("list[{}]", inline(item)),
        Type::Map(value) => format!("dict[str, {}]", inline(value)),
        Type::Tuple(many) => format!("tuple[{}]", all(many)),
        Type::Or(many) => format!("Union[{}]", all(many)),
        Type::Named(name) => name.clone(),
    }
}
