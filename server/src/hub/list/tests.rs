//! The list in the order of the newest activity, page by page.

use event_log::MemoryLog;
use model::event::Kind;
use model::{Envelope, Event, RunId};

use super::*;
use crate::hub::Publication;

#[test]
fn pages_join_to_the_whole_list_without_doubles() {
    let hub = Hub::new(Arc::new(MemoryLog::default()));
    for number in 0..25 {
        let id = ConversationId::parse(&format!("c{number:02}")).unwrap();
        let event = Event::new(&RunId::new("r"), Kind::Status { text: String::new() });
        let said = Envelope { event, seq: 0, at: 0, producer_at: None, publisher: None, by_hub: false };
        hub.publish(&id, Publication::of(vec![said])).unwrap();
    }
    let all = hub.list(&ListQuery { limit: 100, ..ListQuery::default() }).unwrap();
    assert_eq!((all.rows.len(), all.more, hub.total()), (25, false, 25));
    assert!(
        all.rows.windows(2).all(|pair| {
            place(pair[0].at, &pair[0].conversation) < place(pair[1].at, &pair[1].conversation)
        })
    );
    let mut query = ListQuery { limit: 7, ..ListQuery::default() };
    let mut joined = Vec::new();
    loop {
        let page = hub.list(&query).unwrap();
        let last = page.rows.last().unwrap();
        query.after = Some((last.at, last.conversation.clone()));
        joined.extend(page.rows.clone());
        if !page.more {
            break;
        }
        assert_eq!(page.rows.len(), 7);
    }
    assert_eq!(joined, all.rows);
}
