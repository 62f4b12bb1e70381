//! Diagrams in the language of Mermaid: drawn when their block is final, in both colours, without rights.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tests::browser::{DESKTOP, Screen};
use tests::wait::patiently_until;
use tests::{BrowserPage, TestPublisher};
use tokio::net::TcpListener;

use crate::scene::{OPENING, hub_and_publisher};
use crate::screens::{PicturedView, dark, pictured_high};

/// The diagrams that models write, and words that their drawings show.
const DRAWN: [(&str, &str); 6] = [
    (
        "Flowchart: Production, Yes, No, Start, Is the build green?",
        "flowchart TD\n  A[Start] --> B{Is the build green?}\n  B -->|Yes| C[Deploy to staging]\n  B -- No --> D[Fix the tests]\n  D --> B\n  \
         subgraph Production\n    C --> F[(Database)]\n  end",
    ),
    (
        "Sequence diagram: ",
        "sequenceDiagram\n  autonumber\n  actor U as User\n  participant H as Hub\n  U->>+H: Ask a question\n  loop Every token\n    H-->>U: delta\n  end\n  \
         Note over U,H: The stream is logged\n  H-->>-U: answer",
    ),
    (
        "State diagram: ",
        "stateDiagram-v2\n  [*] --> Idle\n  Idle --> Running : start\n  Running --> Idle : done\n  state Running {\n    [*] --> Thinking\n    \
         Thinking --> Calling : tool\n  }",
    ),
    (
        "Class diagram: ",
        "classDiagram\n  class Hub {\n    +String address\n    +publish(event) Seq\n  }\n  Hub \"1\" --> \"*\" Viewer : fans out\n  Viewer <|-- Browser",
    ),
    (
        "Entity relationship diagram: ",
        "erDiagram\n  CUSTOMER ||--o{ ORDER : places\n  CUSTOMER {\n    string name PK\n    string email\n  }",
    ),
    (
        "Gantt chart: ",
        "gantt\n  title Release plan\n  dateFormat YYYY-MM-DD\n  section Build\n  Parser :done, a1, 2026-01-05, 10d\n  Renderer :active, a2, after a1, 14d\n  \
         section Ship\n  Beta :crit, b1, after a2, 7d",
    ),
];

/// A fenced block.
fn fenced(source: &str) -> String {
    format!("```mermaid\n{source}\n```\n\n")
}

/// Says `text` as the whole answer of a run, and returns the seq.
async fn answers(publisher: &mut TestPublisher, text: &str) -> u64 {
    let start = json!({"k": "part.start", "run": "r", "part": "p", "kind": "text"});
    let delta = json!({"k": "part.delta", "run": "r", "part": "p", "text": text});
    let end = json!({"k": "part.end", "run": "r", "part": "p"});
    let done = json!({"k": "run.end", "run": "r", "status": "complete"});
    publisher.says(&format!("{OPENING}\n{start}\n{delta}\n{end}\n{done}")).await.seq
}

/// Opens the page at `url`, which must have been built with diagrams.
async fn open(screen: Screen, url: &str) -> BrowserPage {
    let page = BrowserPage::open(screen).await;
    page.goto(url).await;
    let script = page.run("return document.querySelector('meta[name=diagrams]')?.content ?? ''").await;
    assert_ne!(script, "", "the page was built without diagrams: build it where npm can fetch Mermaid");
    page
}

/// How each block stands: its `data-drawn`, in order.
const STATES: &str = "return [...document.querySelectorAll('.code')].map(it => it.dataset.drawn ?? '')";

/// What a drawn block shows: the description and size of the image that is seen, and how much of its pixels is not empty.
const SEEN: &str = "
    const image = [...document.querySelectorAll('.diagram img')].filter(it => it.offsetWidth)[NUMBER];
    if (!image || !image.complete || !image.naturalWidth) return null;
    const sheet = document.createElement('canvas'), pen = sheet.getContext('2d');
    [sheet.width, sheet.height] = [image.naturalWidth, image.naturalHeight];
    pen.drawImage(image, 0, 0);
    const dots = pen.getImageData(0, 0, sheet.width, sheet.height).data;
    let inked = 0;
    for (let at = 3; at < dots.length; at += 4) if (dots[at] > 0) inked++;
    return {alt: image.alt, width: image.offsetWidth, height: image.offsetHeight, inked: inked * 4 / dots.length}";

#[tokio::test(flavor = "multi_thread")]
async fn a_diagram_is_code_while_it_grows_and_drawn_when_its_block_is_final() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let part = |text: &str| json!({"k": "part.delta", "run": "r", "part": "p", "text": text}).to_string();
    let start = json!({"k": "part.start", "run": "r", "part": "p", "kind": "text"});
    let begun = part("```mermaid\nflowchart LR\n  A[Start] --> B[Fin");
    let head = publisher.says(&format!("{OPENING}\n{start}\n{begun}")).await.seq;
    let page = open(DESKTOP, &hub.url("/c/c")).await;
    page.painted(head).await;
    page.text_until("answer", |text| text.contains("A[Start] --> B[Fin")).await;
    assert_eq!(page.run(STATES).await, json!([""]));
    assert_eq!(page.run("return performance.getEntriesByType('resource').filter(it => it.name.includes('/diagrams-')).length").await, 0);
    let head = publisher.says(&part("ish]\n```\n\nThat is all.\n\nReally.")).await.seq;
    page.painted(head).await;
    page.run_until(STATES, |it| *it == json!(["drawn"])).await;
    let seen = page.run_until(&SEEN.replace("NUMBER", "0"), |it| !it.is_null()).await;
    assert_eq!(seen["alt"], "Flowchart: Start, Finish");
    assert!(seen["width"].as_f64().unwrap() > 100.0 && seen["height"].as_f64().unwrap() > 30.0, "{seen}");
    assert!(seen["inked"].as_f64().unwrap() > 0.02, "{seen}");
    // The source is a click away, and copied as it is.
    page.holds("return document.querySelector('.code pre').offsetHeight === 0").await;
    page.run("document.querySelector('[data-turn]').click()").await;
    page.holds("return document.querySelector('.code pre').offsetHeight > 40 && !document.querySelector('.diagram').offsetHeight").await;
    assert_eq!(page.run("return document.querySelector('[data-turn]').ariaPressed").await, "true");
    page.run("document.querySelector('[data-turn]').click()").await;
    page.holds("return document.querySelector('.diagram').offsetHeight > 30").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_diagrams_that_models_write_are_drawn_in_both_colours() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let text = DRAWN.iter().map(|(_, source)| fenced(source)).collect::<Vec<_>>().concat();
    let head = answers(&mut publisher, &text).await;
    for screen in [dark(DESKTOP), DESKTOP] {
        let page = open(Screen { height: 5_000, ..screen }, &hub.url("/c/c")).await;
        page.painted(head).await;
        page.run_until(STATES, |it| *it == json!(vec!["drawn"; 6])).await;
        for (at, (words, _)) in DRAWN.into_iter().enumerate() {
            let seen = page.run_until(&SEEN.replace("NUMBER", &at.to_string()), |it| !it.is_null()).await;
            let alt = seen["alt"].as_str().unwrap();
            assert!(alt.starts_with(words) && alt.len() > words.len(), "{alt} for {words}");
            assert!(
                seen["width"].as_f64().unwrap() > 80.0 && seen["inked"].as_f64().unwrap() > 0.01,
                "{seen}"
            );
        }
        if !screen.dark {
            pictured_high(&page, PicturedView::Diagrams, 5_000).await;
        }
        page.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diagram_that_cannot_be_drawn_stays_code_and_says_why() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let text = [
        fenced("flowchart TD\n  A[Start --> B"),
        fenced("Here is what I think"),
        fenced("flowchart LR\n  Good --> Fine"),
    ];
    let head = answers(&mut publisher, &text.concat()).await;
    let page = open(Screen { height: 3_000, ..DESKTOP }, &hub.url("/c/c")).await;
    page.painted(head).await;
    page.run_until(STATES, |it| it[0] == "refused" && it[1] == "refused").await;
    page.holds("return document.querySelectorAll('.code')[0].querySelector('pre').offsetHeight > 20").await;
    let why = page.run("return [...document.querySelectorAll('.why')].map(it => it.textContent)").await;
    assert_eq!(why[0], "Not drawn: Mermaid cannot read it after “TD A[Start --> B”.");
    assert!(why[1].as_str().unwrap().starts_with("Not drawn: No diagram type detected"), "{why}");
    page.holds("return !document.querySelector('[data-again]')").await;
    page.run_until(STATES, |it| it[2] == "drawn").await;
    pictured_high(&page, PicturedView::DiagramRefused, 1_200).await;
    page.close().await;
}

/// Diagrams that try to run something, to load something from `host`, or to say something to the page.
fn attacks(host: &str) -> Vec<String> {
    let diagrams = [
        format!(
            "flowchart TD\n  A[One] --> B[Two]\n  click A call alert(1)\n  click A \"javascript:alert(1)\"\n  click B href \"http://{host}/click\" _self"
        ),
        format!(
            "%%{{init: {{\"securityLevel\": \"loose\", \"htmlLabels\": true, \"flowchart\": {{\"htmlLabels\": true}}, \"maxEdges\": 100000}}}}%%\nflowchart TD\n  \
             A[\"<img src=http://{host}/label onerror=parent.postMessage('x','*')>\"] --> B[\"<script>parent.postMessage('x','*')</script>b\"]\n  B --> C[\"<svg onload=alert(1)>c\"]"
        ),
        format!(
            "flowchart TD\n  A@{{ img: \"http://{host}/shape\", label: \"Shape\" }} --> B[\"<a href='http://{host}/a'>b</a>\"]"
        ),
        format!(
            "flowchart TD\n  A --> B\n  style A fill:url(http://{host}/fill)\n  classDef x background:url(http://{host}/class)\n  class B x"
        ),
        format!(
            "%%{{init: {{\"themeCSS\": \"@import url(http://{host}/css); * {{background: url(http://{host}/css2)}}\", \"fontFamily\": \"x;}} * {{background:url(http://{host}/font)}}\"}}}}%%\nflowchart TD\n  A --> B"
        ),
        format!(
            "sequenceDiagram\n  participant A\n  link A: Out @ http://{host}/link\n  A->>A: <iframe src=http://{host}/frame></iframe>"
        ),
        format!("classDiagram\n  class A\n  link A \"http://{host}/class\"\n  callback A \"alert\""),
    ];
    diagrams.iter().map(|it| fenced(it)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_diagram_runs_nothing_and_fetches_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let host = listener.local_addr().expect("an address").to_string();
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let attacks = attacks(&host);
    let head =
        answers(&mut publisher, &format!("{}{}", attacks.concat(), fenced("flowchart LR\n  Good --> Fine")))
            .await;
    let page = open(Screen { height: 8_000, ..DESKTOP }, &hub.url("/c/c")).await;
    page.run(
        "window.told = []; addEventListener('message', it => told.push(it.data)); window.alert = it => told.push(it);
        addEventListener('securitypolicyviolation', it => told.push(it.blockedURI))",
    )
    .await;
    page.painted(head).await;
    let all = |it: &Value| {
        it.as_array().is_some_and(|all| {
            all.len() == attacks.len() + 1 && all.iter().all(|it| it == "drawn" || it == "refused")
        })
    };
    let states = page.run_until(STATES, all).await;
    assert_eq!(states[attacks.len()], "drawn", "{states}");
    assert!(
        states.as_array().unwrap().iter().filter(|it| *it == "drawn").count() >= 4,
        "some of them are diagrams: {states}"
    );
    // Nothing of them is in the page but images, which have no rights.
    assert_eq!(page.run("return document.querySelectorAll('.ans script, .ans svg, .ans iframe, .ans foreignObject, .diagram a').length").await, 0);
    page.holds("return [...document.querySelectorAll('.diagram img')].every(it => it.src.startsWith('data:image/svg+xml') && it.complete)").await;
    let told = page.run("return told.filter(it => { try { const {ready, number} = JSON.parse(it); return !ready && !number } catch { return true } })").await;
    assert_eq!(told, json!([]), "only the drawings are told");
    // A click into one goes nowhere.
    page.run("document.querySelectorAll('.diagram img').forEach(it => it.click())").await;
    assert!(page.run("return location.href").await.as_str().unwrap().ends_with("/c/c"));
    page.screenshot("diagrams-hostile").await;
    page.close().await;
    // Whoever had connected would wait in the queue of the listener.
    let connected =
        tokio::select! { biased; met = listener.accept() => Some(met), () = std::future::ready(()) => None };
    assert!(connected.is_none(), "{connected:?} was fetched");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_diagram_stays_code_and_says_why() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let pairs: Vec<_> = (0..150).map(|at| format!("A{at} --> B{at}\n")).collect();
    let pairs = pairs.concat();
    let lines: Vec<_> = (0..160).map(|at| format!("A{} --> B{}\n", at * 7 % 97, at * 13 % 89)).collect();
    let lines = lines.concat();
    let text = [
        fenced(&format!("flowchart TD\n{lines}")),
        fenced(&format!("classDiagram\n{lines}")),
        fenced(&format!("flowchart TD\nA[{}]", "x".repeat(8 << 10))),
        // 150 lines, and 301 nodes. That 300 are drawn is shown by the next test.
        fenced(&format!("flowchart LR\n{pairs}C")),
    ];
    let head = answers(&mut publisher, &text.concat()).await;
    let page = open(Screen { height: 40_000, ..DESKTOP }, &hub.url("/c/c")).await;
    page.painted(head).await;
    page.run_until(STATES, |it| *it == json!(["refused", "refused", "refused", "refused"])).await;
    let why = page.run("return [...document.querySelectorAll('.why')].map(it => it.textContent)").await;
    let many = "Not drawn: it has more than 150 lines between nodes, or 300 nodes.";
    let large = "Not drawn: it has 8 KiB, and diagrams of up to 8 KiB are drawn.";
    assert_eq!(why, json!([many, many, large, many]));
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_largest_diagram_is_drawn_with_all_its_nodes_however_long_it_takes() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let pairs: Vec<_> = (0..150).map(|at| format!("A{at} --> B{at}\n")).collect();
    let page = open(Screen { height: 20_000, ..DESKTOP }, &hub.url("/c/c")).await;
    // The time that the page waits for a drawing never ends here: a slow machine takes longer.
    page.run(
        "const after = window.setTimeout.bind(window);
        window.waits = 0;
        window.setTimeout = (work, ms, ...more) => ms === 15000 ? (waits++, 0) : after(work, ms, ...more)",
    )
    .await;
    let head = answers(&mut publisher, &fenced(&format!("flowchart LR\n{}", pairs.concat()))).await;
    page.painted(head).await;
    let drawn = || async { (page.run(STATES).await == json!(["drawn"])).then_some(()) };
    patiently_until("the drawing", drawn).await;
    assert!(page.run("return waits").await.as_u64() >= Some(1), "the page waits for so long at most");
    let drawing = "return decodeURIComponent(document.querySelector('.diagram img').src)";
    let drawing = page.run(drawing).await;
    let drawing = drawing.as_str().expect("a drawing");
    let wanted: BTreeSet<String> = (0..150).flat_map(|at| [format!("A{at}"), format!("B{at}")]).collect();
    let shown: BTreeSet<String> =
        wanted.iter().filter(|it| drawing.contains(&format!(">{it}<"))).cloned().collect();
    assert_eq!(shown, wanted, "all 300 nodes are in the drawing");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diagram_that_takes_too_long_is_given_up_and_blocks_nothing() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let edges: Vec<_> = (0..20).map(|at| format!("A{} --> B{}\n", at * 7 % 97, at * 13 % 89)).collect();
    let lines = edges.concat();
    let text = [fenced(&format!("flowchart TD\n{lines}")), fenced("flowchart LR\n  Good --> Fine")];
    let page = open(Screen { height: 12_000, ..DESKTOP }, &hub.url("/c/c")).await;
    // Of the first diagram the time ends when the test says so, and no answer comes before.
    page.run(
        "const after = window.setTimeout.bind(window);
        [window.clicks, window.late, window.isHeld] = [0, null, false];
        document.addEventListener('click', () => clicks++);
        window.addEventListener('message', it => isHeld && it.stopImmediatePropagation());
        window.setTimeout = (work, ms, ...more) => {
            if (ms !== 15000 || late) return after(work, ms, ...more);
            [late, isHeld] = [work, true];
            return 0;
        }",
    )
    .await;
    let head = answers(&mut publisher, &text.concat()).await;
    page.painted(head).await;
    page.holds("return Boolean(late)").await;
    // The page answers while it is drawn.
    assert_eq!(page.run("document.body.click(); return clicks").await, 1);
    page.run("isHeld = false; late()").await;
    page.run_until(STATES, |it| *it == json!(["refused", "drawn"])).await;
    let why = page.run("return document.querySelector('.why').textContent").await;
    assert_eq!(why, "Not drawn: it took longer than 15 seconds. Draw again");
    page.run_until("return document.querySelectorAll('iframe.draws-diagrams').length", |it| *it == 1).await;
    page.run("document.querySelector('.why').scrollIntoView({block: 'center'})").await;
    page.screenshot("diagram-late").await;
    // It is tried again when its reader wants it: the one that could not be read has no such button.
    page.run("document.querySelector('[data-again]').click()").await;
    let seen = "return !document.querySelector('.why') && document.querySelector('.code').dataset.drawn";
    page.run_until(seen, |it| it == "drawn").await;
    page.close().await;
}

/// Counts the drawings that the frame sends as `drawn`, and keeps the sources of blocks that come into the document without a drawing as `bare`.
const COUNTED: &str = "
    [window.drawn, window.bare] = [0, new Set()];
    addEventListener('message', ({data}) => drawn += typeof data === 'string' && data.includes('\"light\"'));
    new MutationObserver(changes => {
        for (const node of changes.flatMap(it => [...it.addedNodes])) {
            const blocks = node.querySelectorAll ? [node, ...node.querySelectorAll('.code')] : [];
            blocks.filter(it => it.matches('.code:not(.drawn)') && it.isConnected).forEach(it => bare.add(it.querySelector('pre').textContent.trim()));
        }
    }).observe(document.body, {childList: true, subtree: true})";

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_built_anew_shows_its_diagrams_at_once_and_draws_none_again() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let same = fenced("flowchart LR\n  Good --> Fine");
    let text = [same.clone(), fenced("flowchart TD\n  A[Start --> B"), same];
    let head = answers(&mut publisher, &text.concat()).await;
    hub.publisher("other").await.says(OPENING).await;
    let page = open(DESKTOP, &hub.url("/c/c")).await;
    page.run(COUNTED).await;
    page.painted(head).await;
    page.run_until(STATES, |it| *it == json!(["drawn", "refused", "drawn"])).await;
    assert_eq!(page.run("return drawn").await, 1, "two are the same");
    let other = "document.querySelector('[data-t=conversation-row][data-conversation=other]').click()";
    page.run(other).await;
    page.holds("return location.pathname === '/c/other' && !document.querySelector('.code')").await;
    page.run("bare.clear(); history.back()").await;
    page.run_until(STATES, |it| *it == json!(["drawn", "refused", "drawn"])).await;
    // Of the three the refused one alone is code.
    assert_eq!(page.run("return [drawn, ...bare]").await, json!([1, "flowchart TD\n  A[Start --> B"]));
    page.run_until(&SEEN.replace("NUMBER", "1"), |it| !it.is_null()).await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drawing_that_arrives_takes_neither_the_selection_nor_the_focus() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let text = ["Quokka", "Wombat", "Numbat"].map(|it| fenced(&format!("flowchart LR\n  {it} --> Fine")));
    let head = answers(&mut publisher, &text.concat()).await;
    let page = open(DESKTOP, &hub.url("/c/c")).await;
    // Answers of the frame wait until the test lets them go.
    page.run(
        "window.held = [];
        const hold = it => { if (it.data?.includes?.('\"number\"')) { it.stopImmediatePropagation(); held.push(it) } };
        addEventListener('message', hold, true);
        window.letGo = () => {
            removeEventListener('message', hold, true);
            for (const {data, source} of held.splice(0)) dispatchEvent(new MessageEvent('message', {data, source}));
            addEventListener('message', hold, true);
        }",
    )
    .await;
    page.painted(head).await;
    let arrives = async || {
        page.holds("return held.length > 0").await;
        page.run("letGo()").await;
    };
    page.holds("return document.querySelectorAll('.code[data-drawn=waits]').length === 3").await;
    page.run("getSelection().selectAllChildren(document.querySelectorAll('.code pre')[0]); document.querySelectorAll('.code pre')[1].focus()").await;
    for _ in 0..3 {
        arrives().await;
    }
    page.run_until(STATES, |it| *it == json!(["drawn", "drawn", "drawn"])).await;
    assert!(page.run("return getSelection().toString()").await.as_str().unwrap().contains("Quokka --> Fine"));
    assert_eq!(
        page.run("return document.activeElement === document.querySelectorAll('.code pre')[1]").await,
        true
    );
    let sources = "return [...document.querySelectorAll('.code')].map(it => [it.querySelector('pre').offsetHeight > 0, it.querySelector('[data-turn]').ariaPressed])";
    assert_eq!(page.run(sources).await, json!([[true, "true"], [true, "true"], [false, "false"]]));
    page.screenshot("diagrams-in-use").await;
    // The drawing is a click away.
    page.run("document.querySelectorAll('[data-turn]')[0].click()").await;
    page.holds("return document.querySelectorAll('.diagram')[0].offsetHeight > 30").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn find_shows_the_sources_of_those_diagrams_alone_that_have_a_hit() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let text = ["Quokka", "Wombat"].map(|it| fenced(&format!("flowchart LR\n  {it} --> Fine")));
    let head = answers(&mut publisher, &text.concat()).await;
    let page = open(DESKTOP, &hub.url("/c/c")).await;
    page.painted(head).await;
    page.run_until(STATES, |it| *it == json!(["drawn", "drawn"])).await;
    page.press("/").await;
    page.holds("return document.activeElement?.id === 'find-word'").await;
    let sources =
        "return [...document.querySelectorAll('.code')].map(it => it.querySelector('pre').offsetHeight > 0)";
    for (word, shown) in [
        ("Quokka", [true, false]),
        ("Wombat", [false, true]),
        ("Fine", [true, true]),
        // These words stand in the heads of the blocks alone.
        ("mermaid", [false, false]),
        ("Fine", [true, true]),
        ("Source", [false, false]),
        ("Quokka", [true, false]),
    ] {
        let typed = json!(word);
        page.run(&format!(
            "const it = document.getElementById('find-word'); it.value = {typed}; it.dispatchEvent(new Event('input', {{bubbles: true}}))"
        ))
        .await;
        page.run_until(sources, |it| *it == json!(shown)).await;
    }
    // What its reader turned stays, whatever is found.
    page.run("document.querySelectorAll('[data-turn]')[1].click()").await;
    page.press("Escape").await;
    page.run("document.querySelector('[role=tab][data-tab]').click()").await;
    page.run_until(sources, |it| *it == json!([false, true])).await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hit_in_a_diagram_shows_its_source() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = answers(&mut publisher, &fenced("flowchart LR\n  Quokka --> Wombat")).await;
    let page = open(DESKTOP, &hub.url("/c/c")).await;
    page.painted(head).await;
    page.run_until(STATES, |it| *it == json!(["drawn"])).await;
    page.goto(&hub.url("/c/c?find=Quokka")).await;
    page.painted(head).await;
    page.run_until(STATES, |it| *it == json!(["drawn"])).await;
    page.run_until("return document.querySelectorAll('[data-t=hit]').length", |it| *it == 1).await;
    page.run("document.querySelector('[data-t=hit]').click()").await;
    page.holds("const [range] = CSS.highlights.get('find') ?? []; return (range?.getBoundingClientRect().height ?? 0) > 5").await;
    page.close().await;
}
