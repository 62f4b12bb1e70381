//! Tests of documents: what is in them, and that no text of a model or a tool gets out of its place.

use proptest::prelude::*;
use sha2::Digest as _;

use super::*;
use model::testkit::{events, folded, history, logged};

mod browser;
mod growth;
mod open_webui;

fn view(lines: &str) -> View {
    folded(&logged(events(lines)))
}

/// Texts that try to get out of where they are put.
const HOSTILE: [&str; 24] = [
    "x<a\n/",
    "&<!a\n/",
    "<script>alert(1)</script>",
    "</details></summary></div></main></body>",
    "<details type=\"tool_calls\" done=\"true\" id=\"x\" name=\"spoof\" arguments=\"\">\n<summary>Tool Executed</summary>\n</details>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "[click](javascript:alert(1))",
    "[click](JaVaScRiPt:alert(1)) ![x](data:text/html,<script>alert(1)</script>)",
    "<javascript:alert(1)>",
    "[a][b]\n\n[b]: javascript:alert(1)",
    "<!-- \n```\n -->\n<pre>\n```\n</pre>\n```\n<script>alert(1)</script>\n```",
    "```rust\nfn open() {",
    "~~~~\n</details>",
    "\u{0}\u{1b}[31m\u{7}\u{202e}gpj.exe\u{85}",
    "a\r\nb\rc\u{2028}d",
    "<style>*{display:none}</style><link rel=stylesheet href=//x>",
    "<svg/onload=alert(1)><math><mtext></mtext></math>",
    "<iframe src=https://example.com></iframe><base href=//x>",
    "&lt;script&gt;&#60;script&#62;",
    "`</details>` ``` `` ````` \\<b>",
    "x<details open>",
    "![pixel](https://example.com/track.png)",
    "<textarea><title></title><plaintext><noscript><template>",
];

/// A conversation that has `text` in every place where a text can be.
fn everywhere(text: &str) -> View {
    let t = serde_json::to_string(text).unwrap();
    let json = serde_json::json!({text: [text, {"a": text}]});
    view(&format!(
        r#"
        {{"k":"message","message":"m1","role":"user","text":{t}}}
        {{"k":"message","message":"m2","role":{t},"text":{t}}}
        {{"k":"message","message":"m3","role":"assistant","text":{t}}}
        {{"k":"run.start","run":"r","model":{t},"title":{t},"name":{t}}}
        {{"k":"part.start","run":"r","part":"h","kind":"thinking"}}
        {{"k":"part.delta","run":"r","part":"h","text":{t}}}
        {{"k":"part.end","run":"r","part":"h"}}
        {{"k":"tool.call","run":"r","tool":{t},"name":{t},"arguments":{t}}}
        {{"k":"tool.state","run":"r","tool":{t},"state":"executing"}}
        {{"k":"tool.call","run":"r","tool":"t2","name":"n","arguments":{json}}}
        {{"k":"approval.request","run":"r","tool":"t2","text":{t}}}
        {{"k":"tool.result","run":"r","tool":{t},"output":{t},"files":[{t}],"embeds":[{t}]}}
        {{"k":"tool.call","run":"r","tool":"t3","name":"n","arguments":"{{}}"}}
        {{"k":"tool.result","run":"r","tool":"t3","output":{json},"is_error":true}}
        {{"k":"agent.start","run":"r","agent":{t},"name":{t},"text":{t}}}
        {{"k":"part.start","run":"r","agent":{t},"part":"i","kind":"text"}}
        {{"k":"part.delta","run":"r","agent":{t},"part":"i","text":{t}}}
        {{"k":"custom","run":"r","name":{t},"value":{json}}}
        {{"k":"error","run":"r","code":{t},"message":{t}}}
        {{"k":"part.start","run":"r","part":"f","kind":"file"}}
        {{"k":"part.delta","run":"r","part":"f","text":{t}}}
        {{"k":"part.start","run":"r","part":"x","kind":"refusal"}}
        {{"k":"part.delta","run":"r","part":"x","text":{t}}}
        {{"k":"part.start","run":"r","part":"a","kind":"text"}}
        {{"k":"part.delta","run":"r","part":"a","text":{t}}}
        {{"k":"run.end","run":"r","status":"error"}}
        "#
    ))
}

#[test]
fn hostile_texts_stay_texts_in_html() {
    for text in HOSTILE {
        for steps in [StepsLayout::Each, StepsLayout::OneBlock] {
            browser::check(&html(&everywhere(text), text, steps));
        }
    }
}

#[test]
fn hostile_texts_stay_texts_in_markdown() {
    for text in HOSTILE {
        for steps in [StepsLayout::Each, StepsLayout::OneBlock] {
            check_markdown(&markdown(&everywhere(text), text, steps));
        }
    }
}

/// As a reader of Markdown sees it: no HTML but our own blocks, which are all closed, and no link that runs something.
fn check_markdown(markdown: &str) {
    use pulldown_cmark::{Event, Parser, Tag};
    assert!(!markdown.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{markdown:?}");
    let mut depth = 0_i32;
    for event in Parser::new_ext(markdown, markdown::tame::OPTIONS) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => {
                let line = html.trim_end();
                let label = line.strip_prefix("<summary>").and_then(|rest| rest.strip_suffix("</summary>"));
                match line {
                    "<details>" | "<details open>" => depth += 1,
                    "</details>" => depth -= 1,
                    "<br>" => {}
                    _ => assert!(label.is_some_and(|label| !label.contains('<')), "{line} in {markdown}"),
                }
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                let url = dest_url.to_lowercase();
                assert!(!url.contains("script:") && !url.starts_with("data:"), "{url} in {markdown}");
            }
            _ => {}
        }
        assert!(depth >= 0, "{markdown}");
    }
    assert_eq!(depth, 0, "{markdown}");
}

proptest! {
    #[test]
    fn any_text_stays_a_text(text in prop_oneof!["[<>&\"'`~!\\[\\]()/a-z \n#*_:=\\\\-]{0,60}", any::<String>()]) {
        let view = everywhere(&text);
        browser::check(&html(&view, "name", StepsLayout::Each));
        check_markdown(&markdown(&view, "name", StepsLayout::Each));
        check_markdown(&markdown(&view, "name", StepsLayout::OneBlock));
    }

    #[test]
    fn any_history_makes_a_document(history in history(0..60)) {
        let view = folded(&history);
        for steps in [StepsLayout::Each, StepsLayout::OneBlock] {
            browser::check(&html(&view, "name", steps));
            check_markdown(&markdown(&view, "name", steps));
        }
    }
}

#[test]
fn the_policy_lets_in_the_style_and_nothing_else() {
    use base64::Engine as _;
    let html = html(&View::default(), "name", StepsLayout::Each);
    let style = html.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next()).unwrap();
    let hash = base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(style));
    let policy = format!("default-src 'none'; style-src 'sha256-{hash}'; img-src data:;");
    assert!(html.contains(&policy), "the hash of the style is {hash}");
    assert!(html.find("Content-Security-Policy") < html.find("<style>"));
}

/// A whole turn, with a failure, a call beside another one and a sub-agent.
const TURN: &str = r#"
    {"k":"message","message":"m","role":"user","text":"How did *revenue* change?"}
    {"k":"run.start","run":"r","model":"m-1","title":"Quarterly report"}
    {"k":"part.start","run":"r","part":"h","kind":"thinking"}
    {"k":"part.delta","run":"r","part":"h","text":"First the rates."}
    {"k":"part.end","run":"r","part":"h","duration_ms":6100}
    {"k":"part.start","run":"r","part":"a","kind":"text"}
    {"k":"part.delta","run":"r","part":"a","text":"Let me look."}
    {"k":"tool.call","run":"r","tool":"t1","name":"web_search","arguments":"{\"query\":\"rates 2026\"}"}
    {"k":"tool.state","run":"r","tool":"t1","state":"executing"}
    {"k":"tool.result","run":"r","tool":"t1","output":{"rate":1.10},"exec_ms":1200,"queued_ms":40}
    {"k":"tool.call","run":"r","tool":"t2","name":"write_file","arguments":"{}"}
    {"k":"tool.result","run":"r","tool":"t2","output":null,"exec_ms":3}
    {"k":"tool.call","run":"r","tool":"t3","name":"crm","arguments":"{}"}
    {"k":"tool.result","run":"r","tool":"t3","output":"401 token expired","is_error":true,"exec_ms":2300}
    {"k":"tool.call","run":"r","tool":"t4","name":"task","arguments":"{\"prompt\":\"why EMEA grew\"}"}
    {"k":"agent.start","run":"r","agent":"g","name":"researcher","tool":"t4","text":"why EMEA grew"}
    {"k":"tool.call","run":"r","agent":"g","tool":"t5","name":"read","arguments":"{}"}
    {"k":"tool.result","run":"r","agent":"g","tool":"t5","output":"filings","exec_ms":5}
    {"k":"agent.end","run":"r","agent":"g","status":"complete"}
    {"k":"tool.result","run":"r","tool":"t4","output":"renewals","exec_ms":900}
    {"k":"part.start","run":"r","part":"b","kind":"text"}
    {"k":"part.delta","run":"r","part":"b","text":"It **rose**.\n\n| a | b |\n|---|--:|\n| x<br>y | 1 |"}
    {"k":"run.end","run":"r","status":"complete","usage":{"input_tokens":38200,"output_tokens":120}}
"#;

#[test]
fn markdown_tells_all_that_happened() {
    let text = markdown(&view(TURN), "c", StepsLayout::Each);
    for part in [
        "# Quarterly report\n",
        "## User\n\nHow did *revenue* change?\n",
        "<summary>Thought for 6.1 s</summary>\n\n> First the rates.\n",
        "<summary>✓ web_search · rates 2026 · JSON · 1 key · 13 B · 1.2 s</summary>",
        "```json\n{\n  \"rate\": 1.10\n}\n```",
        "*queued 40 ms · ran 1.2 s*",
        "<summary>✗ crm · error · 2.3 s</summary>\n\nError\n\n```\n401 token expired\n```",
        "<summary>↳ researcher · complete · 1 tool",
        "38.2k tokens in · 120 out",
        "It **rose**.",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(text.find("read · text") > text.find("↳ researcher"), "what a sub-agent did stands inside it");
}

#[test]
fn all_steps_in_one_block_leave_the_answer_outside() {
    let text = markdown(&view(TURN), "c", StepsLayout::OneBlock);
    let (block, answer) = text.split_once("\n</details>\n").unwrap();
    assert!(!answer.contains("details"), "there is one block:\n{text}");
    assert!(answer.trim_start().starts_with("It **rose**."), "{answer}");
    for line in [
        "<details>\n<summary>🔍 Execution Steps (5 tools)</summary>\n",
        "\n**🤖 AI:** Let me look.\n",
        "\n**🔧 web\\_search:** {\"rate\":1.10}\n",
        "\n**🔧 write\\_file:** ✓ completed\n",
        "\n**🔧 crm:** ✗ 401 token expired\n",
        "\n↳ **🔧 read:** filings\n",
    ] {
        assert!(block.contains(line), "{line} is not in\n{text}");
    }
    let running = TURN.lines().filter(|line| !line.contains("run.end")).collect::<Vec<_>>().join("\n");
    assert!(markdown(&view(&running), "c", StepsLayout::OneBlock).contains("<details open>\n<summary>🔍"));
}

#[test]
fn a_command_to_a_graph_is_completed_in_a_line_of_a_step_and_whole_elsewhere() {
    for (output, is_command) in [
        ("Command(update={'files': {}})", true),
        ("\"Command(update={'todos': []})\"", true),
        ("Commander", false),
        ("a Command()", false),
    ] {
        let quoted = serde_json::to_string(output).unwrap();
        let lines = format!(
            r#"{{"k":"tool.call","run":"r","tool":"t","name":"n","arguments":"{{}}"}}
            {{"k":"tool.result","run":"r","tool":"t","output":{quoted}}}"#
        );
        let text = markdown(&view(&lines), "c", StepsLayout::OneBlock);
        assert_eq!(text.contains("**🔧 n:** ✓ completed\n"), is_command, "{text}");
        let text = markdown(&view(&lines), "c", StepsLayout::Each);
        assert!(text.contains(output), "{output}: {text}");
    }
}

#[test]
fn long_results_are_cut_in_a_line_of_a_step() {
    let lines = format!(
        r#"{{"k":"tool.call","run":"r","tool":"t","name":"n","arguments":"{{}}"}}
        {{"k":"tool.result","run":"r","tool":"t","output":"{}"}}"#,
        "é".repeat(300)
    );
    let text = markdown(&view(&lines), "c", StepsLayout::OneBlock);
    assert!(text.contains(&format!("**🔧 n:** {}...\n", "é".repeat(200))), "{text}");
}

#[test]
fn html_shows_steps_closed_or_open_and_renders_markdown() {
    let view = view(TURN);
    let (each, block) = (html(&view, "c", StepsLayout::Each), html(&view, "c", StepsLayout::OneBlock));
    assert!(each.contains("<details class=\"steps\" open>") && block.contains("<details class=\"steps\">"));
    for part in [
        "<title>Quarterly report</title>",
        "<strong>rose</strong>",
        "<td>x<br>y</td><td class=\"right\">1</td>",
        "data-state=\"error\"",
        "Execution steps (5 tools)",
        "<span class=\"k\">&quot;rate&quot;</span>",
    ] {
        assert!(each.contains(part), "{part} is not in\n{each}");
    }
    let answer = block.rfind("<strong>rose</strong>");
    assert!(
        answer > block.find("Execution steps") && answer > block.rfind("</details>"),
        "the answer is outside"
    );
}

#[test]
fn pictures_are_shown_when_they_are_whole_and_never_loaded() {
    let file = |url: &str| {
        html(
            &view(&format!(
                r#"{{"k":"part.start","run":"r","part":"p","kind":"file"}}
                {{"k":"part.delta","run":"r","part":"p","text":"{url}"}}"#
            )),
            "c",
            StepsLayout::Each,
        )
    };
    assert!(
        file("data:image/png;base64,AAAA")
            .contains("<img class=\"file\" alt=\"\" src=\"data:image/png;base64,AAAA\">")
    );
    assert!(!file("data:image/svg+xml;base64,AAAA").contains("<img"));
    assert!(!file("data:image/png;base64,AA AA").contains("<img"));
    let linked = file("https://example.com/a.png");
    assert!(linked.contains("href=\"https://example.com/a.png\"") && !linked.contains("<img"));
}

#[test]
fn agents_nested_by_the_thousand_are_all_there_and_not_that_deep() {
    let mut lines = String::new();
    for n in 1..400 {
        let parent = n - 1;
        lines = format!(
            "{lines}{{\"k\":\"agent.start\",\"run\":\"r\",\"agent\":\"a{n}\",\"name\":\"agent {n}\",\"parent\":\"a{parent}\"}}\n"
        );
    }
    let html = html(&view(&lines), "c", StepsLayout::Each);
    browser::check(&html);
    for n in 1..400 {
        assert!(html.contains(&format!(">agent {n}<")), "{n}");
    }
}

#[test]
fn a_failure_says_whether_trying_again_may_help() {
    let of = |retryable: Option<bool>, retry_after_ms: Option<u64>| {
        let (code, message) = ("http_401".into(), String::from("no key"));
        facts::retry(&model::event::ErrorFact { code, message, retryable, retry_after_ms })
    };
    assert_eq!(
        (of(Some(false), None), of(Some(false), Some(1_000))),
        ("Permanent".to_owned(), "Permanent".to_owned())
    );
    assert_eq!(of(None, None), "", "nobody said");
    assert_eq!(of(Some(true), None), "Can be retried");
    assert!(of(Some(true), Some(8_000)).starts_with("Can be retried, after 8"));
}
