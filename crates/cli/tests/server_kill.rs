//! `kill -9` in the middle of a stream: what a client saw is there, and it goes on from where it was.

mod running;

use running::Running;

#[tokio::test]
async fn a_client_resumes_after_the_server_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen: Vec<String> = Vec::new();
    let mut turns = 0;
    for round in 0..6 {
        let mut server = Running::start(folder.path(), &["--mock-pace", "2"]);
        if round == 0 {
            server.create("s").await;
        }
        // Two turns: the first is cut off, the second waits in the queue.
        server.send("s", "markdown").await;
        server.send("s", &format!("echo queued {round}")).await;
        turns += 2;
        let mut stream = server.follow("s", seen.len() as u64).await;
        for _ in 0..3 + 2 * round {
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
    let ended = |events: &[String]| events.iter().filter(|event| running::kind_of(event) == "turn.ended").count();
    let mut all = seen.clone();
    while ended(&all) < turns {
        all.push(stream.next().await.unwrap());
    }
    running::check(&all);

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
