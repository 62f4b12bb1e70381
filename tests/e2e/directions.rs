//! The side from which texts are read: each paragraph from its own.

use serde_json::json;
use tests::BrowserPage;
use tests::browser::DESKTOP;

use crate::scene::hub_and_publisher;
use crate::screens::{PicturedView, pictured};

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
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.holds("return !!document.querySelector('[data-t=answer] pre')").await;
    let sides = "const of = (it) => getComputedStyle(it).direction; const answer = document.querySelector('[data-t=answer]');
        return [document.querySelector('.user'), ...answer.querySelectorAll('h3, p, ul, pre')].map(of)";
    assert_eq!(page.run(sides).await, json!(["rtl", "rtl", "rtl", "rtl", "ltr", "ltr"]));
    pictured(&page, PicturedView::Directions).await;
    page.close().await;
}
