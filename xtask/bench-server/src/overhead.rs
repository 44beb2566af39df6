//! What the server costs: a recording through `interlingua convert`, and the same recording through an agent's stand-in,
//! the server and SSE.
//!
//! Both are timed from the first event to the last, so that neither pays for the start of a process.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use interlingua_client::CreateSessionRequest;
use interlingua_replay::{ReplayOptions, make_stand_ins, stand_in_environment};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use crate::api::Api;
use crate::long_log::{PASSAGES, Passage};
use crate::process::Server;

/// What is compared.
#[derive(Clone, Debug)]
pub(crate) struct Overhead {
    pub(crate) passage: &'static Passage,
    /// How many events the server made of the recording.
    pub(crate) events: u64,
    /// Events a second of `interlingua convert`.
    pub(crate) convert: f64,
    /// Events a second that reached a client.
    pub(crate) served: f64,
}

impl Overhead {
    /// For each agent, the round whose ratio is in the middle: both figures of it are of the same run.
    pub(crate) fn medians(rounds: &[Vec<Self>]) -> Vec<Self> {
        let of_agent = |agent: usize| {
            let mut found: Vec<&Self> = rounds.iter().filter_map(|round| round.get(agent)).collect();
            found.sort_by(|one, other| one.ratio().total_cmp(&other.ratio()));
            found.get(found.len() / 2).map(|middle| (*middle).clone())
        };
        (0..PASSAGES.len()).filter_map(of_agent).collect()
    }

    pub(crate) fn ratio(&self) -> f64 {
        self.served / self.convert
    }
}

/// The programs that take part.
pub(crate) struct Programs {
    pub(crate) interlingua: PathBuf,
    pub(crate) replay: PathBuf,
    /// The folder of recordings.
    pub(crate) transcripts: PathBuf,
}

/// Compares for every agent, with recordings of about so many lines.
pub(crate) async fn measure(programs: &Programs, lines: usize) -> Result<Vec<Overhead>> {
    let folder = tempfile::tempdir()?;
    let stand_ins = folder.path().join("agents");
    make_stand_ins(&programs.replay, &stand_ins).context("cannot make stand-ins for agents")?;
    let mut found = Vec::new();
    for passage in &PASSAGES {
        eprintln!("  {}", passage.agent);
        let file = folder.path().join(format!("{}.jsonl", passage.agent));
        passage.write(&programs.transcripts, lines, &file)?;
        let convert = converted(&programs.interlingua, &file).await?;
        let server = Server::start_with_agents(&programs.interlingua, Some(&stand_ins)).await?;
        let (events, through_server) = served(&server, passage.agent, &file, &folder).await?;
        server.stop().await?;
        found.push(Overhead { passage, events, convert, served: through_server });
    }
    Ok(found)
}

/// Events a second of the command.
async fn converted(interlingua: &Path, file: &Path) -> Result<f64> {
    let mut child = Command::new(interlingua)
        .arg("convert")
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("cannot start {}", interlingua.display()))?;
    let mut output = child.stdout.take().context("the command has no output")?;
    let mut bytes = vec![0; 1 << 20];
    let mut began = None;
    let mut events = 0;
    loop {
        let count = output.read(&mut bytes).await?;
        if count == 0 {
            break;
        }
        began.get_or_insert_with(Instant::now);
        events += memchr::memchr_iter(b'\n', &bytes[..count]).count() as u64;
    }
    let status = child.wait().await?;
    ensure!(status.success(), "convert ended with {status}");
    rate(events, began)
}

/// How many events a client gets of the turn, and how many a second.
async fn served(server: &Server, agent: &str, file: &Path, folder: &TempDir) -> Result<(u64, f64)> {
    let api = Api::new(&server.base, None)?;
    let mut create = CreateSessionRequest::new(agent);
    create.directory = Some(folder.path().to_string_lossy().into_owned());
    for (name, value) in stand_in_environment(file, &ReplayOptions::default()) {
        create.env.insert(name, value.to_string_lossy().into_owned());
    }
    // Amp does not start without one.
    create.env.insert("AMP_API_KEY".to_owned(), "none".to_owned());
    api.create_as("overhead", &create).await?;
    let mut follower = api.follow("overhead", api.event_count("overhead").await?).await?;
    api.send("overhead", "Go on.").await?;
    // What the server says of itself comes before the agent is up.
    follower.agent_speaks().await?;
    let (began, before) = (Instant::now(), follower.events());
    follower.turns(1).await?;
    let events = follower.events() - before;
    if follower.failed_turns() > 0 {
        bail!("{agent}'s turn failed: the recording was not played to its end");
    }
    Ok((events, rate(events, Some(began))?))
}

#[allow(clippy::cast_precision_loss, reason = "there are fewer than 2^52 events")]
fn rate(events: u64, began: Option<Instant>) -> Result<f64> {
    let began = began.context("there were no events")?;
    Ok(events as f64 / began.elapsed().as_secs_f64())
}
