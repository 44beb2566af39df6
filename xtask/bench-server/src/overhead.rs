//! Overhead of the server: compares a recording that `interlingua convert` converts with the same recording that goes
//! through a stand-in for the agent, the server and SSE.
//!
//! Both are timed from the first event to the last, so that the start of a process does not count.

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
use crate::long_recording::{RepeatedSection, SECTIONS};
use crate::process::Server;

/// A comparison for one agent.
#[derive(Clone, Debug)]
pub(crate) struct Overhead {
    pub(crate) section: &'static RepeatedSection,
    /// Number of events that the server sent.
    pub(crate) events: u64,
    /// Events per second of `interlingua convert`.
    pub(crate) convert_rate: f64,
    /// Events per second that reached a client of the server.
    pub(crate) server_rate: f64,
}

impl Overhead {
    /// For each agent, the round with the median ratio. So both rates are of the same run.
    pub(crate) fn medians(rounds: &[Vec<Self>]) -> Vec<Self> {
        let median = |agent: usize| {
            let mut comparisons: Vec<&Self> = rounds.iter().filter_map(|round| round.get(agent)).collect();
            comparisons.sort_by(|one, other| one.ratio().total_cmp(&other.ratio()));
            comparisons.get(comparisons.len() / 2).map(|middle| (*middle).clone())
        };
        (0..SECTIONS.len()).filter_map(median).collect()
    }

    pub(crate) fn ratio(&self) -> f64 {
        self.server_rate / self.convert_rate
    }
}

/// Paths of the programs and recordings.
pub(crate) struct Programs {
    pub(crate) interlingua: PathBuf,
    pub(crate) replay: PathBuf,
    /// Folder of the recordings.
    pub(crate) transcripts: PathBuf,
}

/// Measures every agent with recordings of about this number of lines.
pub(crate) async fn measure(programs: &Programs, lines: usize) -> Result<Vec<Overhead>> {
    let folder = tempfile::tempdir()?;
    let stand_ins = folder.path().join("agents");
    make_stand_ins(&programs.replay, &stand_ins).context("cannot create stand-ins for the agents")?;
    let mut comparisons = Vec::new();
    for section in &SECTIONS {
        eprintln!("  {}", section.agent);
        let file = folder.path().join(format!("{}.jsonl", section.agent));
        section.write(&programs.transcripts, lines, &file)?;
        let convert_rate = measure_convert(&programs.interlingua, &file).await?;
        let server = Server::start_with_agents(&programs.interlingua, Some(&stand_ins)).await?;
        let (events, server_rate) = measure_server(&server, section.agent, &file, &folder).await?;
        server.stop().await?;
        comparisons.push(Overhead { section, events, convert_rate, server_rate });
    }
    Ok(comparisons)
}

/// Events per second of `interlingua convert`.
async fn measure_convert(interlingua: &Path, file: &Path) -> Result<f64> {
    let mut child = Command::new(interlingua)
        .arg("convert")
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("cannot start {}", interlingua.display()))?;
    let mut output = child.stdout.take().context("the command has no standard output")?;
    let mut bytes = vec![0; 1 << 20];
    let mut start = None;
    let mut events = 0;
    loop {
        let count = output.read(&mut bytes).await?;
        if count == 0 {
            break;
        }
        start.get_or_insert_with(Instant::now);
        events += memchr::memchr_iter(b'\n', &bytes[..count]).count() as u64;
    }
    let status = child.wait().await?;
    ensure!(status.success(), "`interlingua convert` exited with {status}");
    rate(events, start)
}

/// Number of events of the turn that reach a client, and events per second.
async fn measure_server(server: &Server, agent: &str, file: &Path, folder: &TempDir) -> Result<(u64, f64)> {
    let api = Api::new(&server.base, None)?;
    let mut create = CreateSessionRequest::new(agent);
    create.directory = Some(folder.path().to_string_lossy().into_owned());
    for (name, value) in stand_in_environment(file, &ReplayOptions::default()) {
        create.env.insert(name, value.to_string_lossy().into_owned());
    }
    // Amp does not start without a key.
    create.env.insert("AMP_API_KEY".to_owned(), "none".to_owned());
    api.create_session("overhead", &create).await?;
    let mut follower = api.follow("overhead", api.event_count("overhead").await?).await?;
    api.send_message("overhead", "Go on.").await?;
    // The first events come from the server itself, before the agent has started.
    follower.wait_for_agent_event().await?;
    let (start, before) = (Instant::now(), follower.events());
    follower.wait_for_turns(1).await?;
    let events = follower.events() - before;
    if follower.failed_turns() > 0 {
        bail!("the turn of {agent} failed: the recording was not replayed to its end");
    }
    Ok((events, rate(events, Some(start))?))
}

#[allow(clippy::cast_precision_loss, reason = "there are fewer than 2^52 events")]
fn rate(events: u64, start: Option<Instant>) -> Result<f64> {
    let start = start.context("there were no events")?;
    Ok(events as f64 / start.elapsed().as_secs_f64())
}
