//! How the page travels: packed by the build, kept by browsers under names that change with the content, and allowed to
//! do no more than it needs.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::io::Read as _;

use reqwest::header::HeaderMap;
use serde_json::json;
use tests::browser::DESKTOP;
use tests::{BrowserPage, TestHub};

struct PageAnswer {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl PageAnswer {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

async fn get(hub: &TestHub, path: &str, headers: &[(&str, &str)]) -> PageAnswer {
    let mut request = hub.request("GET", path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = request.send().await.unwrap();
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    PageAnswer { status, headers, body: answer.bytes().await.unwrap().to_vec() }
}

/// The paths of files that the page names: its own scripts, styles and program.
async fn paths(hub: &TestHub) -> Vec<String> {
    let index = String::from_utf8(get(hub, "/", &[]).await.body).unwrap();
    let quoted = index.split(['"', '\'']).filter(|word| word.starts_with('/') && word.contains('.'));
    let mut paths: Vec<String> = quoted.map(str::to_owned).collect();
    let boot = paths.iter().find(|path| path.starts_with("/boot-")).unwrap().clone();
    let boot = String::from_utf8(get(hub, &boot, &[]).await.body).unwrap();
    paths.extend(boot.split(['"', '\'']).filter(|word| word.ends_with("_bg.wasm")).map(str::to_owned));
    paths.sort();
    paths.dedup();
    assert!(paths.iter().any(|path| path.ends_with("_bg.wasm")), "{paths:?}");
    paths
}

fn unpacked(encoding: &str, body: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    match encoding {
        "br" => brotli::BrotliDecompress(&mut &*body, &mut plain).unwrap(),
        "gzip" => drop(flate2::read::GzDecoder::new(body).read_to_end(&mut plain).unwrap()),
        _ => body.clone_into(&mut plain),
    }
    plain
}

#[tokio::test]
async fn each_file_travels_in_the_smallest_form_that_the_browser_takes() {
    let hub = TestHub::start_in_memory().await;
    for path in paths(&hub).await {
        let plain = get(&hub, &path, &[]).await;
        assert_eq!((plain.status, plain.header("content-encoding")), (200, ""), "{path}");
        // What is short does not always get shorter; what draws diagrams is kept in one form.
        if plain.body.len() < 1_000 || path.starts_with("/diagrams-") {
            continue;
        }
        let mut tags = vec![plain.header("etag").to_owned()];
        let mut sizes = vec![plain.body.len()];
        for (accepted, encoding) in [("gzip, deflate", "gzip"), ("gzip, deflate, br, zstd", "br")] {
            let packed = get(&hub, &path, &[("accept-encoding", accepted)]).await;
            assert_eq!((packed.status, packed.header("content-encoding")), (200, encoding), "{path}");
            assert_eq!(packed.header("content-type"), plain.header("content-type"), "{path}");
            assert_eq!(packed.header("vary"), "accept-encoding", "{path}");
            assert_eq!(unpacked(encoding, &packed.body), plain.body, "{path}");
            tags.push(packed.header("etag").to_owned());
            sizes.push(packed.body.len());
        }
        assert!(sizes.is_sorted_by(|a, b| a > b), "{path}: {sizes:?}");
        tags.sort();
        tags.dedup();
        assert_eq!(tags.len(), 3, "{path}: each form has a tag of its own");
        let refused = get(&hub, &path, &[("accept-encoding", "br;q=0, gzip;q=0")]).await;
        assert_eq!(refused.header("content-encoding"), "", "{path}");
    }
}

#[tokio::test]
async fn what_draws_diagrams_is_sent_packed_and_unpacked_for_whoever_takes_no_gzip() {
    let hub = TestHub::start_in_memory().await;
    let all = paths(&hub).await;
    let path =
        all.iter().find(|path| path.starts_with("/diagrams-")).expect("the page was built with diagrams");
    let plain = get(&hub, path, &[]).await;
    assert_eq!((plain.status, plain.header("content-encoding")), (200, ""));
    let packed = get(&hub, path, &[("accept-encoding", "gzip, br")]).await;
    assert_eq!((packed.status, packed.header("content-encoding")), (200, "gzip"));
    assert_eq!(packed.header("vary"), "accept-encoding");
    assert_eq!(unpacked("gzip", &packed.body), plain.body);
    // It is unpacked once, and stays the same.
    assert_eq!(get(&hub, path, &[]).await.body, plain.body);
}

#[tokio::test]
async fn files_are_kept_for_ever_and_the_page_is_asked_for_each_time() {
    let hub = TestHub::start_in_memory().await;
    for path in paths(&hub).await {
        let answer = get(&hub, &path, &[("accept-encoding", "br")]).await;
        assert_eq!(answer.header("cache-control"), "public, max-age=31536000, immutable", "{path}");
    }
    for path in ["/", "/c/anything"] {
        let headers = [("accept-encoding", "br")];
        let answer = get(&hub, path, &headers).await;
        assert_eq!(answer.header("cache-control"), "no-cache", "{path}");
        let tag = answer.header("etag").to_owned();
        let again = get(&hub, path, &[headers[0], ("if-none-match", &tag)]).await;
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
        assert_eq!((again.header("etag"), again.header("vary")), (tag.as_str(), "accept-encoding"), "{path}");
        // The tag of another form is no reason to keep this one.
        let plain = get(&hub, path, &[("if-none-match", &tag)]).await;
        assert_eq!(plain.status, 200, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_policy_lets_the_page_run_and_nothing_else() {
    let hub = TestHub::start_in_memory().await;
    let policy = get(&hub, "/", &[]).await.header("content-security-policy").to_owned();
    let rules: Vec<&str> = policy.split(';').map(str::trim).collect();
    for rule in [
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval'",
        "style-src 'self'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        &format!("frame-src {0}/image {0}/embed", hub.address()),
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
    ] {
        assert!(rules.contains(&rule), "{rule} in {policy}");
    }
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/")).await;
    page.holds("return !!document.querySelector('[data-t=connection][data-state=live]')").await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    // What gets into the document by whatever way does not run.
    page.run(
        "const it = document.createElement('script'); it.textContent = 'window.got_in = true';
         document.head.append(it); document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.got_in = true\">')",
    )
    .await;
    page.run_until("return performance.getEntriesByName(new URL('x', location).href).length", |n| {
        n == &json!(1)
    })
    .await;
    assert_eq!(page.run("return window.got_in ?? false").await, json!(false));
    page.close().await;
}
