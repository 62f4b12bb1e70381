//! Tests of settings in a file: what is said of those that do not fit, and what lies over what.

use clap::Parser as _;

use crate::args::{Args, CliCommand, ServeSettings};

/// The settings of a file with this text, and of these flags.
fn settings(text: &str, flags: &[&str]) -> Result<ServeSettings, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fanlight.toml");
    std::fs::write(&file, text).unwrap();
    let line = ["fanlight", "serve", "--config", file.to_str().unwrap()];
    let command = Args::try_parse_from(line.iter().chain(flags)).unwrap().command;
    let CliCommand::Serve(args) = command else { panic!("{command:?}") };
    args.settings().map_err(|error| error.to_string().replace(file.to_str().unwrap(), "FILE"))
}

#[test]
fn what_does_not_fit_is_said_with_its_key_and_its_file() {
    for (text, begin, end) in [
        ("lisen = 'x'", "unknown field: found `lisen`, expected", "for key \"lisen\" in FILE"),
        (
            "[agents.a]\nmodle = 'm'",
            "unknown field: found `modle`, expected",
            "for key \"agents.a.modle\" in FILE",
        ),
        (
            "[compat.openai]\nping = 5",
            "unknown field: found `ping`, expected",
            "for key \"compat.openai.ping\" in FILE",
        ),
        (
            "idle_after = 'x'",
            "invalid type: found string \"x\", expected u64",
            "for key \"idle_after\" in FILE",
        ),
        (
            "[agents.a]\nmax_tokens = 'many'",
            "invalid type: found string \"many\", expected u64",
            "for key \"agents.a.max_tokens\" in FILE",
        ),
        (
            "[agents.a.price]\ninput = 'many'\noutput = 1",
            "a price is money for a million tokens",
            "and many is not for key \"agents.a.price.input\" in FILE",
        ),
        (
            "[upstreams.x]\nuri = 'http://x'",
            "unknown field: found `uri`, expected",
            "for key \"upstreams.x.uri\" in FILE",
        ),
        (
            "[[sinks]]\nkind = 'file'\npath = 'x'\nkeep = 'x'",
            "invalid type: found string \"x\", expected usize",
            "for key \"sinks[0]\" in FILE",
        ),
        ("trace_format = 'xml'", "unknown variant: found `xml`", "for key \"trace_format\" in FILE"),
        ("retain_age = 'soon'", "\"soon\" is not a length of time", "for key \"retain_age\" in FILE"),
        ("log_max_bytes = -1", "invalid value", "for key \"log_max_bytes\" in FILE"),
        ("idle_after = 1979-05-27", "invalid type: found map", "for key \"idle_after\" in FILE"),
        ("log = 'memory'\na = [1", "FILE: TOML parse error at line 2", ""),
        ("demo = true\ndemo = false", "FILE: TOML parse error at line 2", ""),
    ] {
        let error = settings(text, &[]).unwrap_err();
        assert!(error.starts_with(begin) && error.ends_with(end), "{text}: {error}");
    }
}

#[test]
fn tables_are_joined_and_all_else_is_replaced() {
    let text = "listen = 5\nhosts = ['a', 'b']\n[upstreams.x]\nurl = 'http://file'\napi = 'openai'\n[upstreams.y]\nurl = 'http://y'";
    let flags = [
        "--listen=127.0.0.1:0",
        "--host=c",
        "--upstream=x=http://flag",
        "--log-max-bytes=18446744073709551615",
    ];
    let all = settings(text, &flags).expect("what a flag replaces need not fit");
    assert_eq!((all.listen.port(), all.hosts.as_slice()), (0, ["c".to_owned()].as_slice()));
    assert_eq!(all.log_max_bytes, Some(u64::MAX));
    let upstreams = format!("{:?}", all.upstreams);
    let wanted = ["\"http://flag\"", "Some(\"openai\")", "\"http://y\""];
    assert!(wanted.iter().all(|wanted| upstreams.contains(wanted)), "{upstreams}");
    assert!(!upstreams.contains("http://file"), "{upstreams}");
}
