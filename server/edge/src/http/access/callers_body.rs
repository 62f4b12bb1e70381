//! Bodies of answers that are made while they are sent: the work for them is their caller's.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use compact_str::CompactString;
use hyper::body::{Frame, SizeHint};

use crate::work::callers;

/// A body that is made for a principal while it is sent. The connection owns it.
#[derive(Debug)]
struct CallersBody {
    caller: CompactString,
    body: Body,
}

/// `body`, which takes turns for `caller` while it is made.
pub(super) fn body_for(caller: Option<CompactString>, body: Body) -> Body {
    match caller {
        // What is there already takes no turns.
        Some(caller) if HttpBody::size_hint(&body).exact().is_none() => {
            Body::new(CallersBody { caller, body })
        }
        _ => body,
    }
}

impl HttpBody for CallersBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let caller = Some(self.caller.clone());
        callers::on_behalf_now(caller, || Pin::new(&mut self.body).poll_frame(context))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        HttpBody::size_hint(&self.body)
    }
}

#[cfg(test)]
mod tests {
    //! Tests of whose work a body is.

    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn a_body_takes_turns_for_its_principal_while_it_is_made() {
        let named = stream::once(async { Ok::<_, std::io::Error>(format!("{:?}", callers::current())) });
        let body = body_for(Some("ann".into()), Body::from_stream(named));
        let bytes = axum::body::to_bytes(body, 1_000).await.unwrap();
        assert_eq!(bytes, r#"Some("ann")"#);
    }
}
