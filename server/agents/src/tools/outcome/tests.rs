//! Results of every kind.

use super::*;

fn of(result: Value) -> ToolResult {
    outcome("t".into(), serde_json::from_value(result).unwrap())
}

#[test]
fn one_text_is_a_text_and_several_are_a_list() {
    let one = of(json!({"content": [{"type": "text", "text": "found"}]}));
    assert_eq!((one.output.as_str(), one.is_error, one.files), ("\"found\"", false, None));
    let two = of(
        json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "isError": true}),
    );
    assert!(two.is_error);
    assert_eq!(two.output.to_value(), json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]));
}

#[test]
fn what_is_structured_counts_where_there_is_nothing_else() {
    let structured = json!({"content": [], "structuredContent": {"n": 1}});
    assert_eq!(of(structured).output.to_value(), json!({"n": 1}));
    let both = json!({"content": [{"type": "text", "text": "{\"n\":1}"}], "structuredContent": {"n": 1}});
    assert_eq!(of(both).output.to_text(), "{\"n\":1}");
}

#[test]
fn files_stand_beside_the_text_that_names_them() {
    let result = of(json!({"content": [
        {"type": "image", "data": "aW1hZ2U=", "mimeType": "image/png"},
        {"type": "audio", "data": "c291bmQh", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
        {"type": "resource", "resource": {"uri": "file:///b", "blob": "YmxvYg=="}},
        {"type": "resource_link", "uri": "https://example.org/c", "name": "c"},
    ]}));
    let texts: Vec<_> =
        result.output.to_value().as_array().unwrap().iter().map(|it| it["text"].clone()).collect();
    assert_eq!(texts[0], "[image: image/png, 6 bytes]");
    assert_eq!(texts[2], "[file:///a]\ninside");
    assert_eq!(texts[3], "[file file:///b: application/octet-stream, 6 bytes]");
    assert_eq!(texts[4], "[c https://example.org/c]");
    let files = result.files.unwrap().to_value();
    let urls: Vec<_> = files.as_array().unwrap().iter().map(|file| file["url"].as_str().unwrap()).collect();
    assert_eq!(urls[0], "data:image/png;base64,aW1hZ2U=");
    assert_eq!((urls.len(), urls[3]), (4, "https://example.org/c"));
}

#[test]
fn i7_files_that_are_too_large_are_named_and_left_out() {
    let data = "A".repeat(TOOL_FILES_BYTES_MAX + 4);
    let result = of(json!({"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}));
    assert!(result.output.to_text().ends_with("bytes, left out]"), "{}", result.output.to_text());
    assert_eq!(result.files, None);
}

#[test]
fn pages_are_embeds_and_the_model_reads_those_that_were_not_made_for_the_person() {
    let html = "<!doctype html><p>Hello";
    let result = of(json!({"content": [
        {"type": "resource", "resource": {"uri": "ui://chart/1", "mimeType": "text/html;profile=mcp-app", "text": html}},
        {"type": "resource", "resource": {"uri": "https://example.org/", "mimeType": "text/html", "text": html}},
        {"type": "resource", "resource": {"uri": "ui://b", "mimeType": "text/html", "blob": "PHA+SGk="}},
        {"type": "resource", "resource": {"uri": "ui://c", "mimeType": "text/uri-list", "text": "# one\nhttps://example.org/c\n"}},
    ]}));
    let texts: Vec<_> =
        result.output.to_value().as_array().unwrap().iter().map(|it| it["text"].clone()).collect();
    assert_eq!(texts[0], "[page ui://chart/1: 23 bytes, for the user]");
    assert_eq!(texts[1], format!("[https://example.org/]\n{html}"));
    assert_eq!(result.embeds.unwrap().to_value(), json!([html, html, "<p>Hi", "https://example.org/c"]));
    assert_eq!(result.files, None);
}

#[test]
fn i7_pages_that_are_too_large_are_named_and_left_out() {
    let html = "<".repeat(TOOL_FILES_BYTES_MAX + 1);
    let page = json!({"uri": "ui://p", "mimeType": "text/html", "text": html});
    let result = of(json!({"content": [{"type": "resource", "resource": page}]}));
    assert!(result.output.to_text().ends_with("for the user, left out]"), "{}", result.output.to_text());
    assert_eq!(result.embeds, None);
}
