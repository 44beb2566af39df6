//! Event streams are complete, even if their connections break.

use std::sync::{Arc, Mutex};

use futures_util::TryStreamExt as _;
use futures_util::future::join_all;
use interlingua_client::{ClientError, EventQuery};

use crate::scripted_server::{ScriptedServer, answer, broken_stream, problem, session, stream};

const SSE: &str = "GET /v1/sessions/s/events/sse";

fn event(sequence: u64, kind: &str, data: &str) -> String {
    format!(
        "id: {sequence}\ndata: {{\"event_id\":\"e{sequence}\",\"sequence\":{sequence},\"time\":\"1970-01-01T00:00:00.000Z\",\
         \"session_id\":\"s\",\"native_session_id\":null,\"source\":\"daemon\",\"synthetic\":true,\"type\":\"{kind}\",\
         \"data\":{data},\"raw\":null}}\n\n"
    )
}

fn turn(sequence: u64) -> String {
    event(sequence, "turn.started", r#"{"turn_id":"t","phase":"started"}"#)
}

fn end(sequence: u64) -> String {
    event(sequence, "session.ended", r#"{"reason":"terminated","terminated_by":"daemon"}"#)
}

fn turns(sequences: impl IntoIterator<Item = u64>) -> String {
    sequences.into_iter().map(turn).collect()
}

/// Follows the session: the sequences of the events, and how the stream ended.
async fn follow(server: &ScriptedServer, after: u64) -> (Vec<u64>, Result<(), ClientError>) {
    let mut events = server.client.follow_events("s", EventQuery::after(after)).await.unwrap();
    let mut sequences = Vec::new();
    loop {
        match events.next().await {
            Ok(Some(event)) => sequences.push(event.sequence),
            Ok(None) => return (sequences, Ok(())),
            Err(error) => return (sequences, Err(error)),
        }
    }
}

#[tokio::test]
async fn a_broken_connection_is_resumed_after_the_last_event() {
    let next = turn(4);
    let mut server = ScriptedServer::start([
        // Breaks in the middle of a frame.
        broken_stream(&format!("{}{}", turns(1..=3), &next[..next.len() / 2])),
        // Breaks between two frames.
        broken_stream(&turns(4..=5)),
        // Breaks after a complete line, before the end of the frame.
        broken_stream(&format!("{}{}", turn(6), turn(7).trim_end())),
        stream(&format!(": hello\n\n{}{}", turn(7), end(8))),
    ])
    .await;
    let (sequences, ended) = follow(&server, 0).await;
    ended.unwrap();
    assert_eq!(sequences, (1..=8).collect::<Vec<_>>());
    let after = |id: u64| format!("{SSE} after {id}");
    assert_eq!(server.requests(), [after(0), after(3), after(5), after(6)]);
}

#[tokio::test]
async fn a_stream_is_complete_after_a_break_at_any_byte() {
    let frames = [turn(1), turn(2), end(3)];
    let all = frames.concat();
    let cut_at = async |cut: usize| {
        let received = all[..cut].matches("\n\n").count();
        let server = ScriptedServer::start([broken_stream(&all[..cut]), stream(&frames[received..].concat())]).await;
        assert_eq!(follow(&server, 0).await.0, [1, 2, 3], "cut after {cut} bytes");
    };
    // Concurrently, because each one waits before it reconnects.
    join_all((0..all.len()).map(cut_at)).await;
}

#[tokio::test]
async fn an_event_that_is_sent_twice_is_returned_once() {
    let server =
        ScriptedServer::start([broken_stream(&turns(1..=3)), stream(&format!("{}{}", turns(2..=4), end(5)))]).await;
    let (sequences, ended) = follow(&server, 0).await;
    ended.unwrap();
    assert_eq!(sequences, [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn a_gap_in_the_sequence_is_an_error() {
    let server = ScriptedServer::start([stream(&turns([6, 8]))]).await;
    let (sequences, ended) = follow(&server, 5).await;
    assert_eq!(sequences, [6]);
    assert!(matches!(ended, Err(ClientError::MissingEvents { expected: 7, found: 8, .. })), "{ended:?}");
}

#[tokio::test]
async fn temporary_failures_are_retried_and_reported_to_the_callback() {
    let mut server = ScriptedServer::start([
        broken_stream(&turn(1)),
        problem(503, "unavailable"),
        answer(502, "Bad gateway"),
        stream(&end(2)),
    ])
    .await;
    let reconnects = Arc::new(Mutex::new(Vec::new()));
    let events = server.client.follow_events("s", EventQuery::default()).await.unwrap().on_reconnect({
        let reconnects = reconnects.clone();
        move |reconnect| reconnects.lock().unwrap().push((reconnect.delay.as_millis(), reconnect.cause.to_string()))
    });
    let events: Vec<_> = events.into_stream().map_ok(|event| event.sequence).try_collect().await.unwrap();
    assert_eq!(events, [1, 2]);
    assert_eq!(server.requests().len(), 4);
    let reconnects = reconnects.lock().unwrap();
    // A received event resets the delay; every failure doubles it.
    assert_eq!(reconnects.iter().map(|(delay, _)| *delay).collect::<Vec<_>>(), [200, 400, 800]);
    assert!(reconnects[1].1.contains("unavailable, 503"), "{reconnects:?}");
}

#[tokio::test]
async fn a_refusal_ends_the_stream() {
    let server = ScriptedServer::start([problem(401, "token_invalid")]).await;
    let refused = server.client.follow_events("s", EventQuery::default()).await.unwrap_err();
    assert_eq!(refused.problem().unwrap().kind(), "token_invalid");

    let mut server = ScriptedServer::start([broken_stream(&turn(1)), problem(404, "session_not_found")]).await;
    let (sequences, ended) = follow(&server, 0).await;
    assert_eq!(sequences, [1]);
    assert_eq!(ended.unwrap_err().problem().unwrap().kind(), "session_not_found");
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn an_empty_stream_ends_if_the_session_has_ended() {
    let mut server = ScriptedServer::start([stream(""), session(true, 7)]).await;
    let (sequences, ended) = follow(&server, 7).await;
    ended.unwrap();
    assert_eq!(sequences, [0; 0]);
    assert_eq!(server.requests(), [format!("{SSE} after 7"), "GET /v1/sessions/s".to_owned()]);

    let no_content = ScriptedServer::start([answer(204, "")]).await;
    assert_eq!(follow(&no_content, 7).await.0, [0; 0]);
}

#[tokio::test]
async fn a_closed_stream_is_resumed_while_the_session_is_open() {
    let server = ScriptedServer::start([stream(&turn(1)), session(false, 1), stream(&end(2))]).await;
    let (sequences, ended) = follow(&server, 0).await;
    ended.unwrap();
    assert_eq!(sequences, [1, 2]);
}

#[tokio::test]
async fn data_that_is_not_an_event_ends_the_stream() {
    let server = ScriptedServer::start([stream("id: 1\ndata: {\"type\":1}\n\n")]).await;
    let (_, ended) = follow(&server, 0).await;
    assert!(ended.unwrap_err().to_string().contains("not an event"));
}

#[tokio::test]
async fn cancelling_next_loses_no_event() {
    let server = ScriptedServer::start([broken_stream(&turns(1..=2)), stream(&format!("{}{}", turn(3), end(4)))]).await;
    let mut events = server.client.follow_events("s", EventQuery::default()).await.unwrap();
    let mut sequences = Vec::new();
    loop {
        // Shorter than the delay before a reconnect, and than some reads.
        let next = tokio::time::timeout(std::time::Duration::from_millis(1), events.next());
        match next.await {
            Ok(next) => match next.unwrap() {
                Some(event) => sequences.push(event.sequence),
                None => break,
            },
            Err(_) => tokio::task::yield_now().await,
        }
    }
    assert_eq!(sequences, [1, 2, 3, 4]);
}
