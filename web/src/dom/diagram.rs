//! Draws the diagrams of final blocks. Until then, and where one cannot be drawn, its source is shown.
//!
//! What draws is Mermaid, in the document of the hub that has no origin and no network (`/embed`), in a frame out of sight. It is fetched for
//! the first diagram. The page takes an answer from that frame alone, and shows what is drawn as an image: nothing in it runs or loads.
//! A frame that does not answer in time is thrown away, and the next diagram gets another one.
//!
//! ```text
//! block in view ─▶ want: queued ─▶ wake ─▶ go_on ─▶ frame ─▶ hear: the image, or why there is none ─▶ go_on
//!                                                              └─▶ kept by source
//! final block of a text that is built anew ─▶ recall: what is kept of its source, before the next painting
//! ```
//!
//! A drawing that arrives never hides what the reader has selected or has the focus in: the source stays, and the drawing is a click away.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use js_sys::JsString;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::spawn_local;
use web_sys::{Element, Event, HtmlIFrameElement, MessageEvent};

pub(crate) use self::shown::turn;
use self::shown::{clear, present, refuse, source_of};
use super::{element, formula};
use crate::browser::{self, document};
use crate::diagrams::{self, ANSWER_BYTES_MAX, Answer, DRAW_MS_MAX, KeptDrawings, LATE, Outcome};

mod shown;

pub(super) use self::shown::{cover, uncover};

/// The most diagrams that are drawn on the page. Further ones keep their source.
const DIAGRAMS_MAX: u32 = 100;

/// How long the frame may take to start and to draw something small, in milliseconds, beside what fetching takes.
const START_MS_MAX: i32 = 30_000;

/// How much of an answer that is too long is read, for its number.
const BEGINNING: u32 = 40;

/// Why nothing is drawn while the library is not there.
const AWAY: &str = "the part that draws diagrams cannot be loaded";

thread_local! {
    /// What draws for the page. There is one, since its frame is large.
    static DRAWER: RefCell<Drawer> = const { RefCell::new(Drawer::new()) };
    /// What shows a diagram that was drawn before. It is in the module that draws, and `None` until that is there.
    static RECALL: Cell<Option<fn(&Element)>> = const { Cell::new(None) };
}

/// The diagrams that wait, and the frame that draws them.
struct Drawer {
    /// The blocks that wait, in their order.
    waiting: VecDeque<Element>,
    /// The frame, once it is wanted.
    frame: FrameState,
    /// What the frame draws now.
    asked: Option<Asked>,
    /// What the frame answered before.
    kept: KeptDrawings,
    /// How many frames and diagrams there were: the number of the newest.
    count: u32,
    /// Whether the page listens to messages.
    is_listening: bool,
}

/// A diagram that the frame was asked for.
struct Asked {
    /// The number of the request, which the answer repeats.
    number: u32,
    /// The block that shows what comes of it.
    block: Element,
    /// The source of the diagram.
    source: String,
}

/// The state of the frame that draws.
enum FrameState {
    /// There is no frame.
    Absent,
    /// The frame is being fetched or starts.
    Starting(Option<HtmlIFrameElement>),
    /// The frame can draw.
    Ready(HtmlIFrameElement),
}

impl FrameState {
    /// The frame, if it is in the document.
    fn element(&self) -> Option<&HtmlIFrameElement> {
        match self {
            Self::Absent => None,
            Self::Starting(frame) => frame.as_ref(),
            Self::Ready(frame) => Some(frame),
        }
    }
}

/// Has `block` drawn if it is a diagram that was not asked for yet. It must be final.
pub(super) fn want(block: &Element) {
    let language = block.get_attribute("data-language").unwrap_or_default();
    if diagrams::is_diagram(&language) && !block.has_attribute("data-drawn") {
        drop(block.set_attribute("data-drawn", "waits"));
        DRAWER.with_borrow_mut(|drawer| drawer.waiting.push_back(block.clone()));
        formula::wake();
    }
}

/// Shows at once what came of the source of `block` before, if it is a diagram that was drawn. It must be final.
pub(super) fn recall(block: &Element) {
    let language = block.get_attribute("data-language").unwrap_or_default();
    if let Some(recall) = RECALL.get().filter(|_| diagrams::is_diagram(&language)) {
        recall(block);
    }
}

/// Has `block` drawn once more, since its reader wants it after the drawing took too long.
pub(crate) fn draw_again(block: &Element) {
    let source = source_of(block);
    DRAWER.with_borrow_mut(|drawer| drawer.kept.forget(&source));
    clear(block);
    drop(block.remove_attribute("data-drawn"));
    want(block);
}

/// Draws the diagrams that wait, one after the other.
pub(crate) fn draw() {
    RECALL.set(Some(show_kept));
    DRAWER.with_borrow_mut(Drawer::go_on);
}

impl Drawer {
    /// A drawer for which nothing waits, without a frame.
    const fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            frame: FrameState::Absent,
            asked: None,
            kept: KeptDrawings::new(),
            count: 0,
            is_listening: false,
        }
    }

    /// Asks the frame for the next diagram, if it draws none. Has the frame fetched if there is none.
    fn go_on(&mut self) {
        while self.asked.is_none()
            && let Some(block) = self.waiting.pop_front()
        {
            if !block.is_connected() {
                drop(block.remove_attribute("data-drawn"));
                continue;
            }
            let source = source_of(&block);
            let why = is_full().then(|| format!("{DIAGRAMS_MAX} others are drawn on the page"));
            if let Some(why) = why.or_else(|| diagrams::refused(&source)) {
                refuse(&block, &why);
                continue;
            }
            if let Some(outcome) = self.kept.get(&source) {
                present(&block, &outcome);
                continue;
            }
            match &self.frame {
                FrameState::Ready(frame) => {
                    let frame = frame.clone();
                    self.ask(&frame, block, source);
                }
                FrameState::Starting(_) => return self.waiting.push_front(block),
                FrameState::Absent => {
                    self.waiting.push_front(block);
                    return self.start();
                }
            }
        }
    }

    /// Has the frame draw `source`, and throws it away if that takes too long.
    fn ask(&mut self, frame: &HtmlIFrameElement, block: Element, source: String) {
        let Some(window) = frame.content_window() else {
            // It was taken out of the document. All that wait are asked for again when they next come into view.
            self.waiting.push_front(block);
            return self.give_up();
        };
        self.count = self.count.wrapping_add(1);
        let number = self.count;
        let question = serde_json::json!({"number": number, "source": source}).to_string();
        // The frame has no origin that could be named.
        drop(window.post_message(&question.into(), "*"));
        self.asked = Some(Asked { number, block, source });
        browser::after(DRAW_MS_MAX, move || DRAWER.with_borrow_mut(|drawer| drawer.end_late(number)));
    }

    /// Ends the drawing `number` if it still goes on.
    fn end_late(&mut self, number: u32) {
        if self.asked.as_ref().is_some_and(|asked| asked.number == number) {
            self.throw_away();
            self.end(number, Err(LATE.into()));
            self.go_on();
        }
    }

    /// Shows and keeps what came of the diagram `number`, if it is the one that was asked for.
    fn end(&mut self, number: u32, outcome: Outcome) {
        if let Some(Asked { block, source, .. }) = self.asked.take_if(|asked| asked.number == number) {
            present(&block, &outcome);
            self.kept.keep(source, outcome);
        }
    }

    /// Removes the frame, and with it whatever it does.
    fn throw_away(&mut self) {
        if let Some(frame) = std::mem::replace(&mut self.frame, FrameState::Absent).element() {
            frame.remove();
        }
    }

    /// Fetches what draws, and puts it into a frame.
    fn start(&mut self) {
        self.frame = FrameState::Starting(None);
        if !std::mem::replace(&mut self.is_listening, true) {
            browser::listen(&browser::window(), "message", |said: MessageEvent| {
                DRAWER.with_borrow_mut(|drawer| drawer.hear(&said));
            });
        }
        spawn_local(async {
            let script = match path_of_script() {
                Some(path) => browser::fetch_text(&path).await.ok(),
                None => None,
            };
            DRAWER.with_borrow_mut(|drawer| match script.and_then(|script| add_frame(&script)) {
                Some(frame) => drawer.await_start(frame),
                None => drawer.give_up(),
            });
        });
    }

    /// Waits for `frame` to start.
    fn await_start(&mut self, frame: HtmlIFrameElement) {
        self.frame = FrameState::Starting(Some(frame.clone()));
        browser::after(START_MS_MAX, move || {
            DRAWER.with_borrow_mut(|drawer| {
                let is_late =
                    matches!(&drawer.frame, FrameState::Starting(Some(it)) if it.is_same_node(Some(&frame)));
                if is_late {
                    drawer.give_up();
                }
            });
        });
    }

    /// Says of all that wait that nothing can be drawn. They are tried again when they next come into view.
    fn give_up(&mut self) {
        self.throw_away();
        for block in std::mem::take(&mut self.waiting) {
            refuse(&block, AWAY);
            drop(block.remove_attribute("data-drawn"));
        }
    }

    /// Takes a message, if it is from the frame.
    fn hear(&mut self, said: &MessageEvent) {
        let Some(frame) = self.frame.element().cloned() else { return };
        let (window, from) = (frame.content_window().map(JsValue::from), said.source().map(JsValue::from));
        let is_its = window.is_some() && window == from;
        let answer = if is_its { answer_in(&said.data()) } else { None };
        match answer {
            Some(Answer::Ready) if matches!(self.frame, FrameState::Starting(_)) => {
                self.frame = FrameState::Ready(frame);
            }
            Some(Answer::Drawn(number, drawing)) => self.end(number, Ok(Rc::new(drawing))),
            Some(Answer::Refused(number, why)) => self.end(number, Err(why.into())),
            Some(Answer::Ready) | None => return,
        }
        self.go_on();
    }
}

/// The answer in a message. A long one is not copied into the memory of the page: its beginning says which it is.
fn answer_in(data: &JsValue) -> Option<Answer> {
    let text: &JsString = data.dyn_ref()?;
    if usize::try_from(text.length()).is_ok_and(|length| length <= ANSWER_BYTES_MAX) {
        diagrams::answer(&String::from(text))
    } else {
        diagrams::too_large(&String::from(text.substring(0, BEGINNING)))
    }
}

/// The path of the script that draws; `None` if the page was built without it.
fn path_of_script() -> Option<String> {
    let named = document().query_selector("meta[name=diagrams]").ok()??;
    named.get_attribute("content").filter(|path| !path.is_empty())
}

/// Adds the frame out of sight, and hands it `script` once the hub's document is in it.
fn add_frame(script: &str) -> Option<HtmlIFrameElement> {
    let frame: HtmlIFrameElement = element("iframe", "draws-diagrams").unchecked_into();
    for (key, value) in [
        ("sandbox", "allow-scripts"),
        ("referrerpolicy", "no-referrer"),
        ("title", "Draws diagrams"),
        ("aria-hidden", "true"),
        ("tabindex", "-1"),
        ("src", "/embed"),
    ] {
        drop(frame.set_attribute(key, value));
    }
    let mut html = Some(format!("<!doctype html><title>Diagrams</title><body><script>{script}</script>"));
    browser::watch(&frame, "load", move |event: Event| {
        let frame = event.current_target().map(JsCast::unchecked_into::<HtmlIFrameElement>);
        if let (Some(window), Some(html)) = (frame.and_then(|frame| frame.content_window()), html.take()) {
            drop(window.post_message(&html.into(), "*"));
        }
    });
    document().body()?.append_child(&frame).ok()?;
    Some(frame)
}

/// Whether as many diagrams are drawn on the page as there may be.
fn is_full() -> bool {
    document().query_selector_all(".diagram").is_ok_and(|it| it.length() >= DIAGRAMS_MAX)
}

/// Shows what is kept of the source of `block`; nothing if nothing is kept or the page has enough diagrams.
fn show_kept(block: &Element) {
    let source = source_of(block);
    if let Some(outcome) = DRAWER.with_borrow_mut(|drawer| drawer.kept.get(&source)).filter(|_| !is_full()) {
        present(block, &outcome);
    }
}
