//! Recordings of the reader: a file that is dropped on the page or chosen is read in pieces and decoded in
//! the browser. The hub takes no part, and nothing leaves the browser.
//!
//! ```text
//! drop, or a chosen file ─▶ first piece ─▶ detect the dialect ─▶ Decoder (a WASM module) ─▶ events as lines ─▶ store
//!                                             └─ unknown: the bar offers a choice, which reads the file again
//! ```

use js_sys::Uint8Array;
use leptos::prelude::*;
use leptos::task::spawn_local;
use model::dialect::DECODED;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::{DragEvent, File, HtmlInputElement};

use crate::browser;
use crate::decoder::Decoder;
use crate::number::within;
use crate::store::{RecordingInfo, Store};

/// How many bytes are read at a time: few enough that the page stays responsive, many enough that a large
/// file is fast.
const PIECE_BYTES: f64 = 262_144.0;

/// Adds the listeners for dropped and chosen files, for as long as the page is open. Of several dropped files
/// the first is opened. Files that are dropped on the composer are attached instead.
pub(crate) fn listen(store: Store) {
    let document = browser::document();
    browser::listen(&document, "dragover", move |event: DragEvent| {
        // Otherwise the browser would open the file in place of the page.
        event.prevent_default();
        if !store.panel.dragging.get_untracked() {
            store.panel.dragging.set(true);
        }
    });
    browser::listen(&document, "dragleave", move |event: DragEvent| {
        if event.related_target().is_none() {
            store.panel.dragging.set(false);
        }
    });
    browser::listen(&document, "drop", move |event: DragEvent| {
        event.prevent_default();
        store.panel.dragging.set(false);
        let files = event.data_transfer().and_then(|it| it.files());
        if let Some(files) = files.as_ref().filter(|_| is_on_composer(&event)) {
            return store.attach.dropped.with_value(|attach| {
                if let Some(attach) = attach {
                    attach(files);
                }
            });
        }
        if let Some(file) = files.and_then(|files| files.get(0)) {
            open(store, file, None);
        }
    });
    store.panel.choose_file.set_value(Some(Box::new(move |input: &HtmlInputElement| {
        if let Some(file) = input.files().and_then(|files| files.get(0)) {
            open(store, file, None);
        }
        // Allows the same file to be chosen again.
        input.set_value("");
    })));
    store.panel.open_text.set_value(Some(Box::new(move |name: &str, text: &str, dialect| {
        let pieces = js_sys::Array::of1(&text.into());
        if let Ok(file) = File::new_with_str_sequence(&pieces, name) {
            open(store, file, Some(dialect));
        }
    })));
}

/// Whether something is dropped on the composer: then it is asked with. The veil lies above, so the place decides.
fn is_on_composer(event: &DragEvent) -> bool {
    let Ok(Some(composer)) = browser::document().query_selector("form.composer") else { return false };
    let place = composer.get_bounding_client_rect();
    let (x, y) = (f64::from(event.client_x()), f64::from(event.client_y()));
    (place.left()..=place.right()).contains(&x) && (place.top()..=place.bottom()).contains(&y)
}

/// Opens `file` in `dialect`; if that is `None`, in the one detected from the beginning of the file. The file
/// is kept by the store as a function that reads it again in another dialect.
fn open(store: Store, file: File, dialect: Option<&'static str>) {
    store.reading.reopen.set_value(Some(Box::new({
        let file = file.clone();
        move |dialect| open(store, file.clone(), Some(dialect))
    })));
    spawn_local(read(store, file, dialect));
}

/// Reads and decodes the whole file, unless another recording is opened meanwhile. Every failure is put into
/// the bar of the recording; what was decoded before it stays.
async fn read(store: Store, file: File, dialect: Option<&'static str>) {
    let first = piece(&file, 0.0).await;
    let decoder = Decoder::load().await;
    let opened = |dialect, failure| RecordingInfo { name: file.name(), dialect, read: 0, failure };
    let (mut bytes, decoder) = match (first, decoder) {
        (Ok(bytes), Ok(decoder)) => (bytes, decoder),
        (Err(why), _) | (_, Err(why)) => return store.open_recording(opened(dialect, Some(why))),
    };
    let dialect = dialect.or_else(|| known(&decoder.detect(&bytes)));
    store.open_recording(opened(dialect, None));
    if !dialect.is_some_and(|name| decoder.open(name)) {
        return;
    }
    let number = store.reading.recordings.get_untracked();
    let size = file.size();
    let mut at = 0.0;
    let failure = loop {
        at += PIECE_BYTES;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 1000")]
        let read = within(at / size.max(1.0) * 1000.0, 0.0, 999.0) as u32;
        store.read(&decoder.feed(&bytes), read);
        if at >= size {
            break None;
        }
        let next = piece(&file, at).await;
        if !store.reads(number) {
            return;
        }
        match next {
            Ok(next) => bytes = next,
            Err(error) => break Some(error),
        }
    };
    store.read(&decoder.end(), 1000);
    store.read_all(failure);
}

/// The dialect with this name, as the constant; `None` if no decoder has it.
fn known(name: &str) -> Option<&'static str> {
    DECODED.iter().find(|known| **known == name).copied()
}

/// Reads the next [`PIECE_BYTES`] of `file` from `at` on. The error is a text for the reader. The piece is
/// shorter at the end of the file.
async fn piece(file: &File, at: f64) -> Result<Vec<u8>, String> {
    let said = |error: wasm_bindgen::JsValue| {
        let error = error.dyn_ref::<js_sys::Error>().map(|error| String::from(error.message()));
        error.unwrap_or_else(|| "the browser could not read the file".to_owned())
    };
    let blob = file.slice_with_f64_and_f64(at, at + PIECE_BYTES).map_err(said)?;
    let buffer = JsFuture::from(blob.array_buffer()).await.map_err(said)?;
    Ok(Uint8Array::new(&buffer).to_vec())
}
