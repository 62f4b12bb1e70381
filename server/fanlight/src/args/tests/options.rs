//! The tables of options in docs/commands.md are written from the declarations here: `FANLIGHT_BLESS=1` (or `cargo xtask
//! bless`) writes them, otherwise they must be as the program has them.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, ArgAction, Command, CommandFactory as _};

use super::Args;

const BEGIN: &str = "<!-- options of `";
const END: &str = "<!-- end of options -->";

/// An option as it is typed.
fn typed(option: &Arg) -> String {
    let values: Vec<_> =
        option.get_value_names().into_iter().flatten().map(|name| format!("{name}")).collect();
    let values = if option.get_action().takes_values() { values.join(" ") } else { String::new() };
    let Some(long) = option.get_long() else { return format!("`{}`", values.trim()) };
    let is_many = matches!(option.get_action(), ArgAction::Append);
    let many = if is_many { " (repeatable)" } else { "" };
    // `--demo` alone says yes; its value is for `--demo=false`.
    let is_optional = option.get_num_args().is_some_and(|count| count.min_values() == 0);
    let value = match (values.is_empty(), is_optional) {
        (true, _) => String::new(),
        (false, true) => String::from("[=true|false]"),
        (false, false) => format!(" {values}"),
    };
    format!("`--{long}{}`{many}", value.replace('|', "\\|"))
}

/// What an option is for, with its default and the values that it takes.
fn meaning(option: &Arg) -> String {
    let mut text = option.get_help().map(ToString::to_string).unwrap_or_default().replace('|', "\\|");
    let defaults: Vec<_> =
        option.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if !defaults.is_empty() && option.get_action().takes_values() {
        let _never = write!(text, " [default: {}]", defaults.join(", "));
    }
    let values: Vec<_> =
        option.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    if !values.is_empty() && option.get_action().takes_values() && values != ["true", "false"] {
        let _never = write!(text, " (`{}`)", values.join("`, `"));
    }
    text
}

/// The table of a command. `serve` has its keys in a file too.
fn table(command: &Command) -> String {
    let has_file = command.get_name() == "serve";
    let mut table = if has_file {
        String::from("| option | environment | in the file | what |\n|---|---|---|---|\n")
    } else {
        String::from("| option | environment | what |\n|---|---|---|\n")
    };
    let is_own =
        |option: &&Arg| !option.is_hide_set() && !["help", "version"].contains(&option.get_id().as_str());
    for option in command.get_arguments().filter(is_own) {
        let variable =
            option.get_env().map(|name| format!("`{}`", name.to_string_lossy())).unwrap_or_default();
        let key = match option.get_id().as_str() {
            // The file does not name itself.
            "config" => String::from("–"),
            // These are tables there.
            "access" => String::from("`[access]`"),
            "upstreams" => String::from("`[upstreams.NAME]`"),
            id => format!("`{id}`"),
        };
        let key = if has_file { format!(" {key} |") } else { String::new() };
        let _never = writeln!(table, "| {} | {variable} |{key} {} |", typed(option), meaning(option));
    }
    table
}

/// The page with its tables written anew. Every command has exactly one, but for those whose own commands have the options.
fn written(page: &str) -> String {
    let mut program = Args::command();
    program.build();
    let mut page = page.to_owned();
    for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
        if command.get_name() == "help" || command.has_subcommands() {
            continue;
        }
        let mark = format!("{BEGIN}{}` -->\n", command.get_name());
        let (before, rest) = page.split_once(&mark).unwrap_or_else(|| panic!("{mark:?} is missing"));
        let (_, after) = rest.split_once(END).unwrap_or_else(|| panic!("no end behind {mark:?}"));
        page = format!("{before}{mark}\n{}\n{END}{after}", table(command));
    }
    page
}

#[test]
fn golden_tables_of_options_are_those_of_the_program() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let wanted = written(&page);
    if std::env::var_os("FANLIGHT_BLESS").is_some() {
        std::fs::write(&path, wanted).expect("the page is written");
    } else {
        assert!(page == wanted, "docs/commands.md lags behind the program: type `cargo xtask bless`");
    }
}

#[test]
fn every_option_says_what_it_is() {
    let mut program = Args::command();
    program.build();
    for command in program.get_subcommands() {
        for option in command.get_arguments() {
            assert!(option.get_help().is_some(), "{} {}", command.get_name(), option.get_id());
        }
    }
}
