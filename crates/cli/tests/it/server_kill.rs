//! `kill -9` in the middle of a stream: received events are durable, and the client resumes after them.

use interlingua_client::{EventQuery, MessageRequest, TurnQuery};

use crate::server_process::ServerProcess;

#[tokio::test]
async fn a_client_resumes_after_the_server_was_killed() {
    // Two turns per round: the first is interrupted by the kill, the second is queued.
    kill_and_resume(&["--mock-pace", "2"], 1, |round| 3 + 2 * round).await;
}

#[tokio::test]
async fn a_client_resumes_after_the_server_was_killed_in_a_fast_stream() {
    kill_and_resume(&[], 20, |round| 5 + 50 * round).await;
}

#[tokio::test]
async fn a_message_that_is_sent_again_after_a_kill_runs_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = ServerProcess::start(dir.path(), &[]);
    server.create("s").await;
    let rounds = 8;
    for round in 0..rounds {
        let id = format!("m{round}");
        let message = MessageRequest::new(format!("echo {id}")).id(&id);
        server.client.send_message("s", &message).await.unwrap();
        // Later in each round: in the queue, during the turn, after it.
        tokio::time::sleep(std::time::Duration::from_millis(round)).await;
        server.signal("KILL");
        server.wait();
        server = ServerProcess::start(dir.path(), &[]);
        server.client.send_message("s", &message).await.unwrap();
        let other = server.client.send_message("s", &MessageRequest::new("other").id(&id)).await.unwrap_err();
        assert_eq!(other.problem().unwrap().kind(), "message_conflict");
    }
    let mut turn = server.client.stream_turn("s", &MessageRequest::new("echo last"), TurnQuery::held()).await.unwrap();
    while turn.next().await.unwrap().is_some() {}
    let page = server.client.events("s", EventQuery::default()).await.unwrap();
    let events: Vec<String> = page.events.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
    crate::server_process::check_rules(&events);
    for round in 0..rounds {
        let runs = events.iter().filter(|event| event.contains(&format!(r#""message_ids":["m{round}"]"#))).count();
        assert_eq!(runs, 1, "message m{round}");
    }
}

/// Kills the server in each of several rounds. Each round sends `messages` messages and one more, and kills the server
/// after `events_before_kill` events.
async fn kill_and_resume(args: &[&str], messages: usize, events_before_kill: impl Fn(usize) -> usize) {
    let dir = tempfile::tempdir().unwrap();
    let mut received: Vec<String> = Vec::new();
    let mut turns = 0;
    for round in 0..6 {
        let mut server = ServerProcess::start(dir.path(), args);
        if round == 0 {
            server.create("s").await;
        }
        for _ in 0..messages {
            server.send("s", "markdown").await;
        }
        server.send("s", &format!("echo queued {round}")).await;
        turns += messages + 1;
        let mut stream = server.follow("s", received.len() as u64).await;
        for _ in 0..events_before_kill(round) {
            received.push(stream.next().await.unwrap());
        }
        server.signal("KILL");
        // Events that were sent before the kill count as received.
        while let Some(event) = stream.next().await {
            received.push(event);
        }
        assert!(!server.wait().success());
    }

    let server = ServerProcess::start(dir.path(), &[]);
    let mut stream = server.follow("s", received.len() as u64).await;
    let ended_turns = |events: &[String]| {
        events.iter().filter(|event| crate::server_process::event_type(event) == "turn.ended").count()
    };
    let mut all = received.clone();
    while ended_turns(&all) < turns {
        all.push(stream.next().await.unwrap());
    }
    crate::server_process::check_rules(&all);

    // A new reader gets the same bytes.
    let mut reread = server.follow("s", 0).await;
    for event in &all {
        assert_eq!(reread.next().await.as_ref(), Some(event));
    }
    // No accepted message is lost.
    for round in 0..6 {
        let text = format!("\"echo queued {round}\"");
        assert!(all.iter().any(|event| event.contains(&text)), "{text}");
    }
}
