//! Tests of what is taken from a server. What goes over sockets is in the workspace's tests.

use futures_util::StreamExt as _;

use super::gauge::gauged;
use super::*;

#[tokio::test]
async fn an_event_that_is_too_large_ends_the_stream_and_others_do_not() {
    let gauge = |pieces: &'static [&'static str], max| async move {
        let pieces = pieces.iter().map(|piece| Ok::<_, std::io::Error>(Bytes::from(*piece)));
        let came: Vec<_> = gauged(futures_util::stream::iter(pieces), max).collect().await;
        came.into_iter()
            .map(|piece| piece.map(|piece| piece.len()).map_err(|error| error.to_string()))
            .collect()
    };
    let came: Vec<Result<usize, String>> =
        gauge(&["data: 12\n\ndata", ": 34\r\n\r\n", "data: 56\n\n"], 8).await;
    assert_eq!(came, [Ok(14), Ok(8), Ok(10)]);
    let came: Vec<Result<usize, String>> = gauge(&["data: 12\n", "data: 3\n\n", "data: 4\n\n"], 8).await;
    assert_eq!(came, [Ok(9), Err("an event has more than 8 bytes".into())]);
}

#[test]
fn a_request_is_sent_on_within_its_server_alone() {
    let from: Uri = "https://a.example:8443/mcp".parse().unwrap();
    let to = |place: &'static str| {
        let headers = HeaderMap::from_iter([(LOCATION, HeaderValue::from_static(place))]);
        moved(&from, &headers).map(|uri| uri.to_string())
    };
    assert_eq!(to("/mcp/").as_deref(), Some("https://a.example:8443/mcp/"));
    assert_eq!(to("https://a.example:8443/other?x=1").as_deref(), Some("https://a.example:8443/other?x=1"));
    let elsewhere =
        ["https://b.example/mcp", "http://a.example:8443/mcp", "https://a.example/mcp", "//b.example/", ""];
    assert_eq!(elsewhere.map(to), [None, None, None, None, None]);
}
