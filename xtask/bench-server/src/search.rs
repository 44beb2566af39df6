//! Measures searching a large store.
//!
//! The store is written directly, without a server: messages that stream in deltas and are then complete, with words that are
//! as frequent as in a language (Zipf). A server then indexes it, and answers searches for words of every frequency.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use interlingua_client::{Client, SearchRequest};
use interlingua_schema::{
    ContentPart, EventData, Item, ItemDelta, ItemKind, ItemOutcome, Origin, RawJson, Role, SessionStarted, Timestamp,
    UniversalEvent,
};
use interlingua_store::{Append, NewSession, Store, StoreOptions};
use tokio::time::sleep;

use crate::metrics::Latency;
use crate::process::Server;

/// Number of different words.
const VOCABULARY: u64 = 200_000;
const WORDS_PER_DELTA: usize = 12;
const DELTAS_PER_MESSAGE: usize = 12;
/// Number of messages of a session.
const MESSAGES: u64 = 250;
/// Number of measured searches, and of searches before them that are not measured.
const SEARCHES: usize = 400;
const WARM_UP_SEARCHES: usize = 40;
const INDEX_POLL_INTERVAL: Duration = Duration::from_millis(500);

/// What was measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct SearchMetrics {
    pub(crate) store_bytes: u64,
    pub(crate) index_bytes: u64,
    pub(crate) sessions: u64,
    /// Time until everything was indexed.
    pub(crate) indexing: Duration,
    /// Time of an answer to a search, by kind of search.
    pub(crate) searches: Vec<(&'static str, Latency)>,
    pub(crate) all: Latency,
    /// Time to delete one session.
    pub(crate) delete: Latency,
}

/// Writes a store of this size into a folder, and measures a server on it.
pub(crate) async fn measure(program: &Path, folder: &Path, bytes: u64) -> Result<SearchMetrics> {
    eprintln!("  writing {} MB of sessions", bytes / 1_000_000);
    let sessions = write_store(folder, bytes).await?;
    let store_bytes = std::fs::metadata(folder.join("interlingua.db"))?.len();
    eprintln!("  indexing");
    let start = Instant::now();
    let server = Server::start_in(program, folder).await?;
    let client = Client::builder(&server.base).build()?;
    while !client.search(&SearchRequest::new("word1")).await?.complete {
        sleep(INDEX_POLL_INTERVAL).await;
    }
    let indexing = start.elapsed();
    let mut metrics = SearchMetrics { store_bytes, sessions, indexing, ..SearchMetrics::default() };
    eprintln!("  searching");
    let mut random = Random(7);
    let (mut all, mut by_kind) = (Vec::new(), KINDS.map(|_| Vec::new()));
    for number in 0..WARM_UP_SEARCHES + SEARCHES {
        let kind = number % KINDS.len();
        let request = KINDS[kind].1(&mut random);
        let start = Instant::now();
        client.search(&request).await?;
        if number >= WARM_UP_SEARCHES {
            all.push(start.elapsed());
            by_kind[kind].push(start.elapsed());
        }
    }
    metrics.searches = KINDS.iter().zip(by_kind).map(|((name, _), samples)| (*name, Latency::new(samples))).collect();
    metrics.all = Latency::new(all);
    metrics.index_bytes = std::fs::metadata(folder.join("search.db"))?.len();
    eprintln!("  deleting");
    let mut deletions = Vec::new();
    for number in 0..5.min(sessions) {
        let start = Instant::now();
        client.delete_session(&format!("s{number}")).await?;
        deletions.push(start.elapsed());
    }
    metrics.delete = Latency::new(deletions);
    server.stop().await?;
    Ok(metrics)
}

type MakeRequest = fn(&mut Random) -> SearchRequest;

/// Kinds of searches.
const KINDS: [(&str, MakeRequest); 8] = [
    ("one frequent word", |random| SearchRequest::new(word(random.below(50)))),
    ("one rare word", |random| SearchRequest::new(word(20_000 + random.below(100_000)))),
    ("two words", |random| SearchRequest::new(format!("{} {}", word(random.below(500)), word(random.below(5_000))))),
    ("three rare words", |random| {
        SearchRequest::new((0..3).map(|_| word(2_000 + random.below(20_000))).collect::<Vec<_>>().join(" "))
    }),
    ("a phrase", |random| SearchRequest::new(format!("\"{} {}\"", word(random.below(100)), word(random.below(100))))),
    ("the beginning of a word", |random| SearchRequest::new(format!("{}*", word(10_000 + random.below(9_000))))),
    ("a word, of one agent", |random| SearchRequest::new(word(random.below(1_000))).agent("codex".to_owned())),
    ("a word, since a time", |random| {
        SearchRequest::new(word(random.below(1_000))).since((random.below(1_000_000) * 1000).to_string())
    }),
];

/// Writes sessions until the store has this size. Returns their number.
async fn write_store(folder: &Path, bytes: u64) -> Result<u64> {
    let store = Store::open(folder, StoreOptions::default()).context("cannot open the store")?;
    let mut random = Random(1);
    let mut sessions = 0;
    let mut time = 0;
    while std::fs::metadata(folder.join("interlingua.db"))?.len() < bytes {
        let id = format!("s{sessions}");
        let agent = ["claude", "codex", "opencode", "amp"][usize::try_from(sessions % 4)?];
        let session = store.create(NewSession::new(id.as_str(), agent)).await?;
        let mut sequence = 0;
        let mut event = |data: EventData, time: i64| {
            sequence += 1;
            let id = format!("evt_{sequence}");
            UniversalEvent::new(id, sequence, Timestamp::from_millis(time), session.id.clone(), Origin::AGENT, data)
        };
        let mut events = vec![event(EventData::SessionStarted(SessionStarted::default()), time)];
        for message in 0..MESSAGES {
            time += 1000;
            let mut item = Item::new(format!("itm_{message}"), ItemKind::Message);
            item.role = Some(Role::Assistant);
            events.push(event(EventData::item_started(item.clone()), time));
            let mut text = String::new();
            for _ in 0..DELTAS_PER_MESSAGE {
                let delta: String = (0..WORDS_PER_DELTA).map(|_| word(random.zipf()) + " ").collect();
                text.push_str(&delta);
                events.push(event(EventData::ItemDelta(ItemDelta::new(item.item_id.clone(), None, delta)), time));
            }
            item.content.push(ContentPart::text(text));
            let mut completed = event(EventData::item_completed(item, ItemOutcome::Completed), time);
            completed.raw = Some(RawJson::from_payload(&serde_json::json!({ "message": message }).to_string()));
            events.push(completed);
            store.append(session.key, Append::events(events.drain(..))).await?;
        }
        sessions += 1;
        // A pause, in which the log is copied to the database file.
        sleep(Duration::from_millis(if sessions % 20 == 0 { 100 } else { 0 })).await;
    }
    store.close().await;
    // Left from the time in which it was written.
    for file in ["search.db", "search.db-wal", "search.db-shm"] {
        // It may not exist.
        let _ = std::fs::remove_file(folder.join(file));
    }
    Ok(sessions)
}

/// The n-th word of the vocabulary. Words begin alike, as those of a language do.
fn word(number: u64) -> String {
    const SYLLABLES: [&str; 16] =
        ["ka", "lo", "mi", "ne", "ru", "sa", "ti", "vo", "be", "da", "fu", "gi", "ho", "ju", "pe", "zu"];
    let mut word = String::new();
    let mut rest = number + 16;
    while rest > 0 {
        word.insert_str(0, SYLLABLES[usize::try_from(rest % 16).unwrap_or_default()]);
        rest /= 16;
    }
    word
}

/// Numbers that look random, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A word number; low ones are frequent.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate"
    )]
    fn zipf(&mut self) -> u64 {
        let uniform = self.next() as f64 / (1_u64 << 31) as f64;
        ((VOCABULARY as f64).powf(uniform) as u64).saturating_sub(1).min(VOCABULARY - 1)
    }
}
