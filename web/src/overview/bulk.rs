//! What is done to many conversations: which tags they get, what is said of it, and a few requests at a time.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use model::event::is_tag;
use model::limits::{LABEL_TAG_CHARS_MAX, LABEL_TAGS_MAX};

/// How many requests are under way at the same time: browsers send no more to one host over HTTP/1.1.
pub const AT_ONCE: usize = 6;

/// One request that is under way.
pub type PendingRequest<T> = Pin<Box<dyn Future<Output = T>>>;

/// Waits for all of `requests`, which go on at the same time. The results are in the order of the requests.
pub async fn together<T>(requests: Vec<PendingRequest<T>>) -> Vec<T> {
    let mut open: Vec<(PendingRequest<T>, Option<T>)> =
        requests.into_iter().map(|request| (request, None)).collect();
    poll_fn(|context| {
        for (request, result) in open.iter_mut().filter(|(_, result)| result.is_none()) {
            if let Poll::Ready(came) = request.as_mut().poll(context) {
                *result = Some(came);
            }
        }
        if open.iter().all(|(_, result)| result.is_some()) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    open.into_iter().filter_map(|(_, result)| result).collect()
}

/// `tags` with `more`, each once; `None` if they have it already. Fails with a sentence for the reader if a conversation cannot have
/// as many.
pub fn with_tag(tags: &[String], more: &str) -> Result<Option<Vec<String>>, String> {
    if tags.iter().any(|tag| tag == more) {
        return Ok(None);
    }
    if tags.len() >= LABEL_TAGS_MAX {
        return Err(format!("it already has {LABEL_TAGS_MAX} tags, the most that a conversation can have"));
    }
    Ok(Some(tags.iter().cloned().chain([more.to_owned()]).collect()))
}

/// `tags` without `tag`; `None` if it is not among them.
pub fn without_tag(tags: &[String], tag: &str) -> Option<Vec<String>> {
    let others: Vec<String> = tags.iter().filter(|other| *other != tag).cloned().collect();
    (others.len() < tags.len()).then_some(others)
}

/// The tag that a reader typed. Fails with a sentence for the reader.
pub fn typed_tag(text: &str) -> Result<String, String> {
    let tag = text.trim();
    if is_tag(tag) {
        return Ok(tag.to_owned());
    }
    Err(format!("A tag is one word of at most {LABEL_TAG_CHARS_MAX} characters, without commas."))
}

/// Says how many of `all` were done, and why the first of the others was not: `2 of 3 archived. c: the hub refused`.
pub fn told(done: usize, all: usize, word: &str, refused: &[String]) -> String {
    let mut words = format!("{done} of {all} {word}.");
    if let Some(first) = refused.first() {
        words.extend([" ", first]);
        if refused.len() > 1 {
            words.extend([" (and ", &refused.len().saturating_sub(1).to_string(), " more)"]);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    //! Tests of tags and words.

    use std::task::{Context, Waker};

    use super::*;

    fn tags(tags: &[&str]) -> Vec<String> {
        tags.iter().map(|&tag| tag.to_owned()).collect()
    }

    #[test]
    fn a_tag_is_put_once_and_taken_where_it_is() {
        assert_eq!(with_tag(&tags(&["a"]), "b"), Ok(Some(tags(&["a", "b"]))));
        assert_eq!(with_tag(&tags(&["a"]), "a"), Ok(None));
        assert_eq!(without_tag(&tags(&["a", "b"]), "a"), Some(tags(&["b"])));
        assert_eq!(without_tag(&tags(&["b"]), "a"), None);
    }

    #[test]
    fn i7_more_tags_than_a_conversation_may_have_are_refused_before_the_hub_does() {
        let full: Vec<String> = (0..LABEL_TAGS_MAX).map(|n| format!("t{n}")).collect();
        assert!(with_tag(&full, "more").unwrap_err().starts_with("it already has 16 tags"));
        assert_eq!(with_tag(&full, "t3"), Ok(None));
        assert_eq!(typed_tag(" prod "), Ok("prod".into()));
        for bad in ["", "two words", "a,b", "x".repeat(LABEL_TAG_CHARS_MAX + 1).as_str()] {
            assert!(typed_tag(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_was_refused_is_said_once_and_counted() {
        assert_eq!(told(3, 3, "archived", &[]), "3 of 3 archived.");
        assert_eq!(told(2, 3, "stopped", &["c: no".into()]), "2 of 3 stopped. c: no");
        assert_eq!(
            told(0, 2, "deleted", &["c: no".into(), "d: no".into()]),
            "0 of 2 deleted. c: no (and 1 more)"
        );
    }

    #[test]
    fn deeds_that_end_in_another_order_keep_their_places() {
        let mut polls = 0;
        let late = poll_fn(move |context: &mut Context<'_>| {
            polls += 1;
            context.waker().wake_by_ref();
            if polls > 2 { Poll::Ready(1) } else { Poll::Pending }
        });
        let mut all = Box::pin(together(vec![Box::pin(late) as PendingRequest<i32>, Box::pin(async { 2 })]));
        let mut context = Context::from_waker(Waker::noop());
        let came = std::iter::repeat_with(|| all.as_mut().poll(&mut context)).find_map(|it| match it {
            Poll::Ready(came) => Some(came),
            Poll::Pending => None,
        });
        assert_eq!(came, Some(vec![1, 2]));
    }
}
