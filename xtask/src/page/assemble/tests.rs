//! What the marked tags of the HTML become.

use super::*;

const INDEX: &str = r#"<head>
<link data-trunk rel="rust" data-bin="page" data-wasm-opt="0">
<link data-trunk rel="icon" href="favicon.svg">
<link data-trunk rel="css" href="styles/tokens.css">
<link data-trunk rel="css" href="styles/text.css" data-only="page">
<link data-trunk rel="css" href="styles/overview.css" data-only="overview">
<link rel="help" href="/help">
</head>"#;

#[test]
fn marked_tags_become_the_files_that_they_name_and_others_stay() {
    let mut shipped = Vec::new();
    let file = |name: &str| {
        shipped.push(name.to_owned());
        Ok(named(name, b"x"))
    };
    let whole = assembled(INDEX, "page", &program("page-1.js", "fanlight-2_bg.wasm"), file).unwrap();
    assert_eq!(shipped, ["favicon.svg", "styles/tokens.css", "styles/text.css"]);
    assert!(
        whole.contains(&format!("<link rel=\"icon\" href=\"/favicon-{}.svg\">", html::hash(b"x"))),
        "{whole}"
    );
    assert!(whole.contains(&format!("<link rel=\"stylesheet\" href=\"/tokens-{}.css\">", html::hash(b"x"))));
    assert!(whole.contains("<link rel=\"help\" href=\"/help\">\n</head>") && !whole.contains("data-trunk"));
    let page = html::move_scripts_out(&whole);
    let [script] = &page.scripts[..] else { panic!("one script: {:?}", page.scripts) };
    assert_eq!(
        script.body,
        "import init from '/page-1.js';\nawait init({ module_or_path: '/fanlight-2_bg.wasm' });\n"
    );
    assert_eq!(html::check(&page.html), Ok(()));
}

#[test]
fn a_mark_that_nothing_is_known_of_is_named() {
    let file = |_: &str| Ok(String::new());
    let error = assembled(r#"<link data-trunk rel="sass" href="a.scss">"#, "", "", file).unwrap_err();
    assert!(error.to_string().contains(r#"rel="sass""#), "{error}");
}

#[test]
fn a_document_has_the_styles_that_are_meant_for_it_and_its_own_program() {
    let whole = assembled(INDEX, "overview", "<!-- program -->", |name| Ok(named(name, b"x"))).unwrap();
    assert!(
        whole.contains("/overview-") && whole.contains("/tokens-") && !whole.contains("/text-"),
        "{whole}"
    );
    assert!(whole.contains("<!-- program -->") && !whole.contains("data-trunk"), "{whole}");
}
