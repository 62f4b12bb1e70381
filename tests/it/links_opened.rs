//! Links that a browser opens: what a link that is over says, and who stays logged in.

use serde_json::{Value, json};
use tests::TestHub;
use tests::wait::until;

use super::access::{forbidden, guarded, refusal, tell};
use super::access_page::{browser, cookie, log_in};
use super::links::{followed, made, opens, url};

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_is_over_gives_browsers_one_page_whatever_the_reason_and_programs_a_problem() {
    let hub = guarded().await;
    let ann = hub.token_for("ann", &["view,publish,export:*"]).await;
    assert!(tell(&hub, &ann, "c", "hello").await.status().is_success());
    let used = made(&hub, &ann, json!({"conversation": "c", "views": 1})).await;
    followed(&hub, &used).await;
    let revoked = made(&hub, &ann, json!({"conversation": "c"})).await;
    let path = format!("/v1/shares/{}", revoked["id"].as_str().unwrap());
    assert_eq!(hub.request("DELETE", &path).bearer_auth(&ann).send().await.unwrap().status(), 204);
    let short = made(&hub, &ann, json!({"conversation": "c", "expires_s": 1})).await;
    until("the link to expire", async || (opens(&hub, url(&short), &[]).await.status() == 401).then_some(()))
        .await;
    let guessed = "/s/flk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let mut pages = Vec::new();
    for path in [guessed, "/s/cut-off", url(&used), url(&revoked), url(&short)] {
        let page = opens(&hub, path, &[("sec-fetch-dest", "document"), ("sec-fetch-site", "none")]).await;
        assert_eq!(page.status(), 401, "{path}");
        let header = |name: &str| page.headers()[name].to_str().unwrap().to_owned();
        assert!(header("content-type").starts_with("text/html"), "{path}");
        assert_eq!(header("cache-control"), "no-store");
        let policy = header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert!(!page.headers().contains_key("set-cookie"));
        pages.push(page.text().await.unwrap());
        let told = browser().get(hub.url(path)).send().await.unwrap();
        assert_eq!(told.headers()["content-type"], "application/problem+json", "{path}");
        assert_eq!(refusal(told).await, (401, "unauthenticated".to_owned()), "{path}");
    }
    assert!(pages.iter().all(|page| *page == pages[0]), "nobody learns why: {pages:?}");
    assert!(pages[0].contains("no longer works") && pages[0].contains("href=\"/login\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_guessed_too_often_gets_a_page_too() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    std::fs::write(&file, "[access]\nmode = \"tokens\"\n[access.limits]\nfailed_logins_per_minute = 2\n")
        .unwrap();
    let hub = TestHub::start_with(&["--config", file.to_str().unwrap()]).await;
    for _ in 0..2 {
        assert_eq!(opens(&hub, "/s/flk_guess", &[]).await.status(), 401);
    }
    let barred = opens(&hub, "/s/flk_guess", &[]).await;
    assert_eq!(barred.status(), 429);
    assert!(barred.headers().contains_key("retry-after"));
    assert!(barred.text().await.unwrap().contains("Wait a minute"));
    let told = browser().get(hub.url("/s/flk_guess")).send().await.unwrap();
    assert_eq!(refusal(told).await, (429, "too_many".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_logged_in_and_may_see_it_stays_who_they_are_and_uses_no_view() {
    let hub = guarded().await;
    let ann = hub.token_for("ann", &["view,publish,export:*"]).await;
    assert!(tell(&hub, &ann, "c", "hello").await.status().is_success());
    let link = made(&hub, &ann, json!({"conversation": "c", "views": 1})).await;
    let session = cookie(&log_in(&hub, &ann, "%2F").await);
    for _ in 0..2 {
        let opened = opens(&hub, url(&link), &[("cookie", &session), ("sec-fetch-site", "none")]).await;
        assert_eq!((opened.status().as_u16(), &opened.headers()["location"] == "/c/c"), (303, true));
        assert!(!opened.headers().contains_key("set-cookie"), "the session stays");
    }
    let who = browser().get(hub.url("/v1/access")).header("cookie", &session).send().await.unwrap();
    assert_eq!(who.json::<Value>().await.unwrap()["principal"], "ann");
    // The one view is there still; whoever has used it may open the link again.
    let (guest, _) = followed(&hub, &link).await;
    let again = opens(&hub, url(&link), &[("cookie", &guest)]).await;
    assert_eq!(again.status(), 401, "its views are used up");
    let twice = made(&hub, &ann, json!({"conversation": "c", "views": 2})).await;
    let (guest, _) = followed(&hub, &twice).await;
    for _ in 0..3 {
        assert_eq!(opens(&hub, url(&twice), &[("cookie", &guest)]).await.status(), 303);
    }
    followed(&hub, &twice).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_logged_in_otherwise_is_asked_and_loses_the_login_by_a_click_alone() {
    let hub = guarded().await;
    let ann = hub.token_for("ann", &["view,publish,export:*"]).await;
    let bob = hub.token_for("bob <b>", &["view:team-*"]).await;
    assert!(tell(&hub, &ann, "c", "hello").await.status().is_success());
    let link = made(&hub, &ann, json!({"conversation": "c", "views": 1, "for": "Bob & Co"})).await;
    let session = cookie(&log_in(&hub, &bob, "%2F").await);
    let asked = opens(&hub, url(&link), &[("cookie", &session), ("sec-fetch-site", "same-origin")]).await;
    assert_eq!(asked.status(), 200);
    assert!(!asked.headers().contains_key("set-cookie"));
    let page = asked.text().await.unwrap();
    for words in ["<strong>ann</strong>", "Bob &amp; Co", "bob &lt;b&gt;", "method=\"post\"", url(&link)] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let knows = async |cookie: &str| {
        browser().get(hub.url("/v1/access")).header("cookie", cookie).send().await.unwrap().status()
    };
    assert_eq!(knows(&session).await, 200, "nothing has happened yet");
    let post = async |origin: &str| {
        browser()
            .post(hub.url(url(&link)))
            .header("cookie", &session)
            .header("origin", origin)
            .send()
            .await
            .unwrap()
    };
    assert_eq!(post("https://evil.example").await.status(), 403, "no other page clicks for them");
    assert_eq!(knows(&session).await, 200);
    let opened = post(&hub.url("")).await;
    assert_eq!(opened.status(), 303);
    assert_eq!(knows(&session).await, 401, "the login has ended, not only its cookie");
    let guest = cookie(&opened);
    let seen = browser().get(hub.url("/v1/conversations/c")).header("cookie", &guest).send().await.unwrap();
    assert_eq!(seen.status(), 200);
    // The link is used up now. To click again ends no login.
    let session = cookie(&log_in(&hub, &bob, "%2F").await);
    let again = browser().post(hub.url(url(&link))).header("cookie", &session).header("origin", hub.url(""));
    assert_eq!(again.send().await.unwrap().status(), 401);
    assert_eq!(knows(&session).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_another_site_led_here_shows_its_cookie_before_a_view_is_counted() {
    let hub = guarded().await;
    let ann = hub.token_for("ann", &["view,publish,export:*"]).await;
    let link = made(&hub, &ann, json!({"conversation": "c", "views": 1})).await;
    // A mail in a browser: the cookie is SameSite=Strict, so the first request comes without it.
    for site in ["cross-site", "same-site"] {
        let first =
            opens(&hub, url(&link), &[("sec-fetch-site", site), ("sec-fetch-dest", "document")]).await;
        assert_eq!(first.status(), 200);
        assert!(!first.headers().contains_key("set-cookie"), "nobody is logged in as anybody");
        let page = first.text().await.unwrap();
        assert!(page.contains(&format!("0;url={}?again", url(&link))), "{page}");
    }
    // A cookie that comes all the same says nothing: it may be another program's, or one at which the hub does not look from there.
    let ann_there = cookie(&log_in(&hub, &ann, "%2F").await);
    for (site, cookie) in [("same-site", ann_there.as_str()), ("cross-site", "other=program")] {
        let there = [("sec-fetch-site", site), ("sec-fetch-dest", "document"), ("cookie", cookie)];
        let first = opens(&hub, url(&link), &there).await;
        assert_eq!(first.status(), 200, "{site}");
        assert!(!first.headers().contains_key("set-cookie"), "{site}");
        assert!(first.text().await.unwrap().contains("?again"), "{site}");
    }
    // A preview, and a program that checks links.
    let preview = opens(&hub, url(&link), &[("sec-fetch-dest", "empty")]).await;
    assert_eq!(preview.status(), 401);
    assert_eq!(browser().head(hub.url(url(&link))).send().await.unwrap().status(), 401);
    let again = format!("{}?again", url(&link));
    let opened =
        opens(&hub, &again, &[("sec-fetch-site", "cross-site"), ("sec-fetch-dest", "document")]).await;
    assert_eq!(opened.status(), 303, "once is enough, and the view was there still");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_else_vouches_for_cannot_be_left_for_a_link_and_uses_no_view() {
    let hub = guarded().await;
    let ann = hub.token_for("ann", &["view,publish,export:*"]).await;
    let bob = hub.token_for("bob", &["view:team-*"]).await;
    assert!(tell(&hub, &ann, "c", "hello").await.status().is_success());
    let link = made(&hub, &ann, json!({"conversation": "c", "views": 1})).await;
    // Like a header of a proxy, the token comes with each request.
    let token = format!("Bearer {bob}");
    let asked = opens(&hub, url(&link), &[("authorization", &token)]).await;
    assert_eq!(asked.status(), 200);
    let page = asked.text().await.unwrap();
    assert!(page.contains("cannot log you out") && !page.contains("<button"), "{page}");
    let clicked = hub.request("POST", url(&link)).bearer_auth(&bob).send().await.unwrap();
    assert_eq!(refusal(clicked).await, forbidden());
    let program = hub.request("GET", url(&link)).bearer_auth(&bob).send().await.unwrap();
    assert_eq!(refusal(program).await, forbidden());
    followed(&hub, &link).await;
}
