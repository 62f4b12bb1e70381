//! Tests of files that are none.

use super::*;

const HEADER: &str = r#"{"fanlight":"native","version":1,"conversation":"c"}"#;

fn status(seq: u64) -> String {
    format!(r#"{{"k":"status","text":"x","run":"r","seq":{seq},"at":7,"publisher":"p"}}"#)
}

#[test]
fn a_file_is_read_with_seqs_times_and_publishers() {
    let history = read(format!("{HEADER}\n{}\n{}\n", status(1), status(2)).as_bytes()).unwrap();
    assert!(history.state.is_none());
    let last = history.envelopes.last().unwrap();
    assert_eq!((last.seq, last.at, last.publisher.as_ref().unwrap().as_str()), (2, 7, "p"));
    assert_eq!(serde_json::to_string(last).unwrap(), status(2));
}

#[test]
fn a_file_may_begin_with_a_state() {
    let view = View { seq: 41, ..View::default() };
    let begin = String::from_utf8(begin(&view, 5)).unwrap();
    let history = read(format!("{HEADER}\n{begin}{}\n", status(42)).as_bytes()).unwrap();
    assert_eq!(history.state, Some((view, 5)));
    assert_eq!(history.envelopes.len(), 1);
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    for (file, line, why) in [
        (String::new(), "nothing in the file", ""),
        (HEADER.to_owned(), "nothing in the file", ""),
        (status(1), "line 1", "native"),
        (HEADER.replace('1', "2"), "line 1", "version 2"),
        (HEADER.replace("native", "foreign"), "line 1", "foreign"),
        (format!("{HEADER}\n{}\n{}", status(1), status(3)), "line 3", "2 is expected"),
        (format!("{HEADER}\n{}\n{{", status(1)), "line 3", ""),
        (format!("{HEADER}\n\n{{\"k\":\"part.end\",\"seq\":1}}"), "line 3", "part"),
        (format!("{HEADER}\n{{\"k\":\"rate\",\"tokens\":1,\"run\":\"r\",\"seq\":1}}"), "line 2", "no place"),
        (format!("{HEADER}\n{{\"state\":{{\"seq\":\"x\"}},\"at\":1}}"), "line 2", ""),
        (format!("{HEADER}\n{}\n{{\"state\":{{}},\"at\":1}}", status(1)), "line 3", ""),
    ] {
        let problem = serde_json::to_string(&read(file.as_bytes()).unwrap_err()).unwrap();
        assert!(
            problem.contains("bad_event") && problem.contains(line) && problem.contains(why),
            "{problem}"
        );
    }
}
