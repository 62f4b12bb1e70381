//! What the command line takes and refuses.

use clap::CommandFactory as _;

use super::*;

mod options; // the tables of docs/commands.md

fn parse(line: &str) -> Result<Args, clap::Error> {
    Args::try_parse_from(std::iter::once("fanlight").chain(line.split_whitespace()))
}

#[test]
fn the_declaration_is_sound() {
    Args::command().debug_assert();
}

#[test]
fn fold_takes_a_dialect_and_the_short_form() {
    let command = parse("fold --dialect fanlight --summary").expect("valid").command;
    let CliCommand::Fold(fold) = command else { panic!("{command:?}") };
    assert_eq!(fold.dialect.name(), "fanlight");
    assert!(fold.summary);
}

#[test]
fn an_unknown_dialect_is_a_usage_error_that_names_the_known_ones() {
    let error = parse("fold --dialect smoke-signals").expect_err("no such dialect");
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("fanlight"), "{error}");
}

fn serve(line: &str) -> ServeArgs {
    let command = parse(line).expect("valid").command;
    let CliCommand::Serve(args) = command else { panic!("{command:?}") };
    *args
}

#[test]
fn settings_have_defaults() {
    let settings = serve("serve").settings().expect("settings");
    assert_eq!(settings, ServeSettings::default());
    assert_eq!(settings.listen.to_string(), "127.0.0.1:4600");
}

#[test]
fn flags_win_over_the_file_and_the_file_over_the_defaults() {
    let folder = std::env::temp_dir().join(format!("fanlight-args-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("fanlight.toml");
    let text =
        "listen = \"127.0.0.1:4700\"\ndemo = true\ntrace_format = \"json\"\nhosts = [\"hub.example\"]\n";
    std::fs::write(&file, text).expect("a file");
    let line = format!("serve --config {} --listen 127.0.0.1:0 --demo=false", file.display());
    let settings = serve(&line).settings().expect("settings");
    assert_eq!(settings.listen.port(), 0);
    assert!(!settings.demo);
    assert_eq!(settings.trace_format, TraceFormat::Json);
    assert_eq!(settings.hosts, ["hub.example"]);
    assert_eq!(settings.log, "sqlite");

    std::fs::write(&file, "lisen = \"127.0.0.1:4700\"\n").expect("a file");
    let error = serve(&format!("serve --config {}", file.display())).settings().expect_err("no such key");
    assert!(error.to_string().contains("lisen"), "{error}");
    std::fs::remove_dir_all(&folder).expect("removed");

    let error = serve(&format!("serve --config {}", file.display())).settings().expect_err("no such file");
    assert!(error.to_string().contains("fanlight.toml"), "{error}");
}

#[test]
fn demo_is_a_flag_that_may_be_denied() {
    assert!(serve("serve --demo").settings().expect("settings").demo);
    assert_eq!(serve("serve").demo, None);
}

#[test]
fn clients_know_which_hub_and_what_to_show() {
    let line = "tail c42 --json --level parts --from e1:7 --until run.end --url http://127.0.0.1:5 --token t";
    let command = parse(line).expect("valid").command;
    let CliCommand::Tail(tail) = command else { panic!("{command:?}") };
    assert!(tail.json);
    assert_eq!((tail.level, tail.until), (client::TailLevel::Parts, Some(model::until::Until::RunEnd)));
    assert_eq!(tail.from.map(|position| position.to_string()).as_deref(), Some("e1:7"));
    let address = tail.hub.address().expect("an address of this machine");
    assert_eq!((address.to_string().as_str(), address.token()), ("http://127.0.0.1:5", Some("t")));
}

#[test]
fn a_speed_is_a_positive_number_or_max() {
    for (text, speed) in [
        ("1", Some(ReplaySpeed::Times(1.0))),
        ("0.5", Some(ReplaySpeed::Times(0.5))),
        ("max", Some(ReplaySpeed::Max)),
    ] {
        assert_eq!(text.parse().ok(), speed);
    }
    for text in ["0", "-1", "inf", "NaN", "fast", ""] {
        assert!(text.parse::<ReplaySpeed>().is_err(), "{text}");
    }
    let replay = "replay r.sse --dialect fanlight --conversation c --speed 10 --run r7";
    assert!(
        matches!(parse(replay).expect("valid").command, CliCommand::Replay(args) if args.speed == ReplaySpeed::Times(10.0))
    );
}

#[test]
fn what_cannot_be_is_a_usage_error() {
    for line in [
        "tail",
        "tail a/b",
        "tail c --from 7",
        "tail c --until tomorrow",
        "tail c --url ftp://hub.example",
        "tee --dialect fanlight",
        "replay --dialect fanlight --conversation c",
        "serve --listen here",
        "dance",
    ] {
        assert_eq!(parse(line).expect_err(line).exit_code(), 2, "{line}");
    }
}

#[test]
fn a_dialect_may_be_a_file_that_describes_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("acme.yaml");
    let described =
        |extract: &str| format!("provider: {{name: acme}}\nstream: {{format: ndjson, extract: {extract}}}\n");
    std::fs::write(&path, described("{text: $.say}")).expect("written");
    let command = format!("fold --dialect {}", path.display());
    let CliCommand::Fold(fold) = parse(&command).expect("valid").command else { panic!("fold") };
    assert_eq!(fold.dialect.name(), "acme");

    std::fs::write(&path, described("{txet: $.say}")).expect("written");
    let error = parse(&command).expect_err("a wrong key").to_string();
    assert!(error.contains("acme.yaml: line 2") && error.contains("txet"), "{error}");
    let missing = parse("fold --dialect nowhere.yaml").expect_err("no such file").to_string();
    assert!(missing.contains("cannot read nowhere.yaml"), "{missing}");
}

#[test]
fn every_sink_of_the_document_is_read() {
    let text = include_str!("../../../../docs/operations.md");
    let example =
        text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let file = tempfile::NamedTempFile::with_suffix(".toml").expect("a file");
    std::fs::write(file.path(), example).expect("written");
    let settings = serve(&format!("serve --config {}", file.path().display())).settings().expect("settings");
    assert_eq!(settings.sinks.len(), 2);
    for sink in &settings.sinks {
        sink.sink().expect("as the hub wants it");
    }
}
