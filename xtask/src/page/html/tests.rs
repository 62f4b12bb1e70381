//! What the browser would refuse never leaves the build.

use super::{check, hash, move_scripts_out};

const WITH_A_SCRIPT: &str = r#"<!DOCTYPE html><html><head><link rel="modulepreload" href="/web-1.js">
<link rel="stylesheet" href="/style-1.css"></head><body>
<script type="module">
import init from '/web-1.js';
const wasm = await init({ module_or_path: '/web-1_bg.wasm' });
</script></body></html>"#;

#[test]
fn inline_script_moves_into_a_file_named_by_its_hash() {
    let page = move_scripts_out(WITH_A_SCRIPT);
    assert_eq!(page.scripts.len(), 1);
    let script = &page.scripts[0];
    assert!(script.body.starts_with("import init from '/web-1.js';\n"), "{}", script.body);
    assert_eq!(script.name, format!("boot-{}.js", hash(script.body.as_bytes())));
    assert!(page.html.contains(&format!(r#"<script type="module" src="/{}"></script></body>"#, script.name)));
    assert_eq!(check(&page.html), Ok(()));
}

#[test]
fn page_keeps_everything_that_is_no_inline_script() {
    let html = r#"<script src="/a.js" defer></script><p>1 &lt; 2</p><script type="application/json">{"a":1}</script>"#;
    let page = move_scripts_out(html);
    assert_eq!(page.html, html);
    assert!(page.scripts.is_empty());
    assert_eq!(check(&page.html), Ok(()));
}

#[test]
fn moving_twice_changes_nothing() {
    let once = move_scripts_out(WITH_A_SCRIPT).html;
    assert_eq!(move_scripts_out(&once).html, once);
}

#[test]
fn check_names_what_the_policy_refuses() {
    for bad in [
        "<script>alert(1)</script>",
        "<style>p { color: red }</style>",
        r#"<p style="color:red">x</p>"#,
        r#"<img src="/a.png" onerror="x()">"#,
        r#"<a href="javascript:x()">x</a>"#,
    ] {
        assert!(check(bad).is_err(), "{bad}");
    }
    let harmless =
        r#"<html lang="en"><link rel="stylesheet" href="/s.css"><p data-style="1" content="2">style=</p>"#;
    assert_eq!(check(harmless), Ok(()));
}
