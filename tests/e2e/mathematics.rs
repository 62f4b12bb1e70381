//! Formulas and footnotes of answers.

use serde_json::json;
use tests::BrowserPage;
use tests::browser::DESKTOP;

use crate::scene::{OPENING, hub_and_publisher};
use crate::screens::{PicturedView, pictured_high};

/// An answer with formulas, a footnote, code and prices.
const ANSWER: &str = r"# Growth

The rate is \(r = \frac{b - a}{a}\) with $a > 0$; it costs $5 to $10[^1], and `\(x\)` is code.

\[ \sum_{i=1}^{n} i = \frac{n(n+1)}{2} \]

## Cases

$$f(x) = \begin{cases} x & \text{if } x \ge 0 \\ -x & \text{otherwise} \end{cases}$$

$$\mathbf{A} = \begin{pmatrix} 1 & 0 \\ 0 & \sqrt{2} \end{pmatrix}, \quad \left( \frac{\hat{y}}{\bar{x}} \right)^2$$

Broken: \( \frac{a \).

Odd: \(\href{javascript:alert(1)}{x}\).

[^1]: As of *May*.
";

/// A run with the answer in two halves, and a call that fails.
pub(crate) fn run() -> [String; 2] {
    let (first, second) = ANSWER.split_at(ANSWER.find("{a}\\)").expect("the formula"));
    let delta = |text: &str| json!({"k": "part.delta", "run": "r", "part": "p", "text": text}).to_string();
    let start = r#"{"k":"part.start","run":"r","part":"p","kind":"text"}"#;
    let call = r#"{"k":"tool.call","run":"r","tool":"t","name":"run_sql","arguments":"{}"}"#;
    let failed = r#"{"k":"tool.result","run":"r","tool":"t","output":"no such table","is_error":true}"#;
    let end = r#"{"k":"part.end","run":"r","part":"p"}"#;
    [
        format!("{OPENING}\n{call}\n{failed}\n{start}\n{}", delta(first)),
        format!("{}\n{end}\n{{\"k\":\"run.end\",\"run\":\"r\",\"status\":\"complete\"}}", delta(second)),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn formulas_are_source_while_they_grow_and_mathematics_when_their_block_is_final() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let [first, second] = run();
    let head = publisher.says(&first).await.seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.text_until("answer", |text| text.contains("The rate is (r = \\frac{b - a}")).await;
    assert_eq!(page.run("return document.querySelectorAll('math').length").await, 0);
    let head = publisher.says(&second).await.seq;
    page.painted(head).await;
    let drawn = "return [...document.querySelectorAll('.ans math')].map(it => it.querySelector('annotation').textContent)";
    let formulas = page.run_until(drawn, |it| it.as_array().is_some_and(|it| it.len() == 6)).await;
    assert_eq!(formulas[0], r"r = \frac{b - a}{a}");
    assert_eq!(formulas[1], "a > 0");
    page.holds("const it = document.querySelector('.ans math mfrac'); return it.namespaceURI.endsWith('MathML') && it.getBoundingClientRect().height > 12").await;
    // Prices, code and what cannot be read stay as they were written.
    let text = page.text("answer").await;
    for kept in ["it costs $5 to $10", r"\(x\) is code", r"\( \frac{a \)", r"\href"] {
        assert!(text.contains(kept), "{kept} in {text}");
    }
    assert_eq!(
        page.run(
            "return document.querySelectorAll('.ans math [href], .ans math a, .ans math script').length"
        )
        .await,
        0
    );
    assert_eq!(page.run("return document.querySelector('.ans p .note-mark').textContent").await, "1");
    assert_eq!(
        page.run("return document.querySelector('.ans .note-of').innerText.replace(/\\s+/g, ' ').trim()")
            .await,
        "1 As of May."
    );
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn formulas_fit_every_screen_in_both_colours() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let mut head = 0;
    for line in run() {
        head = publisher.says(&line).await.seq;
    }
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.holds("return document.querySelectorAll('.ans math').length === 6").await;
    pictured_high(&page, PicturedView::Formulas, 1_200).await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hit_in_a_formula_marks_the_formula_once() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let [first, second] = run();
    publisher.says(&first).await;
    let head = publisher.says(&second).await.seq;
    let page = BrowserPage::open(DESKTOP).await;
    // Of the source alone, and of letters that are shown too.
    for (word, count) in [("frac%7Bn", 1), ("a%20%3E%200", 1)] {
        page.goto(&hub.url(&format!("/c/c?find={word}"))).await;
        page.painted(head).await;
        page.run_until("return document.querySelectorAll('.ans math').length", |it| it == 6).await;
        page.run_until("return document.querySelectorAll('[data-t=hit]').length", |it| it == count).await;
        page.run_until("return CSS.highlights.get('find')?.size ?? 0", |it| it == count).await;
        page.run("document.querySelector('[data-t=hit]').click()").await;
        page.holds(
            "const [range] = CSS.highlights.get('find'), box = range.getBoundingClientRect();
             return !!range.cloneContents().querySelector('math') && box.width > 10 && box.top > 44 && box.bottom < innerHeight",
        )
        .await;
    }
    page.screenshot("formula-found-light").await;
    page.close().await;
}
