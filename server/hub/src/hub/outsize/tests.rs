//! Tests of results that are too large for an event.

use event_log::MemoryLog;
use model::event::ToolResult;
use model::{ConversationId, RunId, ToolCallId};
use proptest::prelude::*;

use super::*;
use crate::hub::Publication;

fn result(output: Json) -> Event {
    let result = ToolResult::new(ToolCallId::new("t"), output, false);
    Event::new(&RunId::new("r"), Kind::ToolResult(result))
}

fn parts(event: &Event) -> (&Json, Option<&ResultRef>) {
    let Kind::ToolResult(result) = &event.kind else { panic!("{event:?}") };
    (&result.output, result.reference.as_ref())
}

#[test]
fn a_result_within_the_limit_stays_as_it_is() {
    let text = "x".repeat(RESULT_INLINE_BYTES_MAX - 2);
    let mut event = result(Json::string(&text));
    let before = event.clone();
    assert_eq!((shorten(&mut event), event), (None, before));
}

#[test]
fn i7_of_a_large_result_only_the_beginning_travels() {
    let text = "é".repeat(RESULT_INLINE_BYTES_MAX);
    let json = format!("{{\"rows\":\"{text}\"}}");
    let mut event = result(Json::parse(&json).unwrap());
    let attachment = shorten(&mut event).unwrap();
    assert_eq!(*attachment.json, *json);
    let (output, reference) = parts(&event);
    let kept = output.to_text();
    assert!(
        json.starts_with(&*kept)
            && (RESULT_BEGINNING_BYTES - 4..=RESULT_BEGINNING_BYTES).contains(&kept.len())
    );
    assert_eq!(reference, Some(&ResultRef { bytes: json.len() as u64, hash: attachment.hash.clone() }));
    assert_eq!(attachment.hash.len(), 32, "nobody makes two results of one name");
    // Once is enough.
    let before = event.clone();
    assert_eq!((shorten(&mut event), event), (None, before));
}

proptest! {
    #[test]
    fn the_beginning_is_a_beginning_wherever_it_is_cut(lead in "[a-zé漢🙂\"\\\\]{0,9}") {
        let text = format!("{lead}{}", "漢🙂\"".repeat(RESULT_INLINE_BYTES_MAX / 8));
        let mut event = result(Json::string(&text));
        shorten(&mut event).unwrap();
        let kept = parts(&event).0.to_text().into_owned();
        prop_assert!(text.starts_with(&kept));
    }
}

#[tokio::test]
async fn what_was_left_out_is_had_from_the_log() {
    let hub = Hub::new(Arc::new(MemoryLog::default()));
    let id = ConversationId::parse("c").unwrap();
    let whole = Json::string(&"row\n".repeat(RESULT_INLINE_BYTES_MAX));
    let envelope =
        |event| Envelope { event, seq: 0, at: 0, producer_at: None, publisher: None, by_hub: false };
    hub.publish(&id, Publication::of(vec![envelope(result(whole.clone()))])).unwrap();
    let conversation = hub.open(&id).unwrap();
    let mut view = conversation.view();
    let call = |view: &View| view.runs.values().next().unwrap().tools.values().next().unwrap().clone();
    let reference = call(&view).result_ref.unwrap();
    assert_eq!(call(&view).left_out(), whole.as_str().len() as u64 - RESULT_BEGINNING_BYTES as u64);
    assert_eq!(view.anomalies.first.len(), 2, "a run and a call without their starts, nothing else");
    assert_eq!(&*hub.whole_result(&conversation, &reference.hash).await.unwrap().unwrap(), whole.as_str());
    assert_eq!(hub.whole_result(&conversation, "0000000000000000").await.unwrap(), None);
    hub.make_whole(&conversation, &mut view);
    assert_eq!((call(&view).result, call(&view).result_ref), (Some(whole.clone()), None));
    let page = conversation.page(0, 10).unwrap();
    assert!(serde_json::to_vec(&*page.envelopes[0]).unwrap().len() < 2 * RESULT_BEGINNING_BYTES);
    let made = hub.made_whole(&conversation, &page.envelopes[0]);
    assert_eq!(parts(&made.event), (&whole, None));
}

#[test]
fn what_is_searched_is_more_than_what_travels() {
    let text = format!("{}needle", "x ".repeat(RESULT_BEGINNING_BYTES));
    let whole = Json::string(&format!("{text}{}", " y".repeat(RESULT_INLINE_BYTES_MAX)));
    let mut event = result(whole);
    let attachment = shorten(&mut event).unwrap();
    let logged =
        [Arc::new(Envelope { event, seq: 3, at: 0, producer_at: None, publisher: None, by_hub: false })];
    let document = |kind, seq| SearchDocument {
        run: RunId::new("r"),
        place: event_log::SearchDocumentPlace::Item(model::view::Item::Tool(ToolCallId::new("t"))),
        kind,
        name: "t".into(),
        seq,
        at: 0,
        text: "short".into(),
    };
    let mut documents = [document(SearchDocumentKind::Result, 3), document(SearchDocumentKind::Arguments, 3)];
    lengthen(&mut documents, &logged, &[attachment]);
    assert!(documents[0].text.contains("needle") && documents[0].text.len() <= DOCUMENT_BYTES_MAX);
    assert_eq!(documents[1].text, "short");
}
