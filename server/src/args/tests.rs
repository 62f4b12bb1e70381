use clap::CommandFactory as _;

use super::*;

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
    let Command::Fold(fold) = command else { panic!("{command:?}") };
    assert_eq!(fold.dialect, "fanlight");
    assert!(fold.summary);
}

#[test]
fn an_unknown_dialect_is_a_usage_error_that_names_the_known_ones() {
    let error = parse("fold --dialect smoke-signals").expect_err("no such dialect");
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("fanlight"), "{error}");
}

fn serve(line: &str) -> ServeArgs {
    match parse(line).expect("valid").command {
        Command::Serve(args) => args,
        other @ Command::Fold(_) => panic!("{other:?}"),
    }
}

#[test]
fn settings_have_defaults() {
    let settings = serve("serve").settings().expect("settings");
    assert_eq!(settings, Settings::default());
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
    assert_eq!(settings.log, "memory");

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
