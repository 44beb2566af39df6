//! Searching the text of events: what is found, and that deleted text is gone.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use interlingua_schema::{
    ContentPart, EventData, Item, ItemKind, ItemOutcome, Origin, RawJson, Timestamp, UniversalEvent,
};
use interlingua_store::{Append, MAX_QUERY_WORDS, NewSession, SearchQuery, SearchResults, Session, Store, StoreError};

use crate::backend::{Backend, conformance};
use crate::fixtures::{create_session, occurrences, open_store, until_gone};
use crate::global_readers::downgrade;

conformance!(
    words_and_phrases_are_found_anywhere_in_a_long_event,
    events_are_found_by_words_phrases_and_beginnings,
    no_query_fails_unless_it_has_too_many_words,
    searches_are_limited_to_an_agent_and_a_time,
    a_long_event_is_found_by_its_last_word_and_only_once,
);

/// A completed message with this text.
fn message(session: &Session, sequence: u64, text: &str) -> UniversalEvent {
    let mut item = Item::new(format!("itm_{sequence}"), ItemKind::Message);
    item.content.push(ContentPart::text(text));
    let time = Timestamp::from_millis(i64::try_from(sequence).unwrap() * 1000);
    let data = EventData::item_completed(item, ItemOutcome::Completed);
    let id = format!("evt_{sequence}");
    let mut event = UniversalEvent::new(id, sequence, time, session.id.clone(), Origin::AGENT, data);
    event.raw = Some(RawJson::from_payload(&serde_json::json!({ "native": text }).to_string()));
    event
}

async fn say(store: &Store, session: &Session, texts: &[&str]) {
    let last = store.session(&session.id).await.unwrap().unwrap().event_count;
    let events = (last + 1..).zip(texts).map(|(sequence, text)| message(session, sequence, text));
    store.append(session.key, Append::events(events)).await.unwrap();
}

/// Searches until the index is complete.
async fn search(store: &Store, query: SearchQuery) -> SearchResults {
    loop {
        let results = store.search(query.clone()).await.unwrap();
        if results.is_complete {
            return results;
        }
    }
}

/// Session and sequence of what is found, newest first.
async fn found(store: &Store, query: SearchQuery) -> Vec<(String, u64)> {
    let hits = search(store, query).await.hits;
    hits.into_iter().map(|hit| (hit.session_id.as_str().to_owned(), hit.sequence)).collect()
}

async fn sequences(store: &Store, text: &str) -> Vec<u64> {
    found(store, SearchQuery::new(text, 100)).await.into_iter().map(|(_, sequence)| sequence).collect()
}

async fn events_are_found_by_words_phrases_and_beginnings(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    let texts = [
        "The build fails in src/main.rs",       // 1
        "fixed the BUILD, it fails no more",    // 2
        "Grüße an das Café",                    // 3
        "東京タワーに行きます",                 // 4
        "let snake_case = \"quoted\" AND more", // 5
    ];
    say(&store, &session, &texts).await;
    for (query, expected) in [
        ("build", &[2, 1][..]),
        ("Fails build", &[2, 1]),
        ("\"build fails\"", &[1]),
        ("src/main.rs", &[1]),
        ("fai", &[]),
        ("fai*", &[2, 1]),
        ("cafe", &[3]),
        ("GRÜSSE OR café", &[]),
        ("grüße", &[3]),
        ("東京", &[4]),
        ("京東", &[]),
        ("タワー", &[4]),
        ("snake_case and", &[5]),
        ("nothing", &[]),
    ] {
        assert_eq!(sequences(&store, query).await, expected, "{query}");
    }
    let results = search(&store, SearchQuery::new("\"in src\"", 1)).await;
    assert_eq!(results.hits[0].snippet, texts[0]);
    assert_eq!((results.hits[0].agent.as_str(), results.has_more), ("mock", false));
    let first = search(&store, SearchQuery::new("build", 1)).await;
    assert_eq!((first.hits.len(), first.has_more), (1, true));
}

fn words(count: usize) -> String {
    "word ".repeat(count)
}

async fn no_query_fails_unless_it_has_too_many_words(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    say(&store, &session, &["some text"]).await;
    let long = ["x".repeat(100_000), "\"".repeat(1_001), "(".repeat(1_000), "東".repeat(MAX_QUERY_WORDS), words(64)];
    let unusual = [
        "",
        " ",
        "\"",
        "\"\"",
        "*",
        "a*b*",
        "-text",
        "^text",
        "text:some",
        "NEAR(some text, 2)",
        "some OR",
        "AND",
        "NOT",
        "some NOT text",
        "{text}:x",
        "some + text",
        "'; DROP TABLE words; --",
        "\u{0}",
        "some\u{0}text",
        "🎉",
        "\u{301}",
        "\u{10ffff}",
        "ﬁ",
        "%",
        "_",
        "\\",
        "\u{feff}text",
        "ـ",
        "٣",
        "text\u{200d}",
    ];
    for query in unusual.into_iter().chain(long.iter().map(String::as_str)) {
        let results = search(&store, SearchQuery::new(query, 10)).await;
        assert!(results.hits.len() <= 1);
    }
    for too_long in [words(MAX_QUERY_WORDS + 1), format!("\"{}\"", words(500)), "東".repeat(9_999)] {
        let refused = store.search(SearchQuery::new(too_long, 10)).await.unwrap_err();
        assert!(matches!(refused, StoreError::TooManyWords { found } if found > MAX_QUERY_WORDS), "{refused}");
    }
    let agent = SearchQuery::new("text", 10).agent("\" OR agent:mock".to_owned());
    assert_eq!(found(&store, agent).await, []);
}

async fn searches_are_limited_to_an_agent_and_a_time(backend: Backend) {
    let store = backend.open().await;
    let (first, second) =
        (create_session(&store, "a").await, store.create(NewSession::new("b", "codex")).await.unwrap());
    say(&store, &first, &["word", "word"]).await;
    say(&store, &second, &["word"]).await;
    let query = SearchQuery::new("word", 10);
    let ids = async |query| found(&store, query).await;
    assert_eq!(ids(query.clone()).await, [("b".to_owned(), 1), ("a".to_owned(), 2), ("a".to_owned(), 1)]);
    assert_eq!(ids(query.clone().agent("codex".to_owned())).await, [("b".to_owned(), 1)]);
    assert_eq!(ids(query.clone().agent("Codex".to_owned())).await, []);
    assert_eq!(ids(query.clone().since(Timestamp::from_millis(1_500))).await, [("a".to_owned(), 2)]);
    assert_eq!(ids(query.since(Timestamp::from_millis(2_001))).await, []);
}

async fn a_long_event_is_found_by_its_last_word_and_only_once(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    say(&store, &session, &[&format!("{} last", "filler ".repeat(100_000))]).await;
    assert_eq!(sequences(&store, "last").await, [1]);
    assert_eq!(sequences(&store, "filler").await, [1]);
    let hit = search(&store, SearchQuery::new("last", 1)).await.hits.remove(0);
    assert!(hit.snippet.ends_with("filler last") && hit.snippet.len() < 300, "{}", hit.snippet);
}

async fn words_and_phrases_are_found_anywhere_in_a_long_event(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    let far_apart = format!("alphaword {}omegaword", "filler ".repeat(12_000));
    let numbered: Vec<String> = (0..12_000).map(|number| format!("n{number}")).collect();
    say(&store, &session, &[&far_apart, &numbered.join(" "), "alphaword alone"]).await;
    assert_eq!(sequences(&store, "alphaword omegaword").await, [1]);
    assert_eq!(sequences(&store, "alpha* omega*").await, [1]);
    assert_eq!(sequences(&store, "alphaword").await, [3, 1]);
    assert_eq!(sequences(&store, "\"n10 n11\" n11999 \"n9000 n9001\"").await, [2]);
    assert_eq!(sequences(&store, "\"n11 n10\" n11999").await, Vec::<u64>::new());
    assert_eq!(sequences(&store, "filler n1").await, Vec::<u64>::new());
    let other_agent = SearchQuery::new("alphaword omegaword", 10).agent("codex".to_owned());
    assert_eq!(found(&store, other_agent).await, []);
    let same_agent = SearchQuery::new("alphaword omegaword", 10).agent("mock".to_owned());
    assert_eq!(found(&store, same_agent.clone().since(Timestamp::from_millis(1000))).await.len(), 1);
    assert_eq!(found(&store, same_agent.since(Timestamp::from_millis(2000))).await, []);
    let hit = search(&store, SearchQuery::new("omegaword alphaword", 1)).await.hits.remove(0);
    assert!(hit.snippet.contains("alphaword filler"), "{}", hit.snippet);
    // The text is divided into documents of 32 KiB, between words.
    let ends: Vec<usize> = numbered
        .iter()
        .scan(0, |end, word| {
            *end += word.len() + 1;
            Some(*end)
        })
        .collect();
    for boundary in [32 << 10, 64 << 10] {
        let next = ends.partition_point(|end| *end <= boundary);
        for first in next - 3..next + 3 {
            let phrase = format!("\"n{first} n{} n{}\"", first + 1, first + 2);
            assert_eq!(sequences(&store, &phrase).await, [2], "{phrase}");
        }
    }
}

#[tokio::test]
async fn no_byte_of_a_deleted_long_event_is_left_in_the_index() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let (kept, deleted) = (create_session(&store, "kept").await, create_session(&store, "deleted").await);
    for round in 0..3 {
        // More documents than one step deletes, with words that occur in most of them.
        let words: Vec<String> =
            (0..200_000).map(|number| format!("zxsecret{} zxword ", number % (7 + round))).collect();
        let text = words.concat();
        say(&store, &deleted, &["zxfirst", &text, "zxlast"]).await;
        say(&store, &kept, &["a word that stays"]).await;
        assert_eq!(sequences(&store, "zxsecret3 zxsecret6 zxword").await.len(), round + 1);
    }
    store.delete(deleted.key).await.unwrap();
    for word in ["zxsecret", "zxword", "zxfirst", "zxlast", "zx"] {
        assert_eq!(occurrences(dir.path(), word), 0, "{word}");
    }
    assert_eq!(sequences(&store, "word").await.len(), 3);
    drop(store);
    let index = rusqlite::Connection::open(dir.path().join("search.db")).unwrap();
    let shards: Vec<i64> = index
        .prepare("SELECT first FROM shards")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    for shard in shards {
        let check = format!("INSERT INTO words_{shard} (words_{shard}) VALUES ('integrity-check')");
        index.execute_batch(&check).unwrap();
    }
    let left: i64 = index.query_row("SELECT count(*) FROM documents", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 3);
}

#[tokio::test]
async fn no_byte_of_a_deleted_session_is_left_in_the_index() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let kept = create_session(&store, "kept").await;
    let mut deleted = Vec::new();
    for number in 0..8 {
        deleted.push(create_session(&store, &format!("deleted-{number}")).await);
    }
    for round in 0..30 {
        for session in &deleted {
            let text = format!("zxsecret{round} zxsecrets {} {}", session.id, "more zxwords ".repeat(round * 20));
            say(&store, session, &[&text]).await;
        }
        say(&store, &kept, &["a word that stays"]).await;
        if round % 10 == 0 {
            // Divides the index into several segments.
            search(&store, SearchQuery::new("word", 1)).await;
        }
    }
    assert_eq!(search(&store, SearchQuery::new("zxsecrets", 1000)).await.hits.len(), 240);
    // Words are not stored next to each other: each one counts.
    assert!(occurrences(dir.path(), "zxsecret") > 0 && occurrences(dir.path(), "zxwords") > 0);
    for session in &deleted {
        store.delete(session.key).await.unwrap();
    }
    for word in ["zxsecret", "zxwords", "zxs", "zxw"] {
        assert_eq!(occurrences(dir.path(), word), 0, "{word}");
    }
    assert_eq!(sequences(&store, "zxsecrets").await, Vec::<u64>::new());
    assert_eq!(sequences(&store, "word").await.len(), 30);
}

#[tokio::test]
async fn text_of_a_session_that_the_store_does_not_have_is_removed_when_it_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let (kept, session) = (create_session(&store, "kept").await, create_session(&store, "s").await);
    say(&store, &session, &["zxsecret"]).await;
    say(&store, &kept, &["kept"]).await;
    assert_eq!(sequences(&store, "zxsecret").await, [1]);
    drop(store);
    // What a process leaves that is killed before the index is changed.
    let index = std::fs::read(dir.path().join("search.db")).unwrap();
    let store = open_store(dir.path());
    store.delete(session.key).await.unwrap();
    drop(store);
    std::fs::write(dir.path().join("search.db"), index).unwrap();
    assert!(occurrences(dir.path(), "zxsecret") > 0);
    let store = open_store(dir.path());
    until_gone(dir.path(), "zxsecret").await;
    assert_eq!(sequences(&store, "zxsecret").await, Vec::<u64>::new());
    assert_eq!(sequences(&store, "kept").await, [1]);
}

/// Different words that no other session has.
fn distinct_words(session: &str, count: usize) -> String {
    (0..count).map(|number| format!("zx{session}{number}yv")).collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn no_word_of_large_deleted_sessions_is_left_in_the_index() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let kept = create_session(&store, "kept").await;
    let mut deleted = Vec::new();
    for name in ["a", "b", "c"] {
        let session = create_session(&store, name).await;
        say(&store, &session, &[&distinct_words(name, 200_000)]).await;
        say(&store, &kept, &["a word that stays"]).await;
        deleted.push(session);
    }
    assert_eq!(sequences(&store, "zxb77777yv").await, [1]);
    for (index, session) in deleted.iter().enumerate() {
        store.delete(session.key).await.unwrap();
        // The index has pieces of words only.
        let left = occurrences(dir.path(), "yv");
        assert!(if index == 2 { left == 0 } else { left > 10_000 }, "{left} words are left");
        assert_eq!(sequences(&store, "word").await.len(), 3);
        assert_eq!(sequences(&store, &format!("zx{}*", session.id)).await, Vec::<u64>::new());
    }
    let index = dir.path().join("search.db").metadata().unwrap().len();
    assert!(index < 256 * 1024, "{index} bytes");
}

#[tokio::test]
async fn text_of_a_deleted_session_is_removed_from_the_index_when_it_is_not_read_any_more() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let session = create_session(&store, "s").await;
    say(&store, &session, &["zxsecret", "zxsecret again"]).await;
    assert_eq!(sequences(&store, "zxsecret").await, [2, 1]);
    let reader = rusqlite::Connection::open(dir.path().join("search.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM documents").unwrap();
    store.delete(session.key).await.unwrap();
    assert!(occurrences(dir.path(), "zxsecret") > 0, "the reader needs the old pages");
    drop(reader);
    until_gone(dir.path(), "zxsecret").await;
}

#[tokio::test]
async fn an_index_that_is_missing_damaged_or_foreign_is_made_again() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = dir.path().join("search.db");
    let store = open_store(dir.path());
    let session = create_session(&store, "s").await;
    say(&store, &session, &["one", "two"]).await;
    assert_eq!(sequences(&store, "two").await, [2]);
    drop(store);
    let foreign = open_store(other.path());
    say(&foreign, &create_session(&foreign, "f").await, &["foreign two"]).await;
    assert_eq!(sequences(&foreign, "two").await, [1]);
    drop(foreign);
    let damages: [&dyn Fn(); 5] = [
        &|| std::fs::remove_file(&file).unwrap(),
        &|| std::fs::write(&file, "not a database, but longer than its header ".repeat(9)).unwrap(),
        &|| {
            let bytes = std::fs::read(&file).unwrap();
            std::fs::write(&file, &bytes[..8192]).unwrap();
        },
        &|| {
            std::fs::copy(other.path().join("search.db"), &file).unwrap();
        },
        &|| rusqlite::Connection::open(&file).unwrap().execute_batch("DROP TABLE documents").unwrap(),
    ];
    for damage in damages {
        damage();
        let store = open_store(dir.path());
        say(&store, &session, &["two again"]).await;
        let last = store.session(&session.id).await.unwrap().unwrap().event_count;
        let expected: Vec<u64> = (2..=last).rev().collect();
        assert_eq!(sequences(&store, "two").await, expected);
    }
    let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn the_events_of_a_migrated_database_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let session = create_session(&store, "s").await;
    let texts: Vec<String> = (1..=500).map(|number| format!("text n{number}")).collect();
    say(&store, &session, &texts.iter().map(String::as_str).collect::<Vec<_>>()).await;
    drop(store);
    // The version before had no index.
    let _ = std::fs::remove_file(dir.path().join("search.db"));
    downgrade(dir.path());
    let store = open_store(dir.path());
    assert_eq!(search(&store, SearchQuery::new("text", 1000)).await.hits.len(), 500);
    assert_eq!(sequences(&store, "n77").await, [77]);
}

/// Not a test: the process that the test below starts and kills. Appends and searches, so that it is always indexing.
#[test]
#[ignore = "started by `a_process_that_is_killed_while_indexing_leaves_a_complete_index`"]
fn index_until_killed() {
    let Some(dir) = std::env::var_os("SEARCH_TEST_DATA_DIR") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = open_store(Path::new(&dir));
        let session = match store.session(&"s".into()).await.unwrap() {
            Some(session) => session,
            None => create_session(&store, "s").await,
        };
        loop {
            let count = store.session(&session.id).await.unwrap().unwrap().event_count;
            let texts: Vec<String> = (count + 1..=count + 20).map(|number| format!("word n{number}")).collect();
            say(&store, &session, &texts.iter().map(String::as_str).collect::<Vec<_>>()).await;
            store.search(SearchQuery::new("word", 1)).await.unwrap();
            println!("searched {}", count + 20);
        }
    });
}

#[tokio::test]
async fn a_process_that_is_killed_while_indexing_leaves_a_complete_index() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..8 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "search::index_until_killed", "--ignored", "--nocapture", "--test-threads=1"])
            .env("SEARCH_TEST_DATA_DIR", dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let searched = lines.map_while(Result::ok).filter(|line| line.contains("searched ")).take(3 + round).count();
        assert_eq!(searched, 3 + round, "the indexing process ended before it was killed");
        child.kill().unwrap();
        child.wait().unwrap();
        let store = open_store(dir.path());
        let count = store.session(&"s".into()).await.unwrap().unwrap().event_count;
        let expected: Vec<(String, u64)> = (1..=count).rev().map(|sequence| ("s".to_owned(), sequence)).collect();
        assert_eq!(found(&store, SearchQuery::new("word", 100_000)).await, expected);
    }
}
