//! `kill -9` in the middle of a stream: what a client saw is there, and it goes on from where it was.

use crate::running::Running;

#[tokio::test]
async fn a_client_resumes_after_the_server_was_killed() {
    // Two turns: the first is cut off, the second waits in the queue.
    kill_and_resume(&["--mock-pace", "2"], 1, |round| 3 + 2 * round).await;
}

#[tokio::test]
async fn a_client_resumes_after_the_server_was_killed_in_a_fast_stream() {
    kill_and_resume(&[], 20, |round| 5 + 50 * round).await;
}

/// Kills the server again and again while it works off so many turns and one more, each time when a client has seen so
/// many events.
async fn kill_and_resume(args: &[&str], messages: usize, until: impl Fn(usize) -> usize) {
    let folder = tempfile::tempdir().unwrap();
    let mut seen: Vec<String> = Vec::new();
    let mut turns = 0;
    for round in 0..6 {
        let mut server = Running::start(folder.path(), args);
        if round == 0 {
            server.create("s").await;
        }
        for _ in 0..messages {
            server.send("s", "markdown").await;
        }
        server.send("s", &format!("echo queued {round}")).await;
        turns += messages + 1;
        let mut stream = server.follow("s", seen.len() as u64).await;
        for _ in 0..until(round) {
            seen.push(stream.next().await.unwrap());
        }
        server.signal("KILL");
        // What was on its way when it died counts as seen.
        while let Some(event) = stream.next().await {
            seen.push(event);
        }
        assert!(!server.wait().success());
    }

    let server = Running::start(folder.path(), &[]);
    let mut stream = server.follow("s", seen.len() as u64).await;
    let ended =
        |events: &[String]| events.iter().filter(|event| crate::running::kind_of(event) == "turn.ended").count();
    let mut all = seen.clone();
    while ended(&all) < turns {
        all.push(stream.next().await.unwrap());
    }
    crate::running::check(&all);

    // From the beginning, byte for byte.
    let mut again = server.follow("s", 0).await;
    for event in &all {
        assert_eq!(again.next().await.as_ref(), Some(event));
    }
    // Nothing that was accepted is lost.
    for round in 0..6 {
        let text = format!("\"echo queued {round}\"");
        assert!(all.iter().any(|event| event.contains(&text)), "{text}");
    }
}
