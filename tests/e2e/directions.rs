//! The side from which texts are read: each paragraph from its own.

use serde_json::json;
use tests::BrowserPage;

use crate::scene::{LOOKS, hub_and_publisher};

/// A question and an answer in Arabic, with a list, English words and code.
const ARABIC: &str = r###"
    {"k":"message","message":"m","role":"user","text":"كيف تغيرت الإيرادات هذا الربع؟"}
    {"k":"run.start","run":"r"}
    {"k":"part.start","run":"r","part":"p","kind":"text"}
    {"k":"part.delta","run":"r","part":"p","text":"## الإيرادات\n\nارتفعت الإيرادات بنسبة 8.4 % في EMEA.\n\n- تجديدات المؤسسات\n- قائمة الأسعار الجديدة\n\nThe Americas were flat.\n\n```sql\nselect net from sales;\n```\n"}
    {"k":"part.end","run":"r","part":"p"}
    {"k":"run.end","run":"r","status":"complete"}
"###;

#[tokio::test(flavor = "multi_thread")]
async fn each_paragraph_is_read_from_its_own_side_and_code_from_the_left() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says(ARABIC).await.seq;
    for (name, screen) in LOOKS {
        let page = BrowserPage::open(screen).await;
        page.goto(&hub.url("/c/c")).await;
        page.painted(head).await;
        page.holds("return !!document.querySelector('[data-t=answer] pre')").await;
        let sides = "const of = (it) => getComputedStyle(it).direction; const answer = document.querySelector('[data-t=answer]');
             return [document.querySelector('.user'), ...answer.querySelectorAll('h3, p, ul, pre')].map(of)";
        let sides = page.run(sides).await;
        assert_eq!(sides, json!(["rtl", "rtl", "rtl", "rtl", "ltr", "ltr"]), "{name}");
        let overflow = page.run("return document.documentElement.scrollWidth - window.innerWidth").await;
        assert!(overflow.as_i64().unwrap() <= 0, "{name} scrolls sideways by {overflow} px");
        page.screenshot(&format!("directions-{name}")).await;
        page.close().await;
    }
}
